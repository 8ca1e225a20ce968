"""Which failures the `_else` of a call stands for, and what is told of them (C14)."""

from __future__ import annotations

from ...errors import ActumError, ApprovalDenied, LimitExceeded
from ..job import Job

_NOT_ITS = (ApprovalDenied, LimitExceeded)
"""What ends a call that is no failure of what carries it out."""


def stands_for(error: ActumError, job: Job) -> bool:
    """Whether the `_else` of a call that was carried out, or whose values are known, stands for this failure."""
    return not isinstance(error, _NOT_ITS) and not job.is_cut


def unhelped(failure: ActumError, problem: ActumError) -> ActumError:
    """A failure for which an `_else` was to stand that can't: the failure, which says why."""
    failure.add(f"; its '_else' failed, too: {problem.message}")
    return failure

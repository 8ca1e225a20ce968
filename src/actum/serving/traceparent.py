"""A caller's trace: noted on the context of a run, so that the run's span is its child."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from ..app.idea import Idea
from ..protocol.message import CALLER

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


def with_traceparent(idea: Idea, trace: Any) -> Idea:
    """The Idea with a caller's `traceparent` in its context; unchanged if that isn't valid."""
    if not isinstance(trace, str) or not _TRACEPARENT.fullmatch(trace) or not len(idea.context):
        return idea
    context = idea.context
    *before, last = context
    messages = [*before, {**last, CALLER: trace}]
    return replace(idea, context=context.with_messages(messages))

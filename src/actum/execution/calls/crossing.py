"""What of the context crosses to a call that is about to be made (S1-S6, S8)."""

from __future__ import annotations

from ..ground import Ground
from ..job import Job
from ..record.crossing import Recipient


def cross(ground: Ground, job: Job) -> None:
    """Let what its scopes let through cross to a call (S1-S6)."""
    whole = job.parent or job
    authored = [expression for expression, _ in whole.authored]
    recipient = Recipient(
        place=job.place,
        references=[one for each in authored for one in ground.graph.known.read_by(each, whole.node)],
    )
    ground.budget.check()  # of the many that may have been begun, one finds out that they are too much
    job.crossing = ground.journal.scoped(job.scopes, job.node.instance, recipient)
    ground.budget.take_parameters(job.crossing, job.tool.name)

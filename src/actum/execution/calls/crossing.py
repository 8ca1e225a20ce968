"""What of the context crosses to a call that is about to be made (S1-S6, S8)."""

from __future__ import annotations

from ...dataflow.reference import CALLS, call_index
from ...protocol.place import Place
from ...schema.json import JsonObject
from ..ground import Ground
from ..job import Job
from ..record.crossing import Recipient
from ..record.journal import error_message


def cross(ground: Ground, job: Job) -> None:
    """Let what its scopes let through cross to a call (S1-S6)."""
    whole = job.parent or job
    authored = [expression for expression, _ in whole.authored]
    recipient = Recipient(
        place=job.place,
        references=[one for each in authored for one in ground.graph.known.read_by(each, whole.node)],
    )
    ground.budget.check()  # of the many that may have been begun, one finds out that they are too much
    errors = _errors(ground, recipient) if "error" in job.scopes else ()
    job.crossing = ground.journal.scoped(job.scopes, job.node.instance, recipient, errors, ground.toolset.instance_of)
    ground.budget.take_parameters(job.crossing, job.tool.name)


def _errors(ground: Ground, recipient: Recipient) -> list[JsonObject]:
    """Why calls have failed that are listed before one, or that it refers to: the context will say so (L2, S11)."""
    asked = {call_index(one) for one in recipient.references if one.kind == CALLS}
    reader, found = recipient.place, list[JsonObject]()
    for failure in ground.failures:
        place = Place.parse(failure.of)
        is_before = place.index is not None and (place.answer, place.index) < (reader.answer, reader.index or 0)
        if is_before or (place.answer == reader.answer and place.index in asked):
            found.append(error_message(failure.error, failure.call, failure.of, failure.marks))
    return found

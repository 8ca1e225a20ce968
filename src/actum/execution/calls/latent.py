"""Calls that the model carries out itself: their results come with them, or it owes them (C4)."""

from __future__ import annotations

from typing import Any

from ...dataflow.expression import MISSING
from ...dataflow.node import Status
from ...errors import InvalidParameters
from ...protocol.call import Call, owed_key
from ...protocol.tool import Tool
from ..ground import Ground
from ..job import Carried, Job, Owed, Yield
from .invoking import describe_misfit


class Latent:
    """Carries out the latent calls of one run."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self.owed: dict[str, list[list[Job]]] = {}
        """The calls whose results the model owes, by what they share with those that answer them. Together are one
        call and the later ones that only say "not yet" of it."""

    async def carry(self, job: Job, call: Call) -> Carried:
        """The same as `answer`, as a `Carry`, for a call that others decide on."""
        return self.answer(job, call)

    def answer(self, job: Job, call: Call) -> Carried:
        """The result that the model wrote with a call, or that the tool fixes; or that the model owes it."""
        if job.tool.output is None:
            return Yield()
        if call.output is None and not _accepts_null(job.tool):
            self._ground.graph.settle(job.node, Status.OWED)
            self._owe(job)
            return Owed()
        if (message := describe_misfit(call.output, job.tool)) is not None:
            return InvalidParameters(message, tool=job.tool.name, path="_output")
        return Yield(value=call.output)

    def _owe(self, job: Job) -> None:
        """Note that a call is owed: with one of an earlier answer, where it is that call again."""
        groups = self.owed.setdefault(owed_key(job.call), [])
        earlier = next((group for group in groups if group[-1].script.number < job.script.number), None)
        if earlier is None:
            groups.append([job])
        else:
            earlier.append(job)

    def is_repeated(self, job: Job) -> bool:
        """Whether a call that is owed was named again since, as still owed."""
        return any(job in group[:-1] for group in self.owed.get(owed_key(job.call), ()))

    def pay(self, job: Job) -> list[Job]:
        """End the owed call that this one answers as this one has ended; return the calls that end."""
        groups = self.owed.get(owed_key(job.call))
        if not groups:
            return []
        group = groups.pop(0)
        if not groups:
            del self.owed[owed_key(job.call)]
        for owed in group:
            self._ground.graph.settle(owed.node, Status.DONE, job.node.value, job.node.written)
        return group

    def settle_owed(self) -> list[Job]:
        """End the owed calls whose paths other calls have written meanwhile; return them."""
        paid: list[Job] = []
        for key, groups in list(self.owed.items()):
            for group in list(groups):
                first = group[0]
                if first.node.status is not Status.OWED:
                    groups.remove(group)
                elif first.targets and (value := written_value(first, self._ground)) is not None:
                    for job in group:
                        self._ground.graph.settle(job.node, Status.DONE, value[0])
                    groups.remove(group)
                    paid += group
            if not groups:
                del self.owed[key]
        return paid


def written_value(job: Job, ground: Ground) -> tuple[Any] | None:
    """The value at the paths that a call writes, None if any is empty."""
    memory, instance = ground.journal.folding.memory, job.node.instance
    values = [memory.read(target, instance) for target in job.node.written or job.targets]
    return (values[-1],) if values and MISSING not in values else None


def _accepts_null(tool: Tool) -> bool:
    """Whether null is a result of a tool, so that it can't mean "not yet"."""
    return bool(tool.output) and tool.output_validator is not None and tool.output_validator.accepts(None)

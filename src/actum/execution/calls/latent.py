"""Results that the model writes itself, and those that it still owes (C4)."""

from __future__ import annotations

from ...dataflow.node import Status
from ...errors import InvalidParameters
from ...protocol.call import Call
from ...schema.json import encode
from ..ground import Ground
from ..job import Job, Yield
from .invoking import misfit
from .results import Results


class Latent:
    """The calls of one run that its model carries out inline."""

    def __init__(self, ground: Ground, results: Results) -> None:
        self._ground = ground
        self._results = results
        self.owed: dict[str, Job] = {}

    def answered(self, job: Job, call: Call) -> Yield | None:
        """The result that the model wrote with a call, or that the tool fixes; None where the model owes it.

        Raises:
            InvalidParameters: it doesn't fit the tool's `_output`.
        """
        if job.tool.output is None:
            return Yield()
        if call.output is None and not job.tool.accepts_null:
            self._ground.graph.settle(job.node, Status.OWED)
            self.owed[_owing(job)] = job
            return None
        if (message := misfit(call.output, job.tool)) is not None:
            raise InvalidParameters(message, tool=job.tool.name, path="_output")
        return Yield(value=call.output)

    def pay(self, job: Job) -> None:
        """Let the call that was owed end as this one has, with which the model has answered it."""
        owed = self.owed.pop(_owing(job), None)
        if owed is not None:
            self._ground.graph.settle(owed.node, Status.DONE, job.node.value, job.node.written)

    def settle(self) -> None:
        """Take what other calls have written meanwhile for the results that are owed at those paths."""
        for key, job in list(self.owed.items()):
            if job.node.status is not Status.OWED:
                del self.owed[key]
            elif job.targets and (value := self._results.standing(job)) is not None:
                self._ground.graph.settle(job.node, Status.DONE, value[0])
                del self.owed[key]


def _owing(job: Job) -> str:
    """What a call that the model owes and the call that answers it share."""
    rest = {key: value for key, value in job.call.items() if key not in {"_output", "_reasoningForCall"}}
    return encode(rest, sort_keys=True)

"""What still waits when nothing runs any more: judged, and each call ends as judged (C7, P1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

from ...dataflow.node import Status
from ...dataflow.reference import Reference
from ...dataflow.verdict import CallFate, Fate, verdicts
from ...errors import UnresolvedReference
from ...events import CallWaiting
from ...protocol.approvals import is_gate
from ...protocol.call import ELSE
from ..ground import Ground
from ..job import Job
from .diagnosis import stall_error
from .endings import Endings

_MOST_ROUNDS = 100
"""How often the calls that wait at the end of a tick are judged again because some went on."""
_FINAL = frozenset({Fate.CYCLE, Fate.DEAD, Fate.SKIPPED, Fate.FAILED})
_CERTAIN = frozenset(Fate) - {Fate.FREE}
_REFUSED = frozenset({Status.FAILED, Status.SKIPPED})
_ENDING = {Fate.PROPOSAL: Status.HELD, Fate.SKIPPED: Status.SKIPPED, Fate.FREE: Status.SKIPPED}
"""How a `_then` ends by its fate."""


class Standstill:
    """Judges the calls of one run that wait, and lets each end as judged."""

    def __init__(self, ground: Ground, endings: Endings, start: Callable[[], None]) -> None:
        self._ground = ground
        self._endings = endings
        self._start = start
        """Starts what has waited for no more than the end of a call."""

    async def settle(self, quiet: Callable[[], Awaitable[None]]) -> None:
        """Judge them until none waits or none may run; `quiet` waits until nothing runs and nothing can start."""
        graph = self._ground.graph
        for _ in range(_MOST_ROUNDS):
            if not (graph.waiting or graph.parked) or self._judge():
                return
            await quiet()
        # Those that wait for each other never run.
        self._apply(verdicts(graph, is_gate, frees=False), tuple(Fate))

    def _judge(self) -> bool:
        """Judge the calls that wait once; False if some of them may still run."""
        graph = self._ground.graph
        waiting = dict(graph.waiting)
        judged = verdicts(graph, is_gate)
        self._apply(judged, _FINAL)
        # What was to end with another may have gone on once that had ended: what it reads there is there by then.
        gone = [(waiting[number].status, verdict) for number, verdict in judged.items() if number not in graph.waiting]
        if any(verdict.fate is Fate.FREE or status not in _REFUSED for status, verdict in gone):
            return False
        free = any(verdict.fate is Fate.FREE for verdict in judged.values())
        if graph.parked:
            if not gone:  # what is to write before them waits for them, or stays for another tick
                self._endings.land_all()
                self._start()
            return False
        if free:
            judged = verdicts(graph, is_gate, frees=False)
            if any(verdict.fate is Fate.CYCLE for verdict in judged.values()):
                self._apply(judged, {Fate.CYCLE})
                return False
        before = len(graph.waiting)
        self._apply(judged, _CERTAIN)
        if free and len(graph.waiting) < before:
            return False  # what is free may wait for a call for every item that has ended with these
        self._apply(judged, {Fate.FREE})
        return True

    def _apply(self, judged: Mapping[int, CallFate], fates: Collection[Fate]) -> None:
        for number, verdict in judged.items():
            node = self._ground.graph.waiting.get(number)
            if verdict.fate not in fates or node is None:
                continue
            job = self._ground.jobs.get(number)
            if job is None:  # a `_then`: what is behind it ends as it does, or waits with it for what is owed
                if verdict.fate is not Fate.OWED:
                    self._ground.graph.settle(node, _ENDING.get(verdict.fate, Status.FAILED))
                continue
            if job.awaits_else:  # made and failed already: it can't be left for later
                self._endings.refuse(job, UnresolvedReference("what it refers to will never be there", path=ELSE))
                self._start()
                continue
            match verdict.fate:
                case Fate.PROPOSAL:
                    self._propose(job, verdict.references)
                    self._endings.end_item(job)  # all items wait with it (C12)
                case Fate.SKIPPED | Fate.FREE:
                    paths = ", ".join(map(str, verdict.references))
                    self._endings.skip(job, f"the alternative that fills {paths or 'it'} was not taken")
                case Fate.OWED:
                    self._ground.graph.withdraw(job.node)
                    continue
                case _:
                    self._endings.refuse(job, stall_error(verdict, job, self._ground.jobs, self._ground.journal))
            self._start()

    def _propose(self, job: Job, references: Sequence[Reference]) -> None:
        self._ground.graph.settle(job.node, Status.HELD)
        self._ground.gates |= dict.fromkeys(str(reference) for reference in references if is_gate(reference))
        if self._ground.emit.sink:
            self._ground.emit(CallWaiting(call=job.call, place=job.place, on=tuple(map(str, references))))

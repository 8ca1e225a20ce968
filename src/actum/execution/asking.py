"""One answer of a run while it is asked for: its calls go to the scheduler, its requests to the budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..dataflow.graph import Answer, Status
from ..errors import ActumError
from ..events import OutputDelta, RequestStarted, Retried
from ..generation.compile import Frame
from ..generation.model import ModelRequest
from ..protocol.call import Call
from ..protocol.usage import Usage
from ..schema.json import JsonObject
from .budget import Budget
from .emitter import Emitter
from .journal import Journal
from .scheduler import Scheduler


@dataclass(slots=True)
class Script:
    """One answer as a run keeps it: where it began in the context, and its calls by their index."""

    start: int
    answer: Answer = field(default_factory=Answer)
    calls: list[Call] = field(default_factory=list[Call])
    output: Any = None
    is_concluded: bool = False
    stands: bool = False
    """Whether its plan message stands in the context."""

    def __post_init__(self) -> None:
        self.answer.start = self.start

    def message(self) -> JsonObject:
        """The answer as a plan message, so that what is open of it can go on later (P2, L8)."""
        plan: JsonObject = {"type": "plan", "plan": [dict(call) for call in self.calls]}
        return plan if self.output is None else {**plan, "output": self.output}


@dataclass(slots=True, kw_only=True)
class Asking:
    """Receives an answer and pays for it (see `generation.ask`). With `starts` off, calls are kept and not started."""

    script: Script
    journal: Journal
    scheduler: Scheduler | None
    budget: Budget
    emit: Emitter
    spent: Callable[[Usage], None]

    def element(self, index: int, call: Call | ActumError) -> None:
        """Start a call, or let it wait; an element that is no call is an error of its own (L3)."""
        self.script.calls.append(call if isinstance(call, Call) else Call())
        self.journal.answering(self.script.start, call=self.script.calls[-1])
        if self.scheduler is None:
            return
        if isinstance(call, Call):
            self.scheduler.accept(call, self.script.answer, index)
        else:
            self.scheduler.reject(self.script.answer, index, call)

    def restart(self) -> None:
        """Take the answer back, but not what has started."""
        self.script.calls.clear()
        self.journal.answering(self.script.start, restarted=True)
        if self.scheduler is not None:
            self.script.answer = self.scheduler.restart(self.script.answer)

    def partial(self, text: str) -> None:
        """Tell of the output so far."""
        if self.emit.sink is None:
            return
        from pydantic_core import from_json

        try:
            value = from_json(text.encode(), allow_partial="trailing-strings")
        except ValueError:
            return
        self.emit(OutputDelta, value=value)

    def before(self, complaint: str | None, frame: Frame) -> ModelRequest:
        """Spend a request, and make it."""
        notices = [*self.budget.notices(), *([complaint] if complaint else [])]
        self.budget.ask()
        context = self.journal.context()
        jobs = self.scheduler.open_jobs() if self.scheduler is not None else []
        owed = [job.call for job in jobs if job.node.status is Status.OWED]
        waiting = [
            job.call
            for job in jobs
            if job.node.status is not Status.OWED and job.node.answer is not self.script.answer and job.parent is None
        ]
        request = frame.request(context, waiting=waiting, owed=owed, notices=notices)
        if self.emit.sink is not None:
            self.emit(
                RequestStarted,
                context=context.messages,
                messages=[dict(message) for message in request.messages],
                schema=request.schema,
                waiting=tuple(map(dict, waiting)),
                owed=tuple(map(dict, owed)),
                notices=tuple(notices),
            )
        return request

    def after(self, usage: Usage) -> None:
        """Count what the request has cost."""
        self.budget.pay(usage)
        self.spent(usage)

    def again(self, error: ActumError) -> None:
        """Say that the answer is asked for again."""
        self.emit(Retried, error=error)

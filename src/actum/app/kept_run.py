"""The file of a kept run: an Idea whose context is what the run has left, and beside it a log of what is new (L8)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os import urandom
from pathlib import Path
from types import TracebackType
from typing import Any

from ..errors import IdeaError, MessageError
from ..events import AnyEvent, RequestFinished, RequestStarted
from ..execution.budget import Budget, Spent
from ..execution.record.recovery import recovered
from ..ideas.address import Address
from ..ideas.course import COURSE, Sums, course_entry, is_note, told_course
from ..ideas.library import Library
from ..ideas.ticks import (
    APPROVE,
    ID,
    RUN,
    Tick,
    about_of,
    request_digest,
    run_id,
    tick_entry,
    ticks_of,
    told_ticks,
    version_of,
)
from ..protocol.config import Limits
from ..protocol.context import Context
from ..protocol.marks import Marks
from ..protocol.message import OF
from ..protocol.origin import is_url
from ..protocol.solution import Result
from ..protocol.turns import is_said
from ..schema.infer import jsonable
from ..schema.json import JsonObject, is_object
from ..sources.run_log import RunLog
from .agent import Agent
from .idea import Idea
from .noting import Noting

SPENT = "spent"
"""The member of `meta.run` that holds what its limits have counted (L5)."""
_SAID = "said"
"""That which holds how much had been said when they began to count."""


@dataclass(frozen=True, slots=True)
class Versions:
    """Where each tick of a run is saved as a version: one address of a store."""

    library: Library
    address: Address

    async def answered(self, run: Idea, number: int, tick: Tick) -> None:
        """Save one request with its answer; the run's context begins with that of the request."""
        await self.library.save(version_of(run.text, number, tick), self.address, note=f"request {number}")

    async def ended(self, run: Idea) -> None:
        """Save the run as it is at its end."""
        await self.library.save(run.text, self.address, note="as it ended")


@dataclass(slots=True)
class KeptRun:
    """One run, open for this process alone while the `with` block lasts.

    Entering takes the lock and puts what only the log holds into the file, so that `idea` is up to date.
    """

    path: Path
    idea: Idea
    log: RunLog
    _is_new: bool = False
    absorbed: int = 0
    """How many entries of its log have been put into the file."""

    @classmethod
    def begin(cls, path: Path, idea: Idea, context: Context, approve: str | None = None) -> KeptRun:
        """A new run of an Idea, which begins with this context; its file is written on entering, with `approve`.

        Raises:
            IdeaError: the file exists already; on entering it, it can't be written.
        """
        _check_new(path)
        about: JsonObject = {ID: urandom(8).hex(), **({} if approve is None else {APPROVE: approve})}
        own = replace(idea, context=context, solution=None, meta={**idea.meta, RUN: about})
        return cls(path, with_origin(own, path, context.origin), RunLog(path), True)

    @classmethod
    def open(cls, path: Path) -> KeptRun:
        """A run that was kept before.

        Raises:
            IdeaError: there is none; on entering it, another process has it open, or its log is damaged.
        """
        if os.path.islink(path):  # its log is beside the file itself, by whatever name that is reached
            path = Path(os.path.realpath(path))
        return cls(path, _loaded(path), RunLog(path))

    def __enter__(self) -> KeptRun:
        self.log.__enter__()
        try:
            if self._is_new:
                self._write_first()
            else:
                self._take_up()
        except BaseException:
            self.log.__exit__(None, None, None)
            raise
        return self

    def _write_first(self) -> None:
        """Write the file of a new run. A log that lies there is of a run whose file has been deleted, and goes too."""
        _check_new(self.path)
        self.log.clear()
        self.idea.save(self.path)
        self.log.run = self.about[ID]

    def _take_up(self) -> None:
        """Read the file, now that nobody else writes it, and put what only the log holds into it."""
        self.idea = _loaded(self.path)
        self.log.run = run_id(self.about)
        self.absorb()
        try:
            self._conclude()
        except ValueError as error:
            raise IdeaError(f"{self.path}: the run can't be resumed: {error}") from None

    def absorb(self) -> None:
        """Take what only the log holds into the file.

        Raises:
            IdeaError: it is not the log of a run.
        """
        if self.log.is_empty:
            return
        entries = list(self.log.entries())
        told = [entry for entry in entries if not is_note(entry)]
        try:
            origin = self.idea.context.origin
            context = Context(recovered(told), origin=origin) if told else self.idea.context
            about = self._told_about(entries)
        except (MessageError, ValueError) as error:
            raise IdeaError(f"{self.log.path}: not the log of a run: {error}") from error
        if entries:
            self.keep(context, about)
        self.absorbed += len(entries)
        self.log.clear()

    def _conclude(self) -> None:
        """Let the output of a run that ended before outputs were left in the context stand there, too (M4)."""
        context, about = self.idea.context, self.idea.meta.get(RUN)
        output = about.get("output") if is_object(about) else None
        if output is not None and not any(message.get("type") == "output" for message in context):
            last: JsonObject = {"type": "output", "output": output, OF: str(max(0, Marks.of(context).next_answer - 1))}
            self.idea = replace(self.idea, context=context.extended([last]))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.log.__exit__(kind, error, trace)

    @property
    def about(self) -> JsonObject:
        """What is known of the run beside its context: `ticks`, `makers`, `output`, `waiting`.

        Raises:
            IdeaError: the file is an Idea but not a run.
        """
        return about_of(self.idea.meta, str(self.path))

    @property
    def ticks(self) -> list[Tick]:
        """The requests that it has made.

        Raises:
            IdeaError: its file doesn't note them as a run does.
        """
        return ticks_of(self.about, str(self.path))

    def note(self, ticks: Sequence[Tick]) -> None:
        """Log the last request at once; what was known of it before is replaced."""
        self.log(tick_entry(ticks))

    def identify(self) -> None:
        """Give the run an id if it was kept before runs had one: what it logs from now on is known to be its own."""
        if not self.log.run:
            self.log.run = urandom(8).hex()
            self.keep(self.idea.context, {**self.about, ID: self.log.run})

    def count(self, *, anew: bool) -> None:
        """Begin what its limits count, unless the run goes on within the turn of which that was begun (L5)."""
        said = sum(map(is_said, self.idea.context.messages))
        if self.about.get(_SAID) != said or anew:
            about = {key: value for key, value in self.about.items() if key != SPENT}
            sums = Sums.of(about).anew()
            self.keep(self.idea.context, {**about, **sums.to_dict(), _SAID: said})

    def _told_about(self, entries: Sequence[JsonObject]) -> JsonObject:
        """What is known of the run, including the requests and the course that only its log holds."""
        told = [entry["tick"] for entry in entries if "tick" in entry]
        about = {**self.about, "ticks": told_ticks([tick.to_dict() for tick in self.ticks], told)}
        about |= Sums.of(about, entries).to_dict()
        about |= {COURSE: course} if (course := told_course(about.get(COURSE), entries)) else {}
        ticks_of(about, str(self.log.path))
        return about

    def keep(self, context: Context, about: JsonObject | None = None) -> None:
        """Write the run's context to its file, whole or not at all, and empty the log."""
        meta = self.idea.meta if about is None else {**self.idea.meta, RUN: about}
        self.idea = replace(self.idea, context=context, meta=meta)
        self.idea.save(self.path)
        self.log.clear()


def with_origin(idea: Idea, path: Path, origin: str | None) -> Idea:
    """An Idea that is to be kept in a file, noting where its relative paths start from."""
    if origin is None or is_url(origin):
        return idea
    noted = Path(os.path.relpath(origin, path.resolve().parent)).as_posix()
    return replace(idea, config={**idea.config, "origin": noted})


def _check_new(path: Path) -> None:
    if os.path.lexists(path):
        raise IdeaError(f"{path} already exists: use `actum resume` to continue it, or choose another file name")


def _loaded(path: Path) -> Idea:
    """The Idea of a kept run.

    Raises:
        IdeaError: no run is kept there.
    """
    if os.path.exists(path) and not path.is_file():
        raise IdeaError(f"{path}: a run is kept in a file, and that is none")
    idea = Idea.load(path)
    about_of(idea.meta, str(path))
    return idea


def budget_of(limits: Limits, about: Mapping[str, Any], sums: Sums) -> Budget:
    """What a kept run may spend, less what it has spent, whoever had it (L5)."""
    spent, counted = Spent.of(about.get(SPENT, {})), sums.counted
    return Budget.going_on(limits, replace(spent, requests=max(spent.requests, counted.requests), usage=counted))


async def carry_on(
    kept: KeptRun,
    agent: Agent,
    show: Callable[[AnyEvent], None] | None,
    versions: Versions | None,
    *,
    anew: bool = False,
) -> Result[Any]:
    """Run from the kept context on; whatever ends the run, the file holds what had been done.

    Its limits count from its beginning, in a conversation from that of the turn; or they begin `anew`.
    """
    kept.identify()
    kept.count(anew=anew)
    ticks = kept.ticks
    sums = Sums.of(kept.about)
    noting = Noting()
    about: JsonObject = {"output": None, "waiting": []}
    budget = budget_of(agent.limits, kept.about, sums)
    stream = agent.carried(kept.idea.context, kept.idea.schema, kept.log, budget=budget)
    try:
        async with stream:
            async for event in stream:
                if show is not None:
                    show(event)
                noting.take(event)
                if (now := sums.so_far(stream.usage, stream.makers)) is not sums:
                    kept.log(course_entry((), sums := now))
                if event.depth == 0 and notes(event, ticks):
                    kept.note(ticks)
                    if versions is not None and ticks[-1].answer is not None:
                        so_far = replace(kept.idea, context=stream.context)
                        await versions.answered(so_far, len(ticks), ticks[-1])
        about = {"output": jsonable(stream.result.output), "waiting": list(stream.result.waiting)}
    finally:
        told: JsonObject = {"ticks": [tick.to_dict() for tick in ticks], SPENT: asdict(budget.spent)}
        told |= sums.so_far(stream.usage, stream.makers).to_dict()
        told[COURSE] = told_course(kept.about.get(COURSE), [course_entry(noting.rows())])
        told |= {"dialect": dialect.name} if (dialect := agent.dialect) is not None else {}
        kept.keep(stream.context, kept.about | told | about)
    if versions is not None:
        await versions.ended(kept.idea)
    return stream.result


def notes(event: AnyEvent, ticks: list[Tick]) -> bool:
    """Note a request that is made, or its answer; whether there was something to note."""
    if isinstance(event, RequestStarted) and (not ticks or len(event.context) != ticks[-1].at or ticks[-1].answer):
        digest = request_digest(event.messages, event.schema)
        at, notices = len(event.context), event.notices
        ticks.append(Tick(at=at, request=digest, waiting=event.waiting, owed=event.owed, notices=notices))
        return True
    if isinstance(event, RequestFinished) and ticks:
        ticks[-1] = replace(ticks[-1], answer=event.solution.to_dict())
        return True
    return False

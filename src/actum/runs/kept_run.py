"""The file of a kept run: an Idea whose context is what the run has left, beside it a log of newer entries."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import urandom
from pathlib import Path
from typing import Any

from ..app.agent import Agent, assembled, streamed
from ..app.assembly import Assembly
from ..app.idea import Idea
from ..errors import ActumError, IdeaError, MessageError
from ..events import AnyEvent
from ..execution.record.recovery import recover_context
from ..generation.offer import offered
from ..ideas.course import COURSE, Sums, course_entry, is_note, noted_rows
from ..ideas.library import Library
from ..ideas.store import Address
from ..ideas.ticks import APPROVE, ID, RUN, TOOLS, Tick, about_of, noted_ticks, run_id, ticks_of, version_of
from ..protocol.context import Context, is_url
from ..protocol.marks import is_said
from ..protocol.solution import Result
from ..schema.infer import jsonable
from ..schema.json import JsonObject
from ..sources.files import path_given
from ..sources.run_log import RunLog
from .kept_row import ROW, left_waiting, row_by_hand
from .progress import RunProgress
from .sending import ANEW, with_sent
from .sent_file import SentFile, is_cancelled, is_due

_SAID = "said"
"""The member of `meta.run` that holds how many messages the user had said when its limits began to count."""


@dataclass(frozen=True, slots=True)
class Versions:
    """Where each tick of a run is saved as a version: one address of a store."""

    library: Library
    address: Address

    async def answered(self, run: Idea, number: int, tick: Tick) -> None:
        """Save the `number`th request with its answer, a `tick`; the run's context begins with that of the request."""
        await self.library.save(version_of(run.text, number, tick), self.address, note=f"request {number}")

    async def ended(self, run: Idea) -> None:
        """Save the run as it is at its end."""
        await self.library.save(run.text, self.address, note="as it ended")


@dataclass(slots=True)
class KeptRun:
    """One run, open for this process alone while the `with` block lasts.

    Entering takes the lock and puts into the file what only the log holds, and, by hand, what the run was sent, so that
    `idea` is up to date.
    """

    path: Path
    idea: Idea
    log: RunLog
    is_by_hand: bool = True
    """Whether its user continues it, not a worker."""
    absorbed: int = 0
    """How many entries of its log the file has absorbed that its row doesn't count yet."""
    _is_new: bool = False
    _is_anew: bool = False
    """Whether a message asked for its limits to begin anew."""

    @classmethod
    def begin(
        cls, path: Path, idea: Idea, context: Context, approve: str | None = None, about: JsonObject | None = None
    ) -> KeptRun:
        """A new run of an `idea`, which begins with this `context`.

        Its file, `path`, is written on entering, with `approve`: who decides on its calls.

        `about` is what is known of it already.

        Raises:
            IdeaError: the file exists already; on entering it, it can't be written.
        """
        _check_new(path)
        noted: JsonObject = {**(about or {}), ID: urandom(8).hex(), **({} if approve is None else {APPROVE: approve})}
        begun = replace(idea, context=context, solution=None, meta={**idea.meta, RUN: noted})
        return cls(path, with_origin(begun, path, context.origin), RunLog(path), _is_new=True)

    @classmethod
    def open(cls, path: str | Path, *, by_hand: bool = True) -> KeptRun:
        """A run that was kept before.

        Raises:
            IdeaError: there is none; on entering it, another process has it open, its log is damaged, or somebody has
                ended it for good.
        """
        path = own_path(path_given(path))
        return cls(path, _load(path), RunLog(path), by_hand)

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
        """Write the file of a new run. A log that is there belongs to a run whose file was deleted: delete it, too."""
        _check_new(self.path)
        self.log.clear()
        SentFile(self.path).path.unlink(missing_ok=True)
        self.idea.save(self.path)
        self.log.run = self.about[ID]

    def _take_up(self) -> None:
        """Read the file, now that nobody else writes it, and add what it doesn't hold yet."""
        self.idea = _load(self.path)
        self.log.run = run_id(self.about)
        self.absorb()
        file = SentFile(self.path)
        if not self.is_by_hand or not file.path.exists():
            return
        with file.locked():
            sent = file.read()
            if is_cancelled(sent):
                raise IdeaError(f"{self.path}: the run was cancelled: `actum fork` begins another one from it")
            if due := [message["item"] for message in sent if is_due(message)]:
                self._is_anew = ANEW in due
                context = with_sent(self.idea.context, due)
                self.keep(context, self.about | {"waiting": left_waiting(self.about, context, due)})
                file.write([message for message in sent if not is_due(message)])

    def absorb(self) -> None:
        """Move what only the log holds into the file.

        Raises:
            IdeaError: it is not the log of a run.
        """
        if self.log.is_empty:
            return
        entries = list(self.log.entries())
        recorded = [entry for entry in entries if not is_note(entry)]
        try:
            origin = self.idea.context.origin
            context = Context(recover_context(recorded), origin=origin) if recorded else self.idea.context
            about = self._about_with(entries)
        except (MessageError, ValueError) as error:
            raise IdeaError(f"{self.log.path}: not the log of a run: {error}") from error
        if entries:
            self.keep(context, about)
        self.absorbed += len(entries)
        self.log.clear()

    def __exit__(self, *details: object) -> None:
        self.log.__exit__(*details)

    @property
    def about(self) -> JsonObject:
        """What is known of the run in addition to its context: `ticks`, `makers`, `output`, `waiting`.

        Raises:
            IdeaError: the file is an Idea but not a run.
        """
        return about_of(self.idea.meta, str(self.path))

    @property
    def row(self) -> JsonObject:
        """Its row, as workers write it; empty if its user keeps it by hand."""
        return self.about.get(ROW, {})

    @property
    def ticks(self) -> list[Tick]:
        """The requests that it has made.

        Raises:
            IdeaError: its file doesn't note them as a run does.
        """
        return ticks_of(self.about, str(self.path))

    def _about_with(self, entries: Sequence[JsonObject]) -> JsonObject:
        """What is known of the run, including the requests and the course that only its log holds."""
        ticks = [entry["tick"] for entry in entries if "tick" in entry]
        about = {**self.about, "ticks": noted_ticks([tick.to_dict() for tick in self.ticks], ticks)}
        about |= Sums.of(about, entries).to_dict()
        about |= {COURSE: course} if (course := noted_rows(about.get(COURSE), entries)) else {}
        ticks_of(about, str(self.log.path))
        return about

    def keep(self, context: Context, about: JsonObject | None = None) -> None:
        """Write the run's context to its file, whole or not at all, and empty the log."""
        meta = self.idea.meta if about is None else {**self.idea.meta, RUN: about}
        self.idea = replace(self.idea, context=context, meta=meta)
        self.idea.save(self.path)
        self.log.clear()

    async def carry_on(
        self,
        agent: Agent,
        show: Callable[[AnyEvent], None] | None = None,
        versions: Versions | None = None,
        *,
        anew: bool = False,
    ) -> Result[Any]:
        """Go on with it in this process; whatever ends it, the file holds what had been done.

        Args:
            agent: what carries it out.
            show: gets every event.
            versions: where every request is saved with its answer.
            anew: its limits begin anew; they count from its beginning, in a conversation from that of the turn.
        """
        progress = self._progress(anew=anew or self._is_anew)
        before, ended = self.about.get(COURSE), dict[str, Any](output=None, waiting=[])
        assembly = assembled(agent)
        budget = progress.begin(assembly.limits)

        async def save_answer(context: Context) -> None:
            if versions is not None:
                so_far = replace(self.idea, context=context)
                await versions.answered(so_far, len(progress.ticks), progress.ticks[-1])

        stream = streamed(agent, self.idea.context, self.idea.schema, record=self.log, budget=budget)
        try:
            result = await progress.follow(stream, self.log, show or (lambda _: None), save_answer)
            ended = {"output": jsonable(result.output), "waiting": list(result.waiting)}
        finally:
            about = {**progress.about, **ended, "ticks": [tick.to_dict() for tick in progress.ticks]}
            about[COURSE] = noted_rows(before, [course_entry(progress.course.rows())])
            about[TOOLS] = tools_noted(assembly, stream.context, about) | self.about.get(TOOLS, {})
            about |= {"dialect": dialect.name} if (dialect := assembly.dialect) is not None else {}
            about |= {ROW: row_by_hand(about, stream.context)} if ROW in about else {}
            self.keep(stream.context, about)
        if versions is not None:
            await versions.ended(self.idea)
        return result

    def _progress(self, *, anew: bool) -> RunProgress:
        """Its progress so far; its limits begin anew with every turn of a conversation, too."""
        turns = sum(map(is_said, self.idea.context.messages))
        if self.about.get(_SAID) != turns or anew:
            self.keep(self.idea.context, {**RunProgress.of(self.about, anew=True).about, _SAID: turns})
        progress = RunProgress.of(self.about)
        progress.ticks = self.ticks
        return progress


def tools_noted(agent: Assembly, context: Context, about: JsonObject) -> JsonObject:
    """The digests of the tools that a run has called: plans are derived only from runs of the same tools."""
    try:
        digests = offered(context, agent.tools, agent.config.tools).digests
    except ActumError:
        return {}  # the run itself has failed of that
    return {name: digests[name] for name in about.get("makers", {}) if name in digests}


def own_path(path: Path) -> Path:
    """The file of a run with links resolved: its log is beside it."""
    return Path(os.path.realpath(path)) if os.path.islink(path) else path


def with_origin(idea: Idea, path: Path, origin: str | None) -> Idea:
    """An Idea to be written to a file, with a note of where its relative paths start from."""
    if origin is None or is_url(origin):
        return idea
    noted = Path(os.path.relpath(origin, path.resolve().parent)).as_posix()
    return replace(idea, config={**idea.config, "origin": noted})


def is_taken(path: Path) -> bool:
    """Whether there is anything at a path."""
    return os.path.lexists(path)


def _check_new(path: Path) -> None:
    if is_taken(path):
        raise IdeaError(f"{path} already exists: use `actum resume` to continue it, or choose another file name")


def _load(path: Path) -> Idea:
    """The Idea of a kept run.

    Raises:
        IdeaError: no run is kept there.
    """
    if os.path.exists(path) and not path.is_file():
        raise IdeaError(f"{path}: a run is kept in a regular file")
    idea = Idea.load(path)
    about_of(idea.meta, str(path))
    return idea

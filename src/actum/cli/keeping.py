"""A run kept in a file: an Idea whose context is what the run has come to, and beside it a log of what is new (L8)."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from ..app.idea import Idea
from ..errors import IdeaError, MessageError
from ..execution.record import recovered
from ..ideas.address import Address
from ..ideas.library import Library
from ..ideas.ticks import RUN, Tick, about_of, ticks_of, version_of
from ..protocol.context import Context
from ..protocol.origin import is_url
from ..schema.json import JsonObject
from ..sources.runs import RunLog


@dataclass(frozen=True, slots=True)
class Versions:
    """Where each tick of a run is saved as a version: one address of a store."""

    library: Library
    address: Address

    async def answered(self, run: Idea, number: int, tick: Tick) -> None:
        """Save a tick whose answer is known; the run's context begins with that of the tick."""
        await self.library.save(version_of(run.text, number, tick), self.address, note=f"request {number}")

    async def ended(self, run: Idea) -> None:
        """Save what the run has come to."""
        await self.library.save(run.text, self.address, note="as it ended")


@dataclass(slots=True)
class KeptRun:
    """One run, open for this process alone."""

    path: Path
    idea: Idea
    log: RunLog

    @classmethod
    def begun(cls, path: Path, idea: Idea, context: Context) -> KeptRun:
        """A new run of an Idea.

        Raises:
            IdeaError: where the file stands already, or can't be written.
        """
        if path.exists():
            raise IdeaError(f"{path}: it stands already; `actum resume` goes on with a run, another name begins one")
        config = dict(idea.config)
        origin = context.origin
        if origin is not None and not is_url(origin):
            config["origin"] = Path(os.path.relpath(origin, path.resolve().parent)).as_posix()
        own = dataclasses.replace(idea, config=config, context=context, solution=None, meta={**idea.meta, RUN: {}})
        kept = cls(path, own, RunLog(path))
        kept.idea.save(path)
        return kept

    @classmethod
    def found(cls, path: Path) -> KeptRun:
        """A run that was kept, with what its log holds beyond its file.

        Raises:
            IdeaError: where there is none, or its log is no log of a run.
        """
        return cls(path, Idea.load(path), RunLog(path))

    def __enter__(self) -> KeptRun:
        self.log.__enter__()
        try:
            entries = list(self.log.entries())
            if entries:
                told = [entry for entry in entries if "tick" not in entry]
                ticks = [entry["tick"] for entry in entries if "tick" in entry]
                self.keep(Context(recovered(told), origin=self.idea.context.origin), self._told_about(ticks))
        except (MessageError, KeyError, TypeError) as error:
            self.log.__exit__(None, None, None)
            raise IdeaError(f"{self.log.path}: it is no log of a run: {error}") from error
        except BaseException:
            self.log.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.log.__exit__(kind, error, trace)

    @property
    def about(self) -> JsonObject:
        """What is known of the run beside its context: `ticks`, `makers`, `output`, `waiting`."""
        return about_of(self.idea.meta, str(self.path))

    @property
    def ticks(self) -> list[Tick]:
        """The requests that it has made.

        Raises:
            IdeaError: where its file doesn't note them as it should.
        """
        return ticks_of(self.about, str(self.path))

    def note(self, ticks: Sequence[Tick]) -> None:
        """Write the last tick down at once, in place of what was known of it before."""
        self.log({"at": [], "tick": {"number": len(ticks), **ticks[-1].to_dict()}})

    def _told_about(self, told: Sequence[JsonObject]) -> JsonObject:
        """What is known of the run, with the ticks that only its log knows."""
        ticks = [tick.to_dict() for tick in self.ticks]
        for tick in told:
            own = dict(tick)
            number: int = own.pop("number")
            ticks[number - 1 :] = [own]
        return {**self.about, "ticks": ticks}

    def keep(self, context: Context, about: JsonObject | None = None) -> None:
        """Put what the run has come to into its file, whole or not at all; then the log has nothing to add."""
        meta = self.idea.meta if about is None else {**self.idea.meta, RUN: about}
        self.idea = dataclasses.replace(self.idea, context=context, meta=meta)
        self.idea.save(self.path)
        self.log.clear()

"""Tells the entries of a run to whoever keeps them (L8)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from ...generation.ask import Post
from ...generation.gate import Gate
from ...protocol.call import Place
from ...schema.json import JsonObject
from .log_entries import Entry

Tell: TypeAlias = Callable[[JsonObject], None]
"""Takes one entry as JSON."""
Settled: TypeAlias = Callable[[], Awaitable[None]]
"""Returns once all that was told is kept and the run is known to be its owner's still; `Record.settled`."""


class Record(Protocol):
    """Keeps the entries of a run that another process may take over, and knows whether it still is this one's.

    `lease` counts who has owned the run: a sink that has seen a higher one can refuse what a stale owner sends.
    A record may also have a `gate` (see `actum.generation.gate`), which lets the run's requests in.
    """

    @property
    def lease(self) -> int:
        """The number of this ownership."""
        ...

    def __call__(self, entry: JsonObject) -> None:
        """Take one entry; it is kept by the time that `settled` returns."""
        ...

    async def settled(self) -> None:
        """Wait until all that was told is kept and the run is known to be this one's still.

        Raises:
            Fenced: another process owns the run by now.
        """
        ...


@dataclass(frozen=True, slots=True)
class Recorder:
    """Tells what one run does; nothing where nobody listens."""

    tell: Tell | None = None
    at: tuple[str, ...] = ()
    call: JsonObject | None = None
    """The call that the run carries out, for that of a delegate."""
    settled: Settled | None = None
    """What is awaited before an effect begins, and before the run ends; None where what is told is kept at once."""
    lease: int | None = None
    gate: Gate | None = None
    """What lets its requests in, where others ask the same models."""
    post: Post | None = None
    """What puts its requests into batches; those of delegates are made at once."""
    spread: Callable[[Any], Awaitable[Any]] | None = None
    """What has calls carried out as runs of their own (`delegation.spreading.Spread`); None where nobody does."""
    run: str = ""
    """The id of the run, where it has one before it begins; else it gets its own (C9)."""

    @classmethod
    def of(cls, record: Tell | Record | None) -> Recorder:
        """The recorder of a run that is told to this record."""
        settled, lease, gate = (getattr(record, name, None) for name in ("settled", "lease", "gate"))
        spread, run, post = (getattr(record, name, None) for name in ("spread", "keyed", "post"))
        return cls(record, settled=settled, lease=lease, gate=gate, post=post, spread=spread, run=run or "")

    def __call__(self, entry: Entry) -> None:
        """Tell one entry."""
        if self.tell is not None:
            self.tell({"at": list(self.at), **entry.to_dict()})

    def below(self, place: Place, call: JsonObject) -> Recorder:
        """The recorder of the delegate that the call at a place leads to."""
        run = f"{self.run}/{place}" if self.run else ""
        return replace(self, at=(*self.at, str(place)), call=call, run=run, post=None)

"""Selecting many runs at once, by state, age, code, tenant and name."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from .database import clock_of
from .handle import Run
from .row import State
from .runs import Runs

_PAGE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs are selected: those that match all fields that are set."""

    state: State | None = None
    tenant: str | None = None
    code: str | None = None
    """The code of the error of those that failed."""
    find: str = ""
    """A part of their ids, or of the names of their Ideas."""
    seconds: float | None = None
    """The most seconds since they ended, or, if they haven't, since they were submitted."""

    def takes(self, run: Run, now: float) -> bool:
        """Whether the age and the code of a run match; the other fields select the page that it is on."""
        row = run.row
        is_late = self.seconds is None or (row.ended or row.created) >= now - self.seconds
        return is_late and (self.code is None or (row.error or {}).get("code") == self.code)


async def every_run(
    runs: Runs, *, state: State | None = None, tenant: str | None = None, find: str = ""
) -> AsyncGenerator[Run]:
    """All runs of a place that match, the newest first; pages are read as they are needed."""
    last: Run | None = None
    while page := await runs.list(state=state, tenant=tenant, find=find, before=last, most=_PAGE):
        for run in page:
            yield run
        last = page[-1]


async def selected(runs: Runs, wanted: RunFilter) -> AsyncGenerator[Run]:
    """The runs that are selected, the newest first; ages go by the clock of the place."""
    now = await clock_of(runs.store.database)
    async for run in every_run(runs, state=wanted.state, tenant=wanted.tenant, find=wanted.find):
        if wanted.takes(run, now):
            yield run

"""Home: what waits for a decision, the Ideas, and the runs, with a search, page by page."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import ActumError
from ..protocol.approvals import Pending
from ..protocol.usage import Usage
from ..runs.handle import Run
from ..runs.row import Row
from .answering import page
from .numbers import digits
from .resources import Studio
from .shelf import IdeaListed

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_PAGE = 50
_MOST_WAITING = 20
_MOST_WORDS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """A run of the list; `usage` is None while it isn't known."""

    run: Run
    usage: Usage | None
    pending: Sequence[Pending] = ()


@dataclass(frozen=True, slots=True)
class Home:
    """The first page."""

    studio: Studio

    async def show(self, request: Request) -> Response:
        """The waiting runs, the Ideas and the runs; `find` filters them by a part of their names."""
        words = request.query_params.get("find", "")[:_MOST_WORDS]
        before = request.query_params.get("before")
        first = digits(request.query_params.get("ideas")) or 0
        last = await self._run(before) if before else None
        runs = self.studio.runs
        rows, waiting, damaged, problem = list[Run](), list[Run](), list[str](), ""
        try:
            rows += await runs.list(before=last, most=_PAGE + 1, find=words)
            waiting += await runs.list(state="waiting", most=_MOST_WAITING)
            damaged += await runs.damaged()
        except ActumError as error:
            problem = error.message  # for example, the database can't be reached
        ideas, count = await self._ideas(words, first)
        return page(
            self.studio,
            "home.html",
            words=words,
            problem=problem,
            damaged=damaged,
            ideas=ideas,
            next_ideas=first + _PAGE if first + _PAGE < count else None,
            runs=[RunLine(run=run, usage=_usage(run.row)) for run in rows[:_PAGE]],
            waiting=[await self._waiting_line(run) for run in waiting],
            more=rows[_PAGE - 1].id if len(rows) > _PAGE else None,
        )

    async def _run(self, id: str) -> Run | None:
        try:
            return await self.studio.runs.get(id)
        except ActumError:
            return None

    async def _ideas(self, words: str, first: int) -> tuple[Sequence[IdeaListed], int]:
        """A page of the matching Ideas, those of the shelf before those of the store; and how many match."""
        low = words.lower()
        listed = await asyncio.to_thread(self.studio.shelf.listed)
        matching = [idea for idea in listed if low in f"{idea.key} {idea.about}".lower()]
        shown = matching[first : first + _PAGE]
        if not self.studio.lists_store:
            return shown, len(matching)
        stored, count = await self.studio.stored.listed(words, max(0, first - len(matching)), _PAGE - len(shown))
        return [*shown, *stored], len(matching) + count

    async def _waiting_line(self, run: Run) -> RunLine:
        """A run that waits, with the calls that it waits for."""
        try:
            return RunLine(run=run, usage=None, pending=await run.pending())
        except ActumError:
            return RunLine(run=run, usage=None)


def _usage(row: Row) -> Usage | None:
    """The usage of a run; None while it isn't known."""
    usage = row.about.get("usage")
    return None if usage is None and not row.is_over else Usage.of(usage)

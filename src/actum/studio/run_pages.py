"""The pages of a run: its overview, its calls, answers and requests, its events, and its file."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from starlette.responses import HTMLResponse, Response

from ..errors import ActumError
from ..inspection.account import Account, account_of
from ..inspection.pricing import price
from ..runs.handle import Run
from ..runs.run_store import RunStore
from .answering import PartNotFound, page
from .live import shown_line, stream
from .numbers import digits, page_of
from .pictures import graph_with_values
from .resources import BASE, Studio
from .run_file import run_page, title_of
from .secrets import masked, without_secrets
from .sent_requests import RequestSent, known_requests
from .timeline import timeline_of

if TYPE_CHECKING:
    from starlette.requests import Request

_PAGE = 100
"""How many calls of an answer are on one page."""
_MOST_ANSWERS = 25
_LONGEST = 80_000
_MOST_CACHED = 12
_MOST_LINES = 40
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RunPages:
    """The routes that change nothing."""

    studio: Studio
    _cache: OrderedDict[str, Any] = field(default_factory=OrderedDict[str, Any])
    """Values made from recently shown runs that are over, and so don't change any more."""

    async def show(self, request: Request) -> Response:
        """The overview of a run."""
        run, account = await self._account(request)
        last, lines = await self._cached(run, "last", lambda: _last_lines(self.studio.runs.store, run))
        link = linker(run.id)
        graphs = {answer.number: graph_with_values(account, answer, link) for answer in account.answers[:_MOST_ANSWERS]}
        size = 0
        for number, drawn in list(graphs.items()):
            size += len(drawn or "")
            if size > _LONGEST:
                graphs[number] = None
        return page(
            self.studio,
            "run.html",
            run=run,
            title=title_of(account),
            account=account,
            line=timeline_of(account, is_live=run.row.is_under_way),
            link=link,
            graphs=graphs,
            shown=_PAGE // 2,
            most_answers=_MOST_ANSWERS,
            pending=await run.pending() if run.state == "waiting" else (),
            price=_price(account),
            why=_why(account),
            last=last,
            lines=lines,
        )

    async def events(self, request: Request) -> Response:
        """The changes of a run from now on."""
        run = await self._run(request)
        after = digits(request.headers.get("last-event-id") or request.query_params.get("after"), 11) or 0
        stands = request.query_params.get("shown") == "waiting"
        return stream(run, after, linker(run.id), self.studio.closing, self.studio.secrets, stands=stands)

    async def call(self, request: Request) -> Response:
        """One call in detail."""
        run, account = await self._account(request)
        place = request.path_params["place"]
        call = account.find(place)
        if call is None:
            raise PartNotFound(f"this run has no call {place}")
        why = account.why(place) if call.has_left else None
        return page(self.studio, "call.html", run=run, title=title_of(account), call=call, why=why, link=linker(run.id))

    async def answer(self, request: Request) -> Response:
        """The calls of one answer, page by page."""
        run, account = await self._account(request)
        number = digits(request.path_params["number"]) or 0
        answer = next((answer for answer in account.answers if answer.number == number), None)
        if answer is None:
            raise PartNotFound(f"this run has no answer {number}")
        words = request.query_params.get("find", "")[:200]
        calls = [call for call in answer.calls if not words or words.lower() in f"{call.place} {call.authored}".lower()]
        at, pages = page_of(request.query_params.get("page"), len(calls), _PAGE)
        return page(
            self.studio,
            "answer.html",
            run=run,
            title=title_of(account),
            answer=answer,
            calls=calls[(at - 1) * _PAGE : at * _PAGE],
            count=len(calls),
            page=at,
            pages=pages,
            words=words,
            link=linker(run.id),
        )

    async def sent(self, request: Request) -> Response:
        """The messages of one request to the model."""
        run, account = await self._account(request)
        number = digits(request.path_params["number"]) or 0
        requests = await self._cached(run, "sent", lambda: _requests(run))
        by_number = {sent.number: sent for sent in requests}
        answer = next((answer for answer in account.answers if answer.request == number), None)
        if answer is None:
            raise PartNotFound(f"this run has no request {number}")
        return page(
            self.studio, "request.html", run=run, title=title_of(account), answer=answer, sent=by_number.get(number)
        )

    async def file(self, request: Request) -> Response:
        """The run as one file, to be saved."""
        run = await self._run(request)
        text = masked(await run_page(await run.idea(), run.id), self.studio.secrets)
        name = {"content-disposition": f'attachment; filename="run-{quote(run.id)}.html"', "cache-control": "no-store"}
        return HTMLResponse(text, headers={**name, "x-content-type-options": "nosniff"})

    async def _run(self, request: Request) -> Run:
        return await self.studio.runs.get(request.path_params["id"])

    async def _account(self, request: Request) -> tuple[Run, Account]:
        run = await self._run(request)
        return run, await self._cached(run, "account", lambda: masked_account(run))

    async def _cached(self, run: Run, kind: str, make: Callable[[], Awaitable[T]]) -> T:
        """A value made from a run; if the run is over, it is made only once."""
        key = f"{kind} {run.id} {run.row.created} {run.row.ended}"  # a file of that name may hold another run by now
        if run.row.is_over and key in self._cache:
            self._cache.move_to_end(key)
            return self._cache[key]
        value = await make()
        if run.row.is_over:
            self._cache[key] = value
            while len(self._cache) > _MOST_CACHED:
                self._cache.popitem(last=False)
        return value


async def _requests(run: Run) -> Sequence[RequestSent]:
    return await known_requests(await run.idea(), run.id)


async def masked_account(run: Run) -> Account:
    """The account of a run as it is now, with secrets masked."""
    idea = without_secrets(await run.idea())
    now = time.time() if run.row.is_under_way else None
    return await asyncio.to_thread(account_of, idea, run.id, now)


def linker(id: str) -> Callable[[str], str]:
    """A function that makes the URL of a call of a run."""
    base = f"{BASE}/runs/{quote(id)}/calls/"
    return lambda place: f"{base}{quote(place)}"


async def _last_lines(store: RunStore, run: Run) -> tuple[int, list[tuple[int, str]]]:
    """The number of the last entry of a run's record, and its last lines of text."""
    seq, lines = 0, list[tuple[int, str]]()
    while entries := await store.entries(run.id, seq):
        for seq, data in entries:
            if (text := shown_line(data)) is not None:
                lines.append((seq, text))
        lines = lines[-_MOST_LINES:]
    return seq, lines


def _why(account: Account) -> Any:
    """The origin of the output; None if there is no output, or the record doesn't say."""
    try:
        return None if account.output is None else account.why()
    except ActumError:
        return None


def _price(account: Account) -> Any:
    """The price of the plan that waits; None if nothing waits, or it can't be computed."""
    if not account.waiting:
        return None
    from ..app.loading import Code, ready
    from ..generation.offer import offered

    try:
        agent = ready(account.idea, account.name, code=Code.to_read()).agent()
        return price(account.idea.context, offered(account.idea.context, agent.tools, agent.config.tools))
    except ActumError:
        return None

"""The routes of the Studio, all below `/studio/`. Who may ask, and from where, is judged before any of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from ..errors import ActumError
from ..ideas.course import usage_of
from ..protocol.approvals import Pending
from ..protocol.usage import Usage
from ..runs.runs import Run
from .answering import answering, page
from .decisions import Decisions
from .idea_pages import IdeaPages
from .pages import static
from .run_pages import RunPages
from .studio import BASE, Studio

if TYPE_CHECKING:
    from starlette.requests import Request

_STATIC = {"studio.css": "text/css", "studio.js": "text/javascript", "icon.svg": "image/svg+xml"}
_PAGE = 50
_MOST_WAITING = 20


def routes_of(studio: Studio) -> Sequence[BaseRoute]:
    """The routes of a Studio."""
    home, ideas, runs, decisions = _Home(studio), IdeaPages(studio), RunPages(studio), Decisions(studio)
    run = f"{BASE}/runs/{{id}}"

    def route(path: str, act: Callable[[Request], Awaitable[Response]], *methods: str) -> Route:
        return Route(path, answering(studio, act), methods=list(methods) or ["GET"])

    return [
        Route("/", _to_home, methods=["GET"]),
        Route(BASE, _to_home, methods=["GET"]),
        route(f"{BASE}/", home.show),
        Route(f"{BASE}/static/{{name}}", _static, methods=["GET"]),
        route(f"{BASE}/ideas/{{key:path}}", ideas.show),
        route(f"{BASE}/ideas/{{key:path}}", ideas.take, "POST"),
        route(run, runs.show),
        route(f"{run}/events", runs.events),
        route(f"{run}/file", runs.file),
        route(f"{run}/calls/{{place:path}}", runs.call),
        route(f"{run}/answers/{{number:int}}", runs.answer),
        route(f"{run}/requests/{{number:int}}", runs.sent),
        route(f"{run}/fork/{{number:int}}", decisions.fork, "GET", "POST"),
        route(f"{run}/edit/{{of:path}}", decisions.edit, "GET", "POST"),
        route(f"{run}/decide", decisions.decide, "POST"),
        route(f"{run}/signal", decisions.signal, "POST"),
        route(f"{run}/cancel", decisions.cancel, "POST"),
        route(f"{BASE}/compare", decisions.compare),
    ]


async def _to_home(_request: Request) -> Response:
    return RedirectResponse(f"{BASE}/", status_code=307)


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _STATIC:
        return Response(status_code=404)
    headers = {"cache-control": "no-cache", "x-content-type-options": "nosniff"}
    return Response(static(name), media_type=_STATIC[name], headers=headers)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """A run of the list."""

    run: Run
    name: str
    usage: Usage
    pending: Sequence[Pending] = ()


@dataclass(frozen=True, slots=True)
class _Home:
    studio: Studio

    async def show(self, request: Request) -> Response:
        """The Ideas and the runs, what waits on top."""
        words = request.query_params.get("find", "")[:200]
        before = request.query_params.get("before")
        last = await self.studio.runs.get(before) if before else None
        rows = await self.studio.runs.list(before=last, most=_PAGE)
        lines = [await self._line(run) for run in rows]
        waiting = await self.studio.runs.list(state="waiting", most=_MOST_WAITING)
        ideas = await asyncio.to_thread(self.studio.shelf.listed)
        low = words.lower()
        return page(
            self.studio,
            "home.html",
            words=words,
            ideas=[one for one in ideas if low in f"{one.key} {one.about}".lower()],
            runs=[one for one in lines if low in f"{one.run.id} {one.name} {one.run.state}".lower()],
            waiting=[await self._line(run, asks=True) for run in waiting],
            more=rows[-1].id if len(rows) == _PAGE else None,
        )

    async def _line(self, run: Run, *, asks: bool = False) -> RunLine:
        source = await self.studio.runs.store.source(run.id)
        meta: Any = {} if source is None else source.idea.get("meta", {})
        name = str(meta.get("path", ""))
        pending: Sequence[Pending] = ()
        if asks:
            try:
                pending = await run.pending()
            except ActumError:
                pending = ()
        return RunLine(run=run, name=name, usage=usage_of(run.row.about.get("usage")), pending=pending)

"""The routes of the Studio, all below `/studio/`. The guard has checked the caller and the origin before."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from .answering import with_error_pages
from .decisions import DecisionPages
from .eval_pages import EvalPages
from .home import Home
from .idea_pages import IdeaPages
from .pages import stamped, static
from .plan_pages import PlanPages
from .resources import BASE, Studio
from .run_pages import RunPages

if TYPE_CHECKING:
    from starlette.requests import Request

_STATIC = {"studio.css": "text/css", "studio.js": "text/javascript", "icon.svg": "image/svg+xml"}


def routes_of(studio: Studio) -> Sequence[BaseRoute]:
    """The routes of a Studio."""
    home, ideas, runs, decisions = Home(studio), IdeaPages(studio), RunPages(studio), DecisionPages(studio)
    evals, plans, run = EvalPages(studio), PlanPages(studio), f"{BASE}/runs/{{id}}"

    def route(path: str, act: Callable[[Request], Awaitable[Response]], *methods: str) -> Route:
        return Route(path, with_error_pages(studio, act), methods=list(methods) or ["GET"])

    return [
        Route("/", _to_home, methods=["GET"]),
        Route(BASE, _to_home, methods=["GET"]),
        route(f"{BASE}/", home.show),
        Route(f"{BASE}/static/{{name}}", _static, methods=["GET"]),
        route(f"{BASE}/ideas/{{key:path}}", ideas.show),
        route(f"{BASE}/ideas/{{key:path}}", ideas.take, "POST"),
        route(f"{BASE}/plans/{{key:path}}", plans.show),
        route(f"{BASE}/plans/{{key:path}}", plans.take, "POST"),
        route(run, runs.show),
        route(f"{run}/events", runs.events),
        route(f"{run}/file", runs.file),
        route(f"{run}/calls/{{place:path}}", runs.call),
        route(f"{run}/answers/{{number}}", runs.answer),
        route(f"{run}/requests/{{number}}", runs.sent),
        route(f"{run}/fork/{{number}}", decisions.fork, "GET", "POST"),
        route(f"{run}/edit/{{of:path}}", decisions.edit, "GET", "POST"),
        route(f"{run}/decide", decisions.decide, "POST"),
        route(f"{run}/signal", decisions.signal, "POST"),
        route(f"{run}/cancel", decisions.cancel, "POST"),
        route(f"{run}/resume", decisions.resume, "POST"),
        route(f"{BASE}/compare", decisions.compare),
        route(f"{BASE}/evals", evals.list),
        route(f"{BASE}/evals/{{key:path}}", evals.show),
        route(f"{BASE}/evals/{{key:path}}", evals.label, "POST"),
    ]


async def _to_home(_request: Request) -> Response:
    return RedirectResponse(f"{BASE}/", status_code=307)


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _STATIC:
        return Response(status_code=404)
    is_stamped = f"{name}?{request.url.query}" == stamped(name)
    cache_control = "private, max-age=31536000, immutable" if is_stamped else "no-cache"
    headers = {"cache-control": cache_control, "x-content-type-options": "nosniff"}
    return Response(static(name), media_type=_STATIC[name], headers=headers)

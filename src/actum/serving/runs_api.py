"""The HTTP API: JSON, and Server-Sent Events that can be resumed where they broke off.

The id of an event is the number of an entry in the run's record. Events without an id are sent again to a client that
resumes: `state`, the progress of the run, and with `live=true` the events that aren't recorded, such as text so far.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, get_args

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..errors import RunNotFound
from ..protocol.approvals import Pending
from ..protocol.message import DATA_KINDS
from ..protocol.usage import Usage
from ..runs.following import LOOK, Entry, Live
from ..runs.handle import Run
from ..runs.row import State
from ..schema.json import JsonObject, is_object
from ..studio.numbers import digits
from ..studio.sse import EventStream, event_frame
from .callers import check_run_id, public_id, stored_id
from .desk import Desk
from .idea_interface import Interface
from .openapi import DECISION, SIGNAL, START, document
from .parts import Part, asking_caller, json_body, query_number
from .refusals import Refusal

if TYPE_CHECKING:
    from starlette.requests import Request

_MOST_LISTED = 500
_OVER = "over"
"""The end of the last event's id: a client that has it has seen everything."""
_LONGEST_WAIT = 60
"""Seconds that a request may wait for a run to be over."""


def runs_part(desk: Desk) -> Part:
    """The routes of the API."""
    api = _Api(desk)
    return Part(
        routes=[
            Route("/openapi.json", api.openapi, methods=["GET"]),
            Route("/ideas", api.ideas, methods=["GET"]),
            Route("/ideas/{name}", api.idea, methods=["GET"]),
            Route("/ideas/{name}/runs", api.start_named, methods=["POST"]),
            Route("/runs", api.list, methods=["GET"]),
            Route("/runs", api.start, methods=["POST"]),
            Route("/runs/{id}", api.run, methods=["GET"]),
            Route("/runs/{id}/events", api.events, methods=["GET"]),
            Route("/runs/{id}/pending", api.pending, methods=["GET"]),
            Route("/runs/{id}/idea", api.saved, methods=["GET"]),
            Route("/runs/{id}/decisions", api.decide, methods=["POST"]),
            Route("/runs/{id}/signals", api.signal, methods=["POST"]),
            Route("/runs/{id}/cancel", api.cancel, methods=["POST"]),
        ]
    )


@dataclass(frozen=True, slots=True)
class _Api:
    desk: Desk

    # Ideas

    async def openapi(self, _request: Request) -> Response:
        """The OpenAPI document of this server."""
        return JSONResponse(document([Interface.of(name, idea) for name, idea in self.desk.ideas.items()]))

    async def ideas(self, _request: Request) -> Response:
        """The Ideas that are served."""
        served = [Interface.of(name, idea).to_dict() for name, idea in self.desk.ideas.items()]
        return JSONResponse({"ideas": served})

    async def idea(self, request: Request) -> Response:
        """One of the Ideas that are served."""
        name = request.path_params["name"]
        return JSONResponse(Interface.of(name, self.desk.idea(name)).to_dict())

    # Runs

    async def start(self, request: Request) -> Response:
        """Start a run of the Idea that the body names."""
        return await self._start(request, await json_body(request, START))

    async def start_named(self, request: Request) -> Response:
        """Start a run of the Idea that the path names; the body is its input."""
        body = {"idea": request.path_params["name"], "input": await json_body(request)}
        key = request.headers.get("idempotency-key")
        return await self._start(request, body if key is None else {**body, "id": key})

    async def _start(self, request: Request, body: Mapping[str, Any]) -> Response:
        caller, run_id = asking_caller(request), body.get("id")
        if run_id is not None:
            check_run_id(run_id)
        run, is_new = await self.desk.start(
            caller,
            body["idea"],
            input=body.get("input"),
            messages=checked_messages(body.get("messages", ())),
            id=None if run_id is None else stored_id(caller, run_id),
            priority=body.get("priority", 0),
            patience=body.get("patience"),
            limits=body.get("limits"),
            trace=request.headers.get("traceparent"),
        )
        await _wait_for(run, request)
        headers = {"location": f"/runs/{public_id(caller, run)}"}
        return JSONResponse(await self._run_json(caller, run), status_code=201 if is_new else 200, headers=headers)

    async def list(self, request: Request) -> Response:
        """A page of the caller's runs, the newest first."""
        caller, query = asking_caller(request), request.query_params
        state: Any = query.get("state")
        if state is not None and state not in get_args(State):
            raise Refusal(422, "parameters", f"state is one of {', '.join(get_args(State))}")
        before = await self.desk.find(caller, query["before"]) if "before" in query else None
        most = query_number(request, "most", 100, _MOST_LISTED)
        tenant = caller or None  # the owner lists the runs of all callers
        runs = await self.desk.runs.list(state=state, tenant=tenant, before=before, most=most)
        return JSONResponse({"runs": [await self._run_json(caller, run) for run in runs]})

    async def run(self, request: Request) -> Response:
        """The progress of a run; with `wait`, once it is over or waits, or after so many seconds."""
        run = await self._find(request)
        await _wait_for(run, request)
        return JSONResponse(await self._run_json(asking_caller(request), run))

    async def events(self, request: Request) -> Response:
        """The entries of a run's record after the last one that the caller has, as they are written."""
        run = await self._find(request)
        text = request.headers.get("last-event-id") or request.query_params.get("after", "0")
        number, _, end = text.partition(".")
        if (after := digits(number, 15)) is None:
            raise Refusal(422, "parameters", "after, or Last-Event-ID, is the number of an entry")
        if end == _OVER and run.row.is_over and not await self.desk.runs.store.entries(run.id, after, 1):
            return Response(status_code=204)  # stops the browser from reconnecting
        query = request.query_params
        stays, live = query.get("until") == "over", query.get("live") in {"true", "1"}
        frames = self._follow(asking_caller(request), run, after, stays=stays, live=live)
        return EventStream(_until_gone(frames), self.desk.closing)

    async def _follow(self, caller: str, run: Run, after: int, *, stays: bool, live: bool) -> AsyncGenerator[bytes]:
        last: JsonObject | None = None
        while True:
            async for item in run.follow(after, live=live):
                match item:
                    case Live(data):
                        yield event_frame(data, event="live")
                    case Entry(seq, data):
                        after = seq
                        yield event_frame({"seq": seq, **data}, event="entry", id=seq)
            state = await self._run_json(caller, run)
            if state != last:
                last = state
                yield event_frame(state, event="state", id=f"{after}.{_OVER}" if run.row.is_over else None)
            if run.row.is_over or not stays:
                return
            while run.state == "waiting":
                await run.refresh(wait=LOOK)

    async def pending(self, request: Request) -> Response:
        """The calls of a run that wait for a decision, each with the context that it would see."""
        run = await self._find(request)
        return JSONResponse({"pending": [pending_json(item) for item in await run.pending()]})

    async def saved(self, request: Request) -> Response:
        """The run as an Idea: a file of it is a kept run, for `actum why`, `replay`, `fork` and `diff`."""
        run = await self._find(request)
        return JSONResponse((await run.idea()).text.to_dict())

    async def decide(self, request: Request) -> Response:
        """Decide on a call that waits."""
        run, body = await self._find(request), await json_body(request, DECISION)
        options = {key: body[key] for key in ("reason", "parameters", "call") if key in body}
        await self.desk.decide(run, body["of"], body["decision"], by=asking_caller(request), **options)
        await _wait_for(run, request)
        return JSONResponse(await self._run_json(asking_caller(request), run), status_code=202)

    async def signal(self, request: Request) -> Response:
        """Put a value at a gate."""
        run, body = await self._find(request), await json_body(request, SIGNAL)
        await run.signal(body["name"], body.get("value", True))
        await _wait_for(run, request)
        return JSONResponse(await self._run_json(asking_caller(request), run), status_code=202)

    async def cancel(self, request: Request) -> Response:
        """End a run for good."""
        run = await self._find(request)
        await run.cancel()
        return JSONResponse(await self._run_json(asking_caller(request), run), status_code=202)

    async def _find(self, request: Request) -> Run:
        return await self.desk.find(asking_caller(request), request.path_params["id"])

    async def _run_json(self, caller: str, run: Run) -> JsonObject:
        """The progress of a run, as callers read it. Times are in seconds since the epoch."""
        row = await run.refresh()
        shown: JsonObject = {"id": public_id(caller, run), "idea": await self.desk.name_of(run), "state": row.state}
        shown |= {"created": row.created, "ended": row.ended}
        has_output = row.state == "done" or (row.state == "waiting" and row.output is not None)
        shown |= {"output": row.output} if has_output else {}
        shown |= {"waiting": list(row.waiting)} if row.state == "waiting" else {}
        shown |= {"missing": list(row.missing)} if row.missing else {}
        shown |= {"error": row.error} if row.error is not None else {}
        usage = row.about.get("usage")
        return shown if usage is None else {**shown, "usage": asdict(Usage.of(usage))}


async def _until_gone(frames: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """The frames of a run; an event `gone` if it is deleted meanwhile."""
    try:
        async with aclosing(frames):
            async for frame in frames:
                yield frame
    except RunNotFound as error:
        yield event_frame({"code": error.code, "message": error.message}, event="gone")


def pending_json(pending: Pending) -> JsonObject:
    """A call that waits, as callers read it: `of` is its place, `context` is what it would see."""
    shown: JsonObject = {"of": pending.of, "call": pending.call, "context": list(pending.crossing)}
    shown |= {"from": dict(pending.sources)} if pending.sources else {}
    shown |= {"derived": list(pending.derived)} if pending.derived else {}
    return {**shown, "delegates": list(pending.delegates)} if pending.delegates else shown


async def _wait_for(run: Run, request: Request) -> None:
    """Wait until a run is over or waits, for as long as the request says."""
    seconds = query_number(request, "wait", 0, _LONGEST_WAIT)
    if seconds:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                async for _ in run.follow(2**60):
                    pass


_TEXTS = frozenset({"text", "system", "user", "assistant"})
_MEDIA = frozenset({"image", "audio", "file"})
_ALLOWED = _TEXTS | _MEDIA | DATA_KINDS | {"data"}
"""The types that callers may send. Tools, plans, decisions and outputs are for the author and the run alone."""


def checked_messages(messages: Iterable[Mapping[str, Any]]) -> list[JsonObject]:
    """The messages of a caller, validated, and without the marks that only runs make.

    Raises:
        Refusal: a message is of a type that callers may not send, names a file of this machine, or would open a gate.
    """
    return [_checked_message(index, message) for index, message in enumerate(messages)]


def _checked_message(index: int, message: Mapping[str, Any]) -> JsonObject:
    kind = message.get("type")
    if not isinstance(kind, str) or kind not in _ALLOWED:
        raise Refusal(
            422, "message", f"a caller can't send messages of that type; {', '.join(sorted(_ALLOWED))} are", index=index
        )
    checked = {key: value for key, value in message.items() if not key.startswith("_")}
    if kind in _MEDIA and "path" in checked:
        raise Refusal(422, "message", "a caller can't name files of this machine: send url or data", index=index)
    if any(is_object(value) and "approvals" in value for value in _states(checked)):
        raise Refusal(422, "message", "gates are opened by /runs/ID/signals, not by a message", index=index)
    return checked


def _states(message: JsonObject) -> Iterator[Any]:
    """The values that a message writes into the state, whatever its form."""
    if message["type"] == "state":
        yield message
        yield message.get("state")
    elif message["type"] == "data" and message.get("kind") == "state":
        yield message.get("data")

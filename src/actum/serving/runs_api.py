"""The API of its own: JSON, and Server-Sent Events that can be taken up again where they broke off.

An entry of a run's record has its number as the event's id. What has none is told anew to whoever comes back: `state`,
which says how far the run is, and with `live=true` the events that no record holds, such as the text so far.
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
from ..runs.row import Row, State
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
"""What the id of the last event ends with: who has seen that has seen all."""
_LONGEST_WAIT = 60
"""Seconds that a request may wait for a run to be over."""


def runs_part(desk: Desk) -> Part:
    """The routes of the API."""
    own = _Api(desk)
    return Part(
        routes=[
            Route("/openapi.json", own.openapi, methods=["GET"]),
            Route("/ideas", own.ideas, methods=["GET"]),
            Route("/ideas/{name}", own.idea, methods=["GET"]),
            Route("/ideas/{name}/runs", own.start_named, methods=["POST"]),
            Route("/runs", own.listed, methods=["GET"]),
            Route("/runs", own.start, methods=["POST"]),
            Route("/runs/{id}", own.run, methods=["GET"]),
            Route("/runs/{id}/events", own.events, methods=["GET"]),
            Route("/runs/{id}/pending", own.pending, methods=["GET"]),
            Route("/runs/{id}/idea", own.saved, methods=["GET"]),
            Route("/runs/{id}/decisions", own.decide, methods=["POST"]),
            Route("/runs/{id}/signals", own.signal, methods=["POST"]),
            Route("/runs/{id}/cancel", own.cancel, methods=["POST"]),
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
        """One of them."""
        name = request.path_params["name"]
        return JSONResponse(Interface.of(name, self.desk.idea(name)).to_dict())

    # Runs

    async def start(self, request: Request) -> Response:
        """Start a run of the Idea that the body names."""
        return await self._start(request, await json_body(request, START))

    async def start_named(self, request: Request) -> Response:
        """Start a run of the Idea that the path names; the body is its input."""
        own = {"idea": request.path_params["name"], "input": await json_body(request)}
        key = request.headers.get("idempotency-key")
        return await self._start(request, own if key is None else {**own, "id": key})

    async def _start(self, request: Request, body: Mapping[str, Any]) -> Response:
        caller, named = asking_caller(request), body.get("id")
        if named is not None:
            check_run_id(named)
        run, is_new = await self.desk.start(
            caller,
            body["idea"],
            input=body.get("input"),
            messages=checked_messages(body.get("messages", ())),
            id=None if named is None else stored_id(caller, named),
            priority=body.get("priority", 0),
            patience=body.get("patience"),
            limits=body.get("limits"),
            trace=request.headers.get("traceparent"),
        )
        await _waited(run, request)
        headers = {"location": f"/runs/{public_id(caller, run)}"}
        return JSONResponse(await self._told(caller, run), status_code=201 if is_new else 200, headers=headers)

    async def listed(self, request: Request) -> Response:
        """A page of the caller's runs, the newest first."""
        caller, query = asking_caller(request), request.query_params
        state = query.get("state")
        if state is not None and state not in get_args(State):
            raise Refusal(422, "parameters", f"state is one of {', '.join(get_args(State))}")
        before = await self.desk.find(caller, query["before"]) if "before" in query else None
        most = query_number(request, "most", 100, _MOST_LISTED)
        own: Any = {"state": state, "tenant": caller or None}  # which is the owner's where it names nobody
        found = await self.desk.runs.list(**own, before=before, most=most)
        return JSONResponse({"runs": [await self._told(caller, run) for run in found]})

    async def run(self, request: Request) -> Response:
        """How far a run is; with `wait`, once it is over or waits, or after so many seconds."""
        run = await self._found(request)
        await _waited(run, request)
        return JSONResponse(await self._told(asking_caller(request), run))

    async def events(self, request: Request) -> Response:
        """The entries of a run's record behind the last one that the caller has, as they are written."""
        run = await self._found(request)
        text = request.headers.get("last-event-id") or request.query_params.get("after", "0")
        number, _, end = text.partition(".")
        if (after := digits(number, 15)) is None:
            raise Refusal(422, "parameters", "after, or Last-Event-ID, is the number of an entry")
        if end == _OVER and run.row.is_over and not await self.desk.runs.store.entries(run.id, after, 1):
            return Response(status_code=204)  # a browser comes back until it is told so
        query = request.query_params
        stays, live = query.get("until") == "over", query.get("live") in {"true", "1"}
        followed = self._followed(asking_caller(request), run, after, stays=stays, live=live)
        return EventStream(_until_gone(followed), self.desk.closing)

    async def _followed(self, caller: str, run: Run, after: int, *, stays: bool, live: bool) -> AsyncGenerator[bytes]:
        said: JsonObject | None = None
        while True:
            async for one in run.follow(after, live=live):
                match one:
                    case Live(data):
                        yield event_frame(data, event="live")
                    case Entry(seq, data):
                        after = seq
                        yield event_frame({"seq": seq, **data}, event="entry", id=seq)
            told = await self._told(caller, run)
            if told != said:
                said = told
                yield event_frame(told, event="state", id=f"{after}.{_OVER}" if run.row.is_over else None)
            if run.row.is_over or not stays:
                return
            while run.state == "waiting":
                await run.refresh(wait=LOOK)

    async def pending(self, request: Request) -> Response:
        """The calls of a run that wait for a decision, each with all that would cross."""
        run = await self._found(request)
        return JSONResponse({"pending": [pending_json(one) for one in await run.pending()]})

    async def saved(self, request: Request) -> Response:
        """The run as an Idea: a file of it is a kept run, for `actum why`, `replay`, `fork` and `diff`."""
        run = await self._found(request)
        return JSONResponse((await run.idea()).text.to_dict())

    async def decide(self, request: Request) -> Response:
        """Decide on a call that waits."""
        run, body = await self._found(request), await json_body(request, DECISION)
        parameters, call = body.get("parameters"), body.get("call")
        reason = body.get("reason", "")
        said: dict[str, Any] = {"reason": reason, "parameters": parameters, "call": call, "by": asking_caller(request)}
        await self.desk.decide(run, body["of"], body["decision"], **said)
        await _waited(run, request)
        return JSONResponse(await self._told(asking_caller(request), run), status_code=202)

    async def signal(self, request: Request) -> Response:
        """Put a value at a gate."""
        run, body = await self._found(request), await json_body(request, SIGNAL)
        await run.signal(body["name"], body.get("value", True))
        await _waited(run, request)
        return JSONResponse(await self._told(asking_caller(request), run), status_code=202)

    async def cancel(self, request: Request) -> Response:
        """End a run for good."""
        run = await self._found(request)
        await run.cancel()
        return JSONResponse(await self._told(asking_caller(request), run), status_code=202)

    async def _found(self, request: Request) -> Run:
        return await self.desk.find(asking_caller(request), request.path_params["id"])

    async def _told(self, caller: str, run: Run) -> JsonObject:
        row = await run.refresh()
        return run_json(public_id(caller, run), row, await self.desk.name_of(run))


async def _until_gone(frames: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """The frames of a run; where it is swept away meanwhile, that it is gone."""
    try:
        async with aclosing(frames):
            async for frame in frames:
                yield frame
    except RunNotFound as error:
        yield event_frame({"code": error.code, "message": error.message}, event="gone")


def run_json(id: str, row: Row, idea: str | None) -> JsonObject:
    """How far a run is, as callers read it. Times are in seconds since the epoch."""
    told: JsonObject = {"id": id, "idea": idea, "state": row.state, "created": row.created, "ended": row.ended}
    is_told = row.state == "done" or (row.state == "waiting" and row.output is not None)
    told |= {"output": row.output} if is_told else {}
    told |= {"waiting": list(row.waiting)} if row.state == "waiting" else {}
    told |= {"missing": list(row.missing)} if row.missing else {}
    told |= {"error": row.error} if row.error is not None else {}
    usage = row.about.get("usage")
    return told if usage is None else {**told, "usage": asdict(Usage.of(usage))}


def pending_json(one: Pending) -> JsonObject:
    """A call that waits, as callers read it: `of` names it, `call` would be made, `context` would cross."""
    told: JsonObject = {"of": one.of, "call": one.call, "context": list(one.crossing)}
    told |= {"from": dict(one.sources)} if one.sources else {}
    told |= {"derived": list(one.derived)} if one.derived else {}
    return {**told, "delegates": list(one.delegates)} if one.delegates else told


async def _waited(run: Run, request: Request) -> None:
    """Wait as long as the request says for a run to be over, or to wait itself."""
    seconds = query_number(request, "wait", 0, _LONGEST_WAIT)
    if seconds:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                async for _ in run.follow(2**60):
                    pass


_TEXTS = frozenset({"text", "system", "user", "assistant"})
_MEDIA = frozenset({"image", "audio", "file"})
_TAKEN = _TEXTS | _MEDIA | DATA_KINDS | {"data"}
"""The types that are taken in. Tools, plans, decisions and outputs are for the author and the run alone."""


def checked_messages(messages: Iterable[Mapping[str, Any]]) -> list[JsonObject]:
    """The messages of a caller as they may stand in a context, without the marks that only runs make.

    Raises:
        Refusal: one is of a type that callers may not send, names a file of this machine, or would open a gate.
    """
    return [_taken(index, message) for index, message in enumerate(messages)]


def _taken(index: int, message: Mapping[str, Any]) -> JsonObject:
    kind = message.get("type")
    if not isinstance(kind, str) or kind not in _TAKEN:
        raise Refusal(
            422, "message", f"a caller can't send messages of that type; {', '.join(sorted(_TAKEN))} are", index=index
        )
    own = {key: value for key, value in message.items() if not key.startswith("_")}
    if kind in _MEDIA and "path" in own:
        raise Refusal(422, "message", "a caller can't name files of this machine: send url or data", index=index)
    if any(_opens_gate(value) for value in _states(own)):
        raise Refusal(422, "message", "gates are opened by /runs/ID/signals, not by a message", index=index)
    return own


def _states(message: JsonObject) -> Iterator[Any]:
    """What a message writes into the state, in any of its forms."""
    if message["type"] == "state":
        yield message
        yield message.get("state")
    elif message["type"] == "data" and message.get("kind") == "state":
        yield message.get("data")


def _opens_gate(value: Any) -> bool:
    return is_object(value) and "approvals" in value

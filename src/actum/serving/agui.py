"""AG-UI 1.0: each Idea is an agent at /agui/NAME. A run that waits ends with its interrupts, and the next one resumes.

The id of an interrupt names the run, the call and what was shown of it, so that it holds after a restart, answers that
call and no other, and is spent by the first answer.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from starlette.routing import Route

from ..errors import ActumError
from ..protocol.approvals import made_elsewhere
from ..runs.following import Entry
from ..runs.handle import Run
from ..schema.json import JsonObject, encode, is_object
from ..studio.sse import EventStream, event_frame
from .agui_events import Event, Teller
from .agui_interrupts import OpenInterrupts, PageResult, answer_to, page_tools, results_in, waiting_of
from .desk import Desk
from .foreign_turns import input_from, turns_of
from .parts import Part, asking_caller, json_body
from .refusals import Refusal

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

VERSION = "1.0"
_PATIENCE = 30.0
"""Seconds after which a run is cancelled whose page has left and not come back with the same ids."""


def agui_part(desk: Desk) -> Part:
    """The routes of the agents."""
    return Part(routes=[Route("/agui/{name}", _Agents(desk).run, methods=["POST"])])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """What a page has sent, as far as it counts here."""

    thread: str
    run: str
    body: JsonObject

    @classmethod
    def of(cls, body: JsonObject) -> _Given:
        """Judge it by the protocol's own model."""
        from ag_ui.core import RunAgentInput

        try:
            RunAgentInput.model_validate(body, by_alias=True, by_name=False)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise Refusal(422, "body", f"not a RunAgentInput: {where}: {first['msg']}") from None
        return cls(thread=body["threadId"], run=body["runId"], body=body)

    def id_for(self, caller: str, name: str) -> str:
        """The id of the run that these ids begin: a request that is sent again begins no second one."""
        text = encode([caller, name, self.thread, self.run])
        return f"agui-{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:32]}"


@dataclass(frozen=True, slots=True)
class _Agents:
    desk: Desk

    async def run(self, request: Request) -> Response:
        """Begin a run, or go on with the one whose interrupts are answered."""
        caller, name = asking_caller(request), request.path_params["name"]
        self.desk.idea(name)
        given = await asyncio.to_thread(_Given.of, await json_body(request))
        stream = await self._resumed(caller, name, given)
        if stream is None:
            run = await self._begun(caller, name, given, request.headers.get("traceparent"))
            stream = _Stream(self.desk, run, given, Teller(run.id))
        return EventStream(stream.frames(), self.desk.closing)

    async def _begun(self, caller: str, name: str, given: _Given, trace: str | None) -> Run:
        named = given.id_for(caller, name)
        try:
            return await self.desk.find(caller, named)  # it was sent again
        except Refusal:
            pass
        brought = page_tools(given.body.get("tools") or [], self.desk.idea(name), self.desk.carrier)
        messages = [*brought, *_ambient(given.body), *turns_of(given.body.get("messages") or [])]
        forwarded = given.body.get("forwardedProps")
        own: Any = forwarded.get("input") if is_object(forwarded) else None
        if own is not None and not is_object(own):
            raise Refusal(422, "body", "forwardedProps.input must be an object")
        messages, taken = input_from(name, self.desk.idea(name), messages, own)
        run, _ = await self.desk.start(caller, name, input=taken, messages=messages, id=named, trace=trace)
        return run

    async def _resumed(self, caller: str, name: str, given: _Given) -> _Stream | None:
        """The run that goes on with the answers and the results that a page brings, None where it brings none."""
        entries: Sequence[Mapping[str, Any]] = given.body.get("resume") or []
        named = [(str(one["interruptId"]), one) for one in entries]
        runs = {interrupt.partition("#")[0] for interrupt, _ in named}
        if len(runs) > 1:
            raise Refusal(422, "interrupt", "the interrupts are of different runs")
        run, results = await self._going_on(caller, name, runs, list(results_in(given.body["messages"])))
        if run is None:
            return None
        waiting = await waiting_of(run)
        open_now = waiting.interrupts
        answers = {one: answer_to(open_now[one], entry) for one, entry in named if one in open_now}
        if answers and (left := [one for one in open_now if one not in answers]):
            raise Refusal(422, "interrupt", f"{len(left)} interrupts have no entry: answer or cancel each")
        after, teller = await _last(self.desk, run), Teller(run.id)
        places = [*(one.place for one in open_now.values()), *waiting.page]
        told = [teller.call_of(place) for one in places for place in _leading(one)]
        brought = [one for one in results if one.place in waiting.page]
        for answer in answers.values():
            await answer.give(self.desk, run)
        for result in brought:
            await result.give(run)
        teller = Teller(run.id, told, [teller.call_of(one.place) for one in brought])
        return _Stream(self.desk, run, given, teller, after, [one for one, _ in named if one not in open_now])

    async def _going_on(
        self, caller: str, name: str, runs: Collection[str], results: Sequence[PageResult]
    ) -> tuple[Run | None, list[PageResult]]:
        """The run that interrupts are of, or calls that it has had its page make; and the results that are for it."""
        for one in runs:
            run = await self.desk.find(caller, one, of=name)
            return run, [result for result in results if result.run == one]
        for one in dict.fromkeys(result.run for result in results):
            try:
                run = await self.desk.find(caller, one, of=name)
            except Refusal:
                continue
            own = [result for result in results if result.run == one]
            made = made_elsewhere(await run.context())
            if any(result.place.partition("/")[0] in made for result in own):
                return run, own
        return None, []


def _leading(place: str) -> list[str]:
    """A place, and those of the calls whose delegates lead there."""
    steps = place.split("/") if place else []
    return ["/".join(steps[: end + 1]) for end in range(len(steps))]


async def _last(desk: Desk, run: Run) -> int:
    after = 0
    while page := await desk.runs.store.entries(run.id, after):
        after = page[-1][0]
    return after


def _ambient(body: JsonObject) -> list[JsonObject]:
    """What a page says in addition to its messages: its state and its context."""
    found: list[JsonObject] = []
    state = body.get("state")
    if is_object(state) and (own := {key: value for key, value in state.items() if key != "approvals"}):
        found.append({"type": "state", "state": own})
    context: list[JsonObject] = body.get("context") or []
    return found + [{"type": "text", "text": f"{one['description']}: {one['value']}"} for one in context]


@dataclass(frozen=True, slots=True)
class _Stream:
    """The events of one run of AG-UI: those of a run behind a number."""

    desk: Desk
    run: Run
    given: _Given
    teller: Teller
    after: int = 0
    unknown: Sequence[str] = ()
    """The interrupts that are none of the run."""

    async def frames(self) -> AsyncGenerator[bytes]:
        """The events as frames. A page that leaves has the run cancelled, unless it comes back in time."""
        with self.desk.onlookers.at(self.run, _PATIENCE):
            async for event in self._events():
                yield event_frame(event)

    async def _events(self) -> AsyncGenerator[Event]:
        own: Event = {"threadId": self.given.thread, "runId": self.given.run}
        yield {"type": "RUN_STARTED", **own, "protocolVersion": VERSION}
        yield {"type": "CUSTOM", "name": "actum.run", "value": {"id": self.run.id}}
        for name in self.unknown:
            yield {"type": "CUSTOM", "name": "actum.warning", "value": f"no interrupt {name} is open"}
        after, waiting = self.after, OpenInterrupts()
        try:
            while True:
                async for one in self.run.follow(after, live=True):
                    after = one.seq if isinstance(one, Entry) else after
                    for event in self.teller.take(one):
                        yield event
                waiting = await waiting_of(self.run)
                if waiting or self.run.row.is_over:  # else somebody has decided meanwhile, and it goes on
                    break
        except ActumError as error:
            yield {"type": "RUN_ERROR", "message": error.message, "code": error.code}
            return
        for event in self._ending(own, waiting):
            yield event

    def _ending(self, own: Event, waiting: OpenInterrupts) -> list[Event]:
        row, open_now = self.run.row, waiting.interrupts
        usage = _usage(row.about.get("usage"))
        if waiting:
            held = [(one.place, name, dict(one.about.call)) for name, one in open_now.items() if one.about]
            page = [(place, dict(one.call)) for place, one in waiting.page.items()]
            closed = [*self.teller.closed(held, page)]
            if not open_now:
                ids = [self.teller.page_call(place) for place in waiting.page]
                success: JsonObject = {"type": "success", "pendingToolCallIds": ids}
                return [*closed, {"type": "RUN_FINISHED", **own, "outcome": success, **usage}]
            interrupts = [
                one.to_dict(name, one.place and self.teller.call_of(one.place)) for name, one in open_now.items()
            ]
            outcome: JsonObject = {"type": "interrupt", "interrupts": interrupts}
            return [*closed, {"type": "RUN_FINISHED", **own, "outcome": outcome, **usage}]
        if row.state == "cancelled":
            return [*self.teller.closed(), {"type": "RUN_FINISHED", **own, "outcome": {"type": "cancelled"}, **usage}]
        if row.state == "done":
            done: Event = {"type": "RUN_FINISHED", **own, "result": row.output, "outcome": {"type": "success"}, **usage}
            return [*self.teller.closed(), done]
        error = row.error or {"message": "it has failed", "code": "error"}
        failed: Event = {"type": "RUN_ERROR", "message": str(error["message"]), "code": str(error["code"])}
        return [*self.teller.closed(), {**failed, **usage}]


def _usage(told: Any) -> JsonObject:
    if not is_object(told):
        return {}
    counts = {"inputTokens": told.get("input_tokens"), "outputTokens": told.get("output_tokens")}
    counts["cachedInputTokens"] = told.get("cached_tokens")
    own = {name: count for name, count in counts.items() if isinstance(count, int)}
    return {"usage": [own]} if own else {}

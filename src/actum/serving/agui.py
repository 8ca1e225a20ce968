"""AG-UI 1.0: each Idea is an agent at /agui/NAME. A run that waits ends with its interrupts; the next run resumes it.

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
from .agui_events import Event, Translator
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
"""Seconds until a run is cancelled whose page has left and not come back with the same ids."""


def agui_part(desk: Desk) -> Part:
    """The routes of the agents."""
    return Part(routes=[Route("/agui/{name}", _Agents(desk).run, methods=["POST"])])


@dataclass(frozen=True, slots=True, kw_only=True)
class _RunInput:
    """The request of a page: the ids of its thread and run, and the body."""

    thread: str
    run: str
    body: JsonObject

    @classmethod
    def of(cls, body: JsonObject) -> _RunInput:
        """Validate it with the protocol's own model."""
        from ag_ui.core import RunAgentInput

        try:
            RunAgentInput.model_validate(body, by_alias=True, by_name=False)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise Refusal(422, "body", f"not a RunAgentInput: {where}: {first['msg']}") from None
        return cls(thread=body["threadId"], run=body["runId"], body=body)

    def id_for(self, caller: str, name: str) -> str:
        """The id of the run that these ids start: a repeated request starts no second one."""
        text = encode([caller, name, self.thread, self.run])
        return f"agui-{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:32]}"


@dataclass(frozen=True, slots=True)
class _Agents:
    desk: Desk

    async def run(self, request: Request) -> Response:
        """Begin a run, or go on with the one whose interrupts are answered."""
        caller, name = asking_caller(request), request.path_params["name"]
        self.desk.idea(name)
        run_input = await asyncio.to_thread(_RunInput.of, await json_body(request))
        stream = await self._resume(caller, name, run_input)
        if stream is None:
            run = await self._begin(caller, name, run_input, request.headers.get("traceparent"))
            stream = _Stream(self.desk, run, run_input, Translator(run.id))
        return EventStream(stream.frames(), self.desk.closing)

    async def _begin(self, caller: str, name: str, run_input: _RunInput, trace: str | None) -> Run:
        run_id = run_input.id_for(caller, name)
        try:
            return await self.desk.find(caller, run_id)  # the request was repeated
        except Refusal:
            pass
        tools = page_tools(run_input.body.get("tools") or [], self.desk.idea(name), self.desk.carrier)
        messages = [*tools, *_state_and_context(run_input.body), *turns_of(run_input.body.get("messages") or [])]
        forwarded = run_input.body.get("forwardedProps")
        arguments: Any = forwarded.get("input") if is_object(forwarded) else None
        if arguments is not None and not is_object(arguments):
            raise Refusal(422, "body", "forwardedProps.input must be an object")
        messages, arguments = input_from(name, self.desk.idea(name), messages, arguments)
        run, _ = await self.desk.start(caller, name, input=arguments, messages=messages, id=run_id, trace=trace)
        return run

    async def _resume(self, caller: str, name: str, run_input: _RunInput) -> _Stream | None:
        """The stream of the run that continues with a page's answers and results, None if the page brings none."""
        resumed: Sequence[Mapping[str, Any]] = run_input.body.get("resume") or []
        entries = [(str(entry["interruptId"]), entry) for entry in resumed]
        runs = {key.partition("#")[0] for key, _ in entries}
        if len(runs) > 1:
            raise Refusal(422, "interrupt", "the interrupts are of different runs")
        run, results = await self._run_to_resume(caller, name, runs, list(results_in(run_input.body["messages"])))
        if run is None:
            return None
        waiting = await waiting_of(run)
        open_now = waiting.interrupts
        answers = {key: answer_to(open_now[key], entry) for key, entry in entries if key in open_now}
        if answers and (missing := [key for key in open_now if key not in answers]):
            raise Refusal(422, "interrupt", f"{len(missing)} interrupts have no entry: answer or cancel each")
        after, translator = await _last_entry(self.desk, run), Translator(run.id)
        places = [*(interrupt.place for interrupt in open_now.values()), *waiting.page]
        announced = [translator.call_of(parent) for place in places for parent in _places_to(place)]
        page_results = [result for result in results if result.place in waiting.page]
        for answer in answers.values():
            await answer.give(self.desk, run)
        for result in page_results:
            await result.give(run)
        translator = Translator(run.id, announced, [translator.call_of(result.place) for result in page_results])
        return _Stream(self.desk, run, run_input, translator, after, [key for key, _ in entries if key not in open_now])

    async def _run_to_resume(
        self, caller: str, name: str, runs: Collection[str], results: Sequence[PageResult]
    ) -> tuple[Run | None, list[PageResult]]:
        """The run that the interrupts belong to, or else the page's results; with the results that are meant for it."""
        for run_id in runs:
            run = await self.desk.find(caller, run_id, of=name)
            return run, [result for result in results if result.run == run_id]
        for run_id in dict.fromkeys(result.run for result in results):
            try:
                run = await self.desk.find(caller, run_id, of=name)
            except Refusal:
                continue
            matching = [result for result in results if result.run == run_id]
            elsewhere = made_elsewhere(await run.context())
            if any(result.place.partition("/")[0] in elsewhere for result in matching):
                return run, matching
        return None, []


def _places_to(place: str) -> list[str]:
    """A place, and those of the calls whose delegates lead there."""
    steps = place.split("/") if place else []
    return ["/".join(steps[: end + 1]) for end in range(len(steps))]


async def _last_entry(desk: Desk, run: Run) -> int:
    after = 0
    while page := await desk.runs.store.entries(run.id, after):
        after = page[-1][0]
    return after


def _state_and_context(body: JsonObject) -> list[JsonObject]:
    """The state and the context of a page, as messages."""
    messages: list[JsonObject] = []
    state = body.get("state")
    if is_object(state) and (kept := {key: value for key, value in state.items() if key != "approvals"}):
        messages.append({"type": "state", "state": kept})
    context: list[JsonObject] = body.get("context") or []
    return messages + [{"type": "text", "text": f"{item['description']}: {item['value']}"} for item in context]


@dataclass(frozen=True, slots=True)
class _Stream:
    """The events of one run of AG-UI: those of a run behind a number."""

    desk: Desk
    run: Run
    run_input: _RunInput
    translator: Translator
    after: int = 0
    unknown: Sequence[str] = ()
    """Interrupts that the page named and the run doesn't have open."""

    async def frames(self) -> AsyncGenerator[bytes]:
        """The events as frames. If the page leaves and doesn't come back in time, the run is cancelled."""
        with self.desk.onlookers.at(self.run, _PATIENCE):
            async for event in self._events():
                yield event_frame(event)

    async def _events(self) -> AsyncGenerator[Event]:
        ids: Event = {"threadId": self.run_input.thread, "runId": self.run_input.run}
        yield {"type": "RUN_STARTED", **ids, "protocolVersion": VERSION}
        yield {"type": "CUSTOM", "name": "actum.run", "value": {"id": self.run.id}}
        for name in self.unknown:
            yield {"type": "CUSTOM", "name": "actum.warning", "value": f"no interrupt {name} is open"}
        after, waiting = self.after, OpenInterrupts()
        try:
            while True:
                async for item in self.run.follow(after, live=True):
                    after = item.seq if isinstance(item, Entry) else after
                    for event in self.translator.events_of(item):
                        yield event
                waiting = await waiting_of(self.run)
                if waiting or self.run.row.is_over:  # else somebody has decided meanwhile, and it goes on
                    break
        except ActumError as error:
            yield {"type": "RUN_ERROR", "message": error.message, "code": error.code}
            return
        for event in self._last_events(ids, waiting):
            yield event

    def _last_events(self, ids: Event, waiting: OpenInterrupts) -> list[Event]:
        row, translator = self.run.row, self.translator
        usage = _usage(row.about.get("usage"))
        finished: Event = {"type": "RUN_FINISHED", **ids, **usage}
        if waiting:
            open_now = waiting.interrupts.items()
            waiting_calls = [(shown.place, name, dict(shown.about.call)) for name, shown in open_now if shown.about]
            page = [(place, dict(pending.call)) for place, pending in waiting.page.items()]
            outcome: JsonObject = {"type": "success", "pendingToolCallIds": [*map(translator.page_call, waiting.page)]}
            if open_now:
                interrupts = [
                    shown.to_dict(name, shown.place and translator.call_of(shown.place)) for name, shown in open_now
                ]
                outcome = {"type": "interrupt", "interrupts": interrupts}
            return [*translator.close(waiting_calls, page), finished | {"outcome": outcome}]
        if row.state == "cancelled":
            return [*translator.close(), finished | {"outcome": {"type": "cancelled"}}]
        if row.state == "done":
            return [*translator.close(), finished | {"result": row.output, "outcome": {"type": "success"}}]
        error = row.error or {"message": "it has failed", "code": "error"}
        failed: Event = {"type": "RUN_ERROR", "message": str(error["message"]), "code": str(error["code"])}
        return [*translator.close(), failed | usage]


def _usage(usage: Any) -> JsonObject:
    if not is_object(usage):
        return {}
    counts = {"inputTokens": usage.get("input_tokens"), "outputTokens": usage.get("output_tokens")}
    counts["cachedInputTokens"] = usage.get("cached_tokens")
    usage_counts = {name: count for name, count in counts.items() if isinstance(count, int)}
    return {"usage": [usage_counts]} if usage_counts else {}

"""The interrupts of AG-UI: what a run waits for, by ids that survive a restart, and the answers to them.

The id of an interrupt names the run, the call and what was shown of it: it answers that call and no other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..app.idea import Idea
from ..errors import IdeaError, SchemaError
from ..protocol.approvals import Pending
from ..protocol.call import Call
from ..protocol.declaration import parse_tool
from ..protocol.elsewhere import ELSEWHERE
from ..runs.handle import Run
from ..runs.held import RunCarrier
from ..schema.json import Json, JsonObject, decoded, encode, is_object
from .desk import Desk
from .refusals import Refusal

_GATE = "gate"
_ANSWER: JsonObject = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "reason": {"type": "string", "description": "Why it is denied."},
        "parameters": {"type": "object", "description": "What takes the place of the call's own parameters."},
    },
    "required": ["approved"],
}


@dataclass(frozen=True, slots=True)
class Interrupt:
    """An interrupt that is open: a call that waits at a place, or a gate."""

    place: str = ""
    gate: str = ""
    about: Pending | None = None

    def to_dict(self, name: str, tool_call: str) -> JsonObject:
        """The interrupt as AG-UI has it; `tool_call` is the id of the call."""
        if self.about is None:
            interrupt: JsonObject = {"id": name, "reason": "value", "message": f"A value is needed at {self.gate}"}
            return {**interrupt, "responseSchema": {"description": "The value."}}
        call = self.about.call
        parameters = Call.of(call).parameters
        interrupt = {"id": name, "reason": "tool_call", "message": f"{call.get('_tool')} {encode(parameters)}"}
        interrupt |= {"toolCallId": tool_call, "responseSchema": _ANSWER}
        about: JsonObject = {"call": dict(call), "context": list(self.about.crossing), "place": self.place}
        return {**interrupt, "metadata": {"actum": about}}


@dataclass(frozen=True, slots=True)
class InterruptAnswer:
    """The answer to an interrupt."""

    to: Interrupt
    approved: bool
    reason: str = ""
    parameters: JsonObject | None = None
    value: Any = True

    async def give(self, desk: Desk, run: Run) -> None:
        """Hand the answer to the run; a call that was decided on meanwhile is left as it is."""
        if self.to.gate:
            if self.approved:
                await run.signal(self.to.gate, self.value)
            return
        assert self.to.about is not None
        ruling = "approve" if self.approved else "deny"
        try:
            await desk.decide(
                run,
                self.to.place,
                ruling,
                reason=self.reason,
                parameters=self.parameters,
                call=self.to.about.call,
                by=run.row.tenant,
            )
        except Refusal as refusal:
            if refusal.code != "not_waiting":
                raise


def answer_to(to: Interrupt, entry: Mapping[str, Any]) -> InterruptAnswer:
    """The answer to an interrupt.

    Raises:
        Refusal: the entry isn't an answer.
    """
    payload = entry.get("payload")
    if entry["status"] == "cancelled":
        return InterruptAnswer(to, approved=False, reason="it was given up")
    if to.gate:
        return InterruptAnswer(to, approved=True, value=True if payload is None else payload)
    match payload:
        case bool():
            return InterruptAnswer(to, approved=payload)
        case {"approved": bool(approved), **rest}:
            reason, parameters = rest.get("reason", ""), rest.get("parameters")
            if isinstance(reason, str) and (parameters is None or is_object(parameters)):
                return InterruptAnswer(to, approved=approved, reason=reason, parameters=parameters)
        case _:
            pass
    raise Refusal(422, "interrupt", "an approval is answered by true, false, or by {approved, reason?, parameters?}")


@dataclass(frozen=True, slots=True)
class OpenInterrupts:
    """The interrupts and calls that a run waits for."""

    interrupts: Mapping[str, Interrupt] = field(default_factory=dict[str, Interrupt])
    """Decisions and values, by the ids of the interrupts."""
    page: Mapping[str, Pending] = field(default_factory=dict[str, Pending])
    """The calls that the page makes, by their places."""

    def __bool__(self) -> bool:
        return bool(self.interrupts or self.page)


async def waiting_of(run: Run) -> OpenInterrupts:
    """The open interrupts of a run, as it is now."""
    row = await run.refresh()
    if row.state != "waiting":
        return OpenInterrupts()
    pending = await run.pending()
    interrupts = {_id_of(run, item): Interrupt(place=item.of, about=item) for item in pending if not item.wants_result}
    interrupts |= {f"{run.id}#{_GATE}#{gate}": Interrupt(gate=gate) for gate in row.gates}
    return OpenInterrupts(interrupts, {item.of: item for item in pending if item.wants_result})


def _id_of(run: Run, item: Pending) -> str:
    shown = encode([item.call, list(item.crossing)], sort_keys=True).encode(errors="replace")
    return f"{run.id}#{hashlib.sha256(shown).hexdigest()[:16]}#{item.of}"


def page_tools(tools: Sequence[Mapping[str, Any]], idea: Idea, carrier: RunCarrier) -> list[JsonObject]:
    """The tools that a page brings, as a message; no message if it brings none.

    Raises:
        Refusal: a tool can't be offered, or its name is taken: a page may add tools, but not replace any.
    """
    if not tools:
        return []
    taken, prefix = carrier.taken_names(idea)
    offered: JsonObject = {}
    for tool in tools:
        name = str(tool["name"])
        takes: Any = tool.get("parameters") or {"type": "object"}
        parameters: Any = takes.get("properties", {}) if is_object(takes) else None
        if name in taken or name in offered or name.startswith(prefix):
            raise Refusal(422, "tools", f"a tool {name[:60]!r} exists already")
        if not is_object(parameters) or any(key.startswith("_") for key in (*takes, *parameters)):
            raise Refusal(422, "tools", f"the parameters of {name[:60]!r} are not the schema of an object")
        schema: JsonObject = {**takes, "properties": {**parameters, "_output": {}}}
        schema |= {"description": str(tool["description"]), "_activity": {"const": ELSEWHERE}}
        try:
            parse_tool(schema, name)
        except SchemaError as error:
            raise Refusal(422, "tools", error.message) from None
        offered[name] = schema
    return [{"type": "tool", "tool": offered}]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResult:
    """The result of a call of a page's tool: the run, the place of the call, and its value or error."""

    run: str
    place: str
    value: Json = None
    error: str = ""

    async def give(self, run: Run) -> None:
        """Hand the result to the run, unless the call has got one meanwhile."""
        try:
            if self.error:
                await run.decide(self.place, "deny", reason=self.error)
            else:
                await run.give(self.place, self.value)
        except IdeaError:
            pass


def results_in(messages: Sequence[Mapping[str, Any]]) -> Iterable[PageResult]:
    """The results at the end of the messages, after everything else."""
    for message in reversed(messages):
        if message.get("role") != "tool":
            return
        run, _, place = str(message.get("toolCallId", "")).rpartition(":")
        if run and place:
            error = message.get("error")
            yield PageResult(run=run, place=place, value=_value(message.get("content")), error=str(error or ""))


def _value(content: Any) -> Json:
    """The value of a result: parsed if it is JSON, else its text."""
    return decoded(content, content) if isinstance(content, str) else content

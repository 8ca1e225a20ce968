"""The interrupts of AG-UI: what a run waits for, by ids that hold after a restart, and what they are answered with.

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
            told: JsonObject = {"id": name, "reason": "value", "message": f"A value is needed at {self.gate}"}
            return {**told, "responseSchema": {"description": "The value."}}
        call = self.about.call
        parameters = {key: value for key, value in call.items() if not key.startswith("_")}
        told = {"id": name, "reason": "tool_call", "message": f"{call.get('_tool')} {encode(parameters)}"}
        told |= {"toolCallId": tool_call, "responseSchema": _ANSWER}
        about: JsonObject = {"call": dict(call), "context": list(self.about.crossing), "place": self.place}
        return {**told, "metadata": {"actum": about}}


@dataclass(frozen=True, slots=True)
class InterruptAnswer:
    """What an interrupt was answered with."""

    to: Interrupt
    approved: bool
    reason: str = ""
    parameters: JsonObject | None = None
    value: Any = True

    async def give(self, desk: Desk, run: Run) -> None:
        """Have the run go on with it; one that was decided on meanwhile is left as it is."""
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
    """What an interrupt was answered with.

    Raises:
        Refusal: that isn't an answer.
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
    """What a run waits for."""

    interrupts: Mapping[str, Interrupt] = field(default_factory=dict[str, Interrupt])
    """Decisions and values, by the ids of the interrupts."""
    page: Mapping[str, Pending] = field(default_factory=dict[str, Pending])
    """The calls that the page makes, by their places."""

    def __bool__(self) -> bool:
        return bool(self.interrupts or self.page)


async def waiting_of(run: Run) -> OpenInterrupts:
    """What a run waits for now."""
    row = await run.refresh()
    if row.state != "waiting":
        return OpenInterrupts()
    pending = await run.pending()
    found = {_name(run, one): Interrupt(place=one.of, about=one) for one in pending if not one.wants_result}
    gates = [one for one in row.waiting if not one.startswith("approval ")]
    found |= {f"{run.id}#{_GATE}#{gate}": Interrupt(gate=gate) for gate in gates}
    return OpenInterrupts(found, {one.of: one for one in pending if one.wants_result})


def _name(run: Run, one: Pending) -> str:
    shown = hashlib.sha256(encode([one.call, list(one.crossing)], sort_keys=True).encode(errors="replace")).hexdigest()
    return f"{run.id}#{shown[:16]}#{one.of}"


def page_tools(given: Sequence[Mapping[str, Any]], idea: Idea, carrier: RunCarrier) -> list[JsonObject]:
    """The tools that a page brings, as a message; none where it brings none.

    Raises:
        Refusal: one can't be offered, or whoever carries the Idea out has one of its name: a page may add tools, and
            not take the place of any.
    """
    if not given:
        return []
    own, begun = carrier.taken_names(idea)
    offered: JsonObject = {}
    for one in given:
        name = str(one["name"])
        takes: Any = one.get("parameters") or {"type": "object"}
        parameters: Any = takes.get("properties", {}) if is_object(takes) else None
        if name in own or name in offered or name.startswith(begun):
            raise Refusal(422, "tools", f"a tool {name[:60]!r} exists already")
        if not is_object(parameters) or any(key.startswith("_") for key in (*takes, *parameters)):
            raise Refusal(422, "tools", f"the parameters of {name[:60]!r} are not the schema of an object")
        schema: JsonObject = {**takes, "properties": {**parameters, "_output": {}}}
        schema |= {"description": str(one["description"]), "_activity": {"const": ELSEWHERE}}
        try:
            parse_tool(schema, name)
        except SchemaError as error:
            raise Refusal(422, "tools", error.message) from None
        offered[name] = schema
    return [{"type": "tool", "tool": offered}]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResult:
    """What a call of a page's tool has come to: the run and the place in it, and a value or why it has failed."""

    run: str
    place: str
    value: Json = None
    error: str = ""

    async def give(self, run: Run) -> None:
        """Have the run go on with it; one that was given meanwhile is left as it is."""
        try:
            if self.error:
                await run.decide(self.place, "deny", reason=self.error)
            else:
                await run.give(self.place, self.value)
        except IdeaError:
            pass


def results_in(messages: Sequence[Mapping[str, Any]]) -> Iterable[PageResult]:
    """The results that stand behind everything else that was said."""
    for message in reversed(messages):
        if message.get("role") != "tool":
            return
        run, _, place = str(message.get("toolCallId", "")).rpartition(":")
        if run and place:
            error = message.get("error")
            yield PageResult(run=run, place=place, value=_value(message.get("content")), error=str(error or ""))


def _value(content: Any) -> Json:
    """A result as a page sends it: as JSON where it can be read as such, else as text."""
    return decoded(content, content) if isinstance(content, str) else content

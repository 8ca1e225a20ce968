"""The tools of a page: offered to a run as calls that it makes itself, and what it says that they came to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..app.idea import Idea
from ..errors import IdeaError, SchemaError
from ..protocol.declaration import parse_tool
from ..protocol.elsewhere import ELSEWHERE
from ..runs.handle import Run
from ..runs.held import RunCarrier
from ..schema.json import Json, JsonObject, NotJson, decode, is_object
from .refusals import Refusal


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
            raise Refusal(422, "tools", f"the parameters of {name[:60]!r} are no schema of an object")
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
    if not isinstance(content, str):
        return content
    try:
        return decode(content)
    except NotJson:
        return content

"""What a call would be given of its context, and what not (S1-S6, D4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, cast

from ..app.agent import Agent
from ..errors import UnknownTool
from ..execution.delegate import context_of
from ..execution.journal import Journal
from ..execution.resolver import SavedRequest
from ..generation.offer import offered
from ..protocol.call import Call
from ..protocol.context import Context
from ..protocol.scopes import scopes_of
from ..protocol.tool import ANONYMOUS, Tool
from ..schema.json import JsonObject, encode
from .failing import CommandError
from .lines import printable


async def isolation_of(agent: Agent, context: Context, name: str, instance: str | None) -> str:
    """What a call of the tool would see, as text: for the first such call of a plan, else for any.

    Raises:
        CommandError: there is no such tool or instance.
        DelegateError: its delegate can't be had.
    """
    toolset = offered(context, agent.tools, agent.config.tools)
    try:
        tool = toolset.find(name)
    except UnknownTool as error:
        raise CommandError(error.message) from error
    if instance is not None and instance not in context.instances:
        raise CommandError(f"there is no instance {instance!r}; there are: {', '.join(context.instances) or 'none'}")
    call = _planned(context, tool, instance)
    scopes = _scopes(tool, call)
    crossing = Journal(context).scoped(scopes, instance)
    lines = [_headline(tool, call)]
    if tool.is_delegated and call.get("_delegate") != ANONYMOUS:
        lines += await _delegate(agent, tool, call, crossing)
    lines += ["sees of this context", *_messages(crossing)]
    lines += ["does not see", *(f"  {one}" for one in _hidden(context, crossing))]
    return "\n".join(lines)


def _planned(context: Context, tool: Tool, instance: str | None) -> Call:
    """A call of the tool that stands in a plan, with what the tool fixes."""
    fixed = {key: schema["const"] for key, schema in tool.meta.items() if "const" in schema}
    for message in context:
        for call in cast("list[JsonObject]", message["plan"]) if message.get("type") == "plan" else ():
            if call.get("_tool") == tool.name and call.get("_instance") == instance:
                return Call({**fixed, **call})
    return Call({"_tool": tool.name, **fixed})


def _scopes(tool: Tool, call: Call) -> list[str]:
    """The scopes of the call; all that a model could pick, where nothing has been picked yet."""
    if tool.is_fixed("_scopes") or "_scopes" in call:
        return scopes_of(tool, call)
    items: Any = tool.meta.get("_scopes", {}).get("items")
    return [str(one) for one in cast("JsonObject", items).get("enum", [])] if isinstance(items, dict) else []


def _headline(tool: Tool, call: Call) -> str:
    if not tool.is_delegated:
        return f"a call of {tool.name}"
    return f"a call of {tool.name}, carried out by the delegate {call.get('_delegate', 'that the model chooses')}"


async def _delegate(agent: Agent, tool: Tool, call: Call, crossing: Context) -> Iterator[str]:
    if "_delegate" not in call:
        return iter(())
    found: SavedRequest = await agent.resolver(crossing.data_kinds)(str(call["_delegate"]), tool)
    own = context_of(found.context, (), call)
    return iter(["sees of its own", *_messages(own)])


def _messages(messages: Iterable[JsonObject]) -> Iterator[str]:
    listed = [f"  {printable(encode(message))}" for message in messages]
    yield from listed or ["  nothing"]


def _hidden(context: Context, crossing: Context) -> Iterator[str]:
    """What stands in a context and doesn't cross, by kind and by message type."""
    there, crossed = context.data, crossing.data
    for kind, value in there.items():
        rest = {
            key: member for key, member in _members(value).items() if _members(crossed.get(kind)).get(key) != member
        }
        if kind not in crossed or rest:
            names = ", ".join(map(printable, rest)) or "all of it"
            yield f"{printable(kind)}: {names}"
    types = Counter(str(message.get("type")) for message in context if context.kind_of(message) is None)
    types.subtract(str(message.get("type")) for message in crossing if crossing.kind_of(message) is None)
    for name, count in types.items():
        if count > 0:
            yield f"{name}: {count} message{'s' if count > 1 else ''}"
    yield "the other calls, their errors, and the registered tools"


def _members(value: Any) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}

"""What a call would be given of its context, and what would stay behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..app.agent import Agent, assembled
from ..errors import InvalidParameters
from ..execution.delegation.by_run import handed
from ..execution.record.journal import Journal
from ..generation.offer import offered
from ..protocol.call import Call
from ..protocol.context import Context
from ..protocol.scopes import scopes_of
from ..protocol.tool import ANONYMOUS, Tool
from ..schema.json import JsonObject, is_list, is_object
from ..sources.actum_server import SCHEMES


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """What does not cross of one data kind or message type.

    `names` are the members of the kind that stay behind, none if all of them do. `count` is the number of messages
    that do, for a type that holds no data.
    """

    kind: str
    names: tuple[str, ...] = ()
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """What a call of `tool` sees: `crossing` are the messages of the context that it is given.

    `delegate` carries it out; it is `""` if the model chooses, None if the call is not delegated. `own` are the
    messages of the delegate itself, None if they are not known before the call.
    """

    tool: str
    crossing: tuple[JsonObject, ...]
    hidden: tuple[Hidden, ...]
    delegate: str | None = None
    own: tuple[JsonObject, ...] | None = None


async def isolation(agent: Agent, context: Context, tool: str, instance: str | None = None) -> Isolation:
    """What a call of the tool would see: the first such call of a plan in the context, else any call.

    Args:
        agent: whose tools and delegates count.
        context: that of the run.
        tool: its name.
        instance: the instance that makes it; None for what is shared.

    Raises:
        UnknownTool: no such tool is offered.
        InvalidParameters: there is no such instance.
        DelegateError: its delegate can't be loaded.
    """
    toolset = offered(context, agent.tools, agent.config.tools)
    declared = toolset.find(tool)
    if instance is not None and instance not in context.instances:
        names = ", ".join(context.instances) or "none"
        raise InvalidParameters(f"there is no instance {instance!r}; there are: {names}", tool=tool)
    call = _planned(context, declared, instance)
    crossing = Journal(context).crossing.scoped(_scopes(declared, call), instance, instance_of=toolset.instance_of)
    return Isolation(
        tool=declared.name,
        crossing=tuple(crossing),
        hidden=tuple(_hidden(context, crossing)),
        delegate=str(call.get("_delegate", "")) if declared.is_delegated else None,
        own=await _delegate_messages(agent, declared, call, crossing),
    )


def _planned(context: Context, tool: Tool, instance: str | None) -> Call:
    """The first call of the tool in a plan, with what the tool fixes."""
    for message in context:
        for call in message["plan"] if message.get("type") == "plan" else ():
            if call.get("_tool") == tool.name and call.get("_instance") == instance:
                return Call({**tool.constants, **call})
    return Call({"_tool": tool.name, **tool.constants})


def _scopes(tool: Tool, call: Call) -> list[str]:
    """The scopes of the call; all that a model could choose, if none are chosen yet."""
    if tool.is_fixed("_scopes") or "_scopes" in call:
        return scopes_of(tool, call)
    return declared_scopes(tool)


def declared_scopes(tool: Tool) -> list[str]:
    """The scopes that a tool fixes, or offers the model to choose from (S2)."""
    schema = tool.meta.get("_scopes", {})
    items: Any = schema.get("items")
    choices: Any = items.get("enum") if is_object(items) else None
    lists: Any = [tool.fixed("_scopes")] if tool.is_fixed("_scopes") else schema.get("enum", [])
    return [str(scope) for scopes in ([choices] if is_list(choices) else lists) for scope in scopes]


async def _delegate_messages(agent: Agent, tool: Tool, call: Call, crossing: Context) -> tuple[JsonObject, ...] | None:
    reference = str(call.get("_delegate") or ANONYMOUS)
    if not tool.is_delegated or reference == ANONYMOUS or reference.startswith(SCHEMES):
        return None
    request = await assembled(agent).resolver(crossing.data_kinds)(reference, tool)
    crosses = {id(message) for message in crossing}
    return tuple(message for message in handed(request.context, crossing, call) if id(message) not in crosses)


def _hidden(context: Context, crossing: Context) -> Iterator[Hidden]:
    """What of a context does not cross, by kind and by message type."""
    values, crossed = context.data, crossing.data
    for kind, value in values.items():
        visible = _members(crossed.get(kind))
        rest = {key: member for key, member in _members(value).items() if visible.get(key) != member}
        if kind not in crossed or rest:
            yield Hidden(kind=kind, names=tuple(rest))
    types = Counter(str(message.get("type")) for message in context if context.kind_of(message) is None)
    types.subtract(str(message.get("type")) for message in crossing if crossing.kind_of(message) is None)
    for name, count in types.items():
        if count > 0:
            yield Hidden(kind=name, count=count)


def _members(value: Any) -> JsonObject:
    return value if is_object(value) else {}

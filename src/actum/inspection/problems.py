"""What is wrong with the parts of one Idea's JSON, each with its path."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from pathlib import Path
from typing import Any, TypeVar

from ..app.coercion import blocking
from ..app.loading import Code, config_of
from ..dataflow.expression import MISSING
from ..dataflow.reference import Reference, overlaps
from ..errors import ActumError, InvalidParameters, MessageError, ScopeDenied
from ..execution.calls.admission import announced_writes
from ..execution.calls.diagnosis import hint
from ..execution.delegation.caller import Linking
from ..execution.record.journal import Journal
from ..execution.script import Script
from ..generation.offer import Toolset, offered
from ..ideas.file import malformed, read_idea
from ..messages import KINDS
from ..messages.role import RAW
from ..models.hosts import HOSTS
from ..models.port import Wire
from ..models.providers import provider_of, wire_of
from ..protocol.call import Call
from ..protocol.config import SETTINGS
from ..protocol.context import Context
from ..protocol.declaration import tool_names, tools_of, with_added
from ..protocol.message import DATA_KINDS, RESULT, check_message
from ..protocol.registry import Catalog
from ..protocol.scopes import notes_of, scope_path
from ..protocol.tool import Tool, delegates_of
from ..schema.gathering import links_of, opened
from ..schema.json import JsonObject, are_texts, decoded, is_list, is_object
from ..schema.quoting import instead
from ..schema.type_reading import type_of
from ..schema.types import Misfit, member
from ..schema.validator import Validator
from .isolation import declared_scopes
from .plan_problems import JsonPath, Premises, plan_problems

T = TypeVar("T")


@dataclass(slots=True)
class Findings:
    """What is wrong with one Idea; `context`, `schema` and `toolset` are set where they are sound."""

    linking: Linking
    code: Code
    roots: Sequence[Path]
    file: Path
    incoming: Sequence[Reference] | None = None
    """What a caller may bring, for a delegate; None for an Idea that is run by its user."""
    grants: Collection[str] = ()
    """The names of Activities that the caller of a delegate grants."""
    problems: list[tuple[ActumError, JsonPath]] = field(default_factory=list[Any])
    notes: list[tuple[str, JsonPath]] = field(default_factory=list[Any])
    """What is right and may surprise."""
    loaded: list[Catalog] = field(default_factory=list[Catalog])
    """What the modules that it names register."""
    context: Context | None = None
    schema: Any = None
    toolset: Toolset | None = None
    scopes: set[tuple[str, str]] = field(default_factory=set[Any])
    """All scopes that calls may have, by the names of their tools: those that these say, and those that plans add."""

    def add(self, message: str, *path: str | int) -> None:
        """Take down that something is not what it should be."""
        self.problems.append((InvalidParameters(message), path))

    def attempt(self, act: Callable[[], T], *path: str | int) -> T | None:
        """Do something and note its error; None if it failed."""
        try:
            return act()
        except ActumError as error:
            self.problems.append((error, (*path, *_inner(error))))
            return None

    def closed(self, schema: Any) -> Any:
        """A schema that was judged, referring to no other Idea."""
        Validator(opened(schema))
        return blocking(self.linking.schema(schema, str(self.file.absolute()))) if links_of(schema) else schema


def inspect(value: JsonObject, found: Findings) -> None:
    """Look at all parts of an Idea's JSON."""
    for key, words in malformed(value):
        found.add(words, key)
    config: Any = value.get("config", {})
    if is_object(config):
        _inspect_config(config, found)
    if "schema" in value:
        found.schema = found.attempt(lambda: found.closed(value["schema"]), "schema")
    messages: Any = value.get("context")
    if not is_list(messages):
        return
    _inspect_context(messages, config.get("tools") if is_object(config) else None, found)
    _inspect_plans(value.get("solution"), found)


def _inspect_config(config: JsonObject, found: Findings) -> None:
    found.attempt(lambda: config_of(config, found.file.name), "config")
    for key in ("model", "reader"):  # keys and packages are not the Idea's, but this machine's
        if isinstance(named := config.get(key), str) and named:
            host = found.attempt(partial(provider_of, named), "config", key)
            if host is not None and key == "model":
                _inspect_settings(config.get("settings"), named, wire_of(host), found)
    named = config.get("activities", [])
    for index, name in enumerate(named if is_list(named) else [named]):
        take = partial(found.code.take, str(name), found.file.parent, found.roots)
        if (own := found.attempt(take, "config", "activities", index)) is not None:
            found.loaded.append(own)
            for tool in (one for one in own if not one.description):
                words = f"the tool {tool.name!r} has no description: give its function a docstring"
                found.notes.append((words, ("config", "activities", index)))
    if found.incoming is not None:
        return  # a delegate's servers are not started
    servers = config.get("servers", [])
    for index, name in enumerate(servers if is_list(servers) else [servers]):
        take = partial(found.code.take_servers, str(name), found.file.parent, found.roots)
        found.attempt(take, "config", "servers", index)


def _inspect_settings(settings: Any, model: str, wire: Wire, found: Findings) -> None:
    """Look at what a model's provider makes of the settings: which it is not sent, which it doesn't take together."""
    said: Sequence[str] = [name for name in settings if name in SETTINGS] if is_object(settings) else ()
    for name in wire.ignored(said):
        found.notes.append((f"{model} isn't sent the setting {name!r}", ("config", "settings", name)))
    for one, other in wire.apart:
        if {one, other} <= set(said):
            found.add(f"{model} takes {one!r} or {other!r}, not both", "config", "settings", other)


def settings_table() -> dict[str, dict[str, str | None]]:
    """What each setting is called by the providers of each wire, None where it isn't sent; by setting, then wire."""
    wires = {host.wire: wire_of(host) for host in HOSTS.values()}
    everywhere = {"timeout": "for the connection"}
    return {
        name: {kind: wire.sends.get(name, everywhere.get(name)) for kind, wire in wires.items()} for name in SETTINGS
    }


def _inspect_context(messages: list[Any], names: Any, found: Findings) -> None:
    """Look at each message, and at the tools that they bring along; `names` are the registered tools on offer."""
    checked = [_inspect_message(message, index, found) for index, message in enumerate(messages)]
    sound = [message for message in checked if message is not None]
    if len(sound) < len(messages):
        return
    context = Context.checked(sound, origin=str(found.file.absolute()))
    if found.attempt(context.memory, "context") is None:
        return  # what calls read and write can't be told
    is_sound = are_texts(names)  # else it is a problem of the config
    own = names if is_sound else None if found.incoming is None else []
    found.context = context
    registry = found.code.registry
    if found.incoming is not None:
        names = [name for message in sound if message.get("type") == "tool" for name in tool_names(message)]
        registry = registry.joined(found.loaded, {name: True for name in names if name not in found.grants})
    found.toolset = found.attempt(lambda: offered(context, registry, own), "context")
    if found.toolset is not None:
        found.notes += [(words, _defined_at(sound, tool)) for tool, words in served_otherwise(found.toolset, registry)]


def _defined_at(messages: Sequence[JsonObject], tool: Tool) -> JsonPath:
    """Where a tool was defined last; nowhere in the Idea for a registered one."""
    for index, message in reversed([*enumerate(messages)]):
        if message.get("type") == "tool" and tool.name in tool_names(message):
            return ("context", index, "tool", *((tool.name,) if tool.name in message["tool"] else ()))
    return ()


_PASSED_OVER = (
    "tool {tool!r}: its delegate carries it out, not the Activity of its name: say '_activity': {activity!r} to run "
    "that in the delegate's place, or '' for none"
)


def served_otherwise(toolset: Toolset, registry: Catalog) -> Iterator[tuple[Tool, str]]:
    """The tools that aren't carried out by the Activity of their name, though there is one, and why (D13)."""
    for tool in toolset.tools.values():
        if passed := next(filter(None, (registry.passed_over(tool, one) for one in delegates_of(tool))), ""):
            yield tool, _PASSED_OVER.format(tool=tool.name, activity=passed)
        elif registry.keeps_from(tool):
            yield (
                tool,
                f"tool {tool.name!r}: the Activity of its name doesn't serve a delegate's own tool: let it say "
                "'_activity', or the Idea name the module in config.activities",
            )


def _inspect_message(message: Any, index: int, found: Findings) -> JsonObject | None:
    checked = found.attempt(lambda: check_message(message, index, (), DATA_KINDS), "context", index)
    if checked is None:
        return None
    if checked.get("type") == "tool":
        tools: JsonObject = checked["tool"]
        for name in tools:
            path = ("context", index, "tool", name)
            tools[name] = found.attempt(lambda name=name: found.closed(tools[name]), *path) or {}
        found.attempt(lambda: list(tools_of(checked, index)), "context", index, "tool")
    if is_object(checked.get("schema")):
        checked["schema"] = found.attempt(lambda: found.closed(checked["schema"]), "context", index, "schema") or {}
    return checked


def _inspect_plans(solution: Any, found: Findings) -> None:
    """Look at the calls of the plans in the context, and of a saved solution."""
    if found.context is None or found.toolset is None:
        return
    around = Premises(context=found.context, toolset=found.toolset, incoming=found.incoming)
    for calls, output, path, last in _plans(found.context, solution):
        if not is_list(calls):
            found.add("'calls' must be a list of calls", *path)
            continue
        found.notes += [(words, (*path, index)) for index, words in _passed_over(calls, found.toolset)]
        is_solution = path[0] == "solution"
        for error, index in plan_problems(calls, output, replace(around, may_be_delegate=is_solution)):
            found.problems.append((error, (*path, index) if index is not None else last))
    _inspect_scopes(solution, around, found)


def _passed_over(calls: Sequence[Any], toolset: Toolset) -> Iterator[tuple[int, str]]:
    """The calls that name a delegate which their tool doesn't, where an Activity has the tool's name (S9, D13)."""
    for index, call in enumerate(calls):
        tool = toolset.tools.get(str(call.get("_tool"))) if is_object(call) else None
        if tool is None or toolset.registry is None or tool.is_delegated:
            continue
        try:
            own = Call(call)
            passed = toolset.registry.passed_over(with_added(tool, own), str(own.get("_delegate")))
        except ActumError:
            continue  # told as a problem
        if passed:
            yield index, _PASSED_OVER.format(tool=tool.name, activity=passed)


def _inspect_scopes(solution: Any, around: Premises, found: Findings) -> None:
    """Look for scopes that let nothing through, whatever happens: those of tools, and those that planned calls add."""
    tools = around.toolset.tools.values()
    told = [(Call(_tool=one.name, _scopes=declared_scopes(one)), _defined_at(around.context, one)) for one in tools]
    for calls, _, path, _ in _plans(around.context, solution):
        planned = enumerate(calls if is_list(calls) else ())
        told += [(Call.of(one), (*path, index)) for index, one in planned if is_object(one)]
    may_write = [path for call, _ in told for path in announced_writes(call, around.toolset)]
    journal = Journal(around.context)
    for call, at in told:
        for scope in map(str, call["_scopes"] if is_list(call.get("_scopes")) else ()):
            is_new = (call.tool, scope) not in found.scopes
            found.scopes.add((call.tool, scope))
            if is_new and (why := _lets_nothing_through(scope, may_write, around, journal)) is not None:
                found.problems.append((ScopeDenied(why, tool=call.tool, path="_scopes"), at))


def _lets_nothing_through(scope: str, may_write: Sequence[Reference], around: Premises, journal: Journal) -> str | None:
    """Why what a scope names can't exist, with the nearest name; None where it may (T17)."""
    named, held = scope_path(scope), journal.folding.memory
    if around.may_bring(named) or any(overlaps(one, named) for one in may_write):
        return None
    known = {*around.context.data_kinds, RESULT, *held.kinds(), *(one.kind for one in may_write)}
    if not named.path:
        known |= KINDS.keys() - {RAW}
    if named.kind not in known:
        part = " to take a part of" if named.path else ""
        return f"the context has no {named.kind!r}{part}; {instead(named.kind, sorted(known))}"
    if not named.path or named.kind not in held or any(map(_may_write_anywhere, around.toolset.tools.values())):
        return None
    is_there = any(held.read(named, one) is not MISSING for one in (None, *around.context.instances))
    if is_there or _is_declared(named, journal):
        return None
    return f"nothing fills {named}; {hint(named, Script(), None, journal)}"


def _may_write_anywhere(tool: Tool) -> bool:
    """Whether a model may choose where a call's result is written (T8)."""
    path = tool.meta.get("_outputPath", {})
    return path.keys().isdisjoint({"const", "enum"}) and (bool(path) or tool.output is not None or tool.is_delegated)


def _is_declared(named: Reference, journal: Journal) -> bool:
    """Whether the schema of a data kind has what a path names."""
    schema = notes_of(journal.messages, named.kind, journal.data_kinds).get("schema")
    try:
        reduce(member, named.path, type_of(schema))
    except Misfit:
        return False
    return schema is not None


def _plans(context: Context, solution: Any) -> Iterator[tuple[Any, Any, JsonPath, JsonPath]]:
    """The calls and the output of each plan, with the paths of both."""
    for index, message in enumerate(context):
        if message.get("type") == "plan":
            path: JsonPath = ("context", index)
            yield message["plan"], message.get("output"), (*path, "plan"), (*path, "output")
    if is_list(solution):
        yield solution, None, ("solution",), ("solution",)
    elif is_object(solution):
        yield solution.get("calls") or [], solution.get("output"), ("solution", "calls"), ("solution", "output")


def _inner(error: ActumError) -> JsonPath:
    """The path that an error names inside what was judged; empty if it names none."""
    if not error.path or isinstance(error, MessageError):
        return ()
    return tuple(part for part in error.path.replace("[", ".").replace("]", "").split(".") if part)


def parsed(text: str, name: str) -> JsonObject:
    """The JSON of an Idea file.

    Raises:
        IdeaError: it is not a JSON object; the message names line and column.
    """
    if name.endswith((".yaml", ".yml")):
        return read_idea(text, name).to_dict()
    value = decoded(text.removeprefix("\ufeff"), None)
    return value if is_object(value) else read_idea(text, name).to_dict()

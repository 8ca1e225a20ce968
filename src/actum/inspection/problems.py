"""Finds what is wrong with the parts of one Idea's JSON, each with its path."""

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
from ..schema.gathering import links_of, without_links
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
    """What was found about one Idea; `context`, `schema` and `toolset` are set if they are sound."""

    linking: Linking
    code: Code
    roots: Sequence[Path]
    file: Path
    incoming: Sequence[Reference] | None = None
    """What the caller of a delegate may bring; None for an Idea that its user runs."""
    grants: Collection[str] = ()
    """The names of Activities that the caller of a delegate grants."""
    problems: list[tuple[ActumError, JsonPath]] = field(default_factory=list[Any])
    notes: list[tuple[str, JsonPath]] = field(default_factory=list[Any])
    """What is correct but may surprise."""
    loaded: list[Catalog] = field(default_factory=list[Catalog])
    """What the modules that it names register."""
    context: Context | None = None
    schema: Any = None
    toolset: Toolset | None = None
    scopes: set[tuple[str, str]] = field(default_factory=set[Any])
    """All scopes that calls may have, with the names of their tools: those of the tools, and those that plans add."""

    def add(self, message: str, *path: str | int) -> None:
        """Note a problem."""
        self.problems.append((InvalidParameters(message), path))

    def attempt(self, act: Callable[[], T], *path: str | int) -> T | None:
        """Call `act` and note its error; returns None if it failed."""
        try:
            return act()
        except ActumError as error:
            self.problems.append((error, (*path, *_inner_path(error))))
            return None

    def closed(self, schema: Any) -> Any:
        """A checked schema without references to other Ideas."""
        Validator(without_links(schema))
        return blocking(self.linking.schema(schema, str(self.file.absolute()))) if links_of(schema) else schema


def inspect(value: JsonObject, findings: Findings) -> None:
    """Check all parts of an Idea's JSON."""
    for key, words in malformed(value):
        findings.add(words, key)
    config: Any = value.get("config", {})
    if is_object(config):
        _inspect_config(config, findings)
    if "schema" in value:
        findings.schema = findings.attempt(lambda: findings.closed(value["schema"]), "schema")
    messages: Any = value.get("context")
    if not is_list(messages):
        return
    _inspect_context(messages, config.get("tools") if is_object(config) else None, findings)
    _inspect_plans(value.get("solution"), findings)


def _inspect_config(config: JsonObject, findings: Findings) -> None:
    findings.attempt(lambda: config_of(config, findings.file.name), "config")
    for key in ("model", "reader"):  # API keys and packages aren't checked: they are this machine's
        if isinstance(model := config.get(key), str) and model:
            host = findings.attempt(partial(provider_of, model), "config", key)
            if host is not None and key == "model":
                _inspect_settings(config.get("settings"), model, wire_of(host), findings)
    modules = config.get("activities", [])
    for index, name in enumerate(modules if is_list(modules) else [modules]):
        take = partial(findings.code.take, str(name), findings.file.parent, findings.roots)
        if (registered := findings.attempt(take, "config", "activities", index)) is not None:
            findings.loaded.append(registered)
            for tool in (tool for tool in registered if not tool.description):
                words = f"the tool {tool.name!r} has no description: give its function a docstring"
                findings.notes.append((words, ("config", "activities", index)))
    if findings.incoming is not None:
        return  # a delegate's servers are not started
    servers = config.get("servers", [])
    for index, name in enumerate(servers if is_list(servers) else [servers]):
        take = partial(findings.code.take_servers, str(name), findings.file.parent, findings.roots)
        findings.attempt(take, "config", "servers", index)


def _inspect_settings(settings: Any, model: str, wire: Wire, findings: Findings) -> None:
    """Check the settings for a model's provider: which it isn't sent, and which it doesn't take together."""
    names: Sequence[str] = [name for name in settings if name in SETTINGS] if is_object(settings) else ()
    for name in wire.ignored(names):
        findings.notes.append((f"{model} isn't sent the setting {name!r}", ("config", "settings", name)))
    for first, second in wire.apart:
        if {first, second} <= set(names):
            findings.add(f"{model} takes {first!r} or {second!r}, not both", "config", "settings", second)


def settings_table() -> dict[str, dict[str, str | None]]:
    """What each setting is called on each wire, None if it isn't sent there; by setting, then by wire."""
    wires = {host.wire: wire_of(host) for host in HOSTS.values()}
    everywhere = {"timeout": "for the connection"}
    return {
        name: {kind: wire.sends.get(name, everywhere.get(name)) for kind, wire in wires.items()} for name in SETTINGS
    }


def _inspect_context(messages: list[Any], names: Any, findings: Findings) -> None:
    """Check each message and the tools that messages define; `names` are the registered tools on offer."""
    checked = [_inspect_message(message, index, findings) for index, message in enumerate(messages)]
    sound = [message for message in checked if message is not None]
    if len(sound) < len(messages):
        return
    context = Context.checked(sound, origin=str(findings.file.absolute()))
    if findings.attempt(context.memory, "context") is None:
        return  # without values, nothing is known of what calls read and write
    is_sound = are_texts(names)  # otherwise a problem of the config
    on_offer = names if is_sound else None if findings.incoming is None else []
    findings.context = context
    registry = findings.code.registry
    if findings.incoming is not None:
        names = [name for message in sound if message.get("type") == "tool" for name in tool_names(message)]
        registry = registry.joined(findings.loaded, {name: True for name in names if name not in findings.grants})
    findings.toolset = findings.attempt(lambda: offered(context, registry, on_offer), "context")
    if findings.toolset is not None:
        findings.notes += [
            (why, _defined_at(sound, tool)) for tool, why in served_otherwise(findings.toolset, registry)
        ]


def _defined_at(messages: Sequence[JsonObject], tool: Tool) -> JsonPath:
    """The path where a tool was defined last; empty for a registered one."""
    for index, message in reversed([*enumerate(messages)]):
        if message.get("type") == "tool" and tool.name in tool_names(message):
            return ("context", index, "tool", *((tool.name,) if tool.name in message["tool"] else ()))
    return ()


_PASSED_OVER = (
    "tool {tool!r}: its delegate carries it out, not the Activity of its name: say '_activity': {activity!r} to run "
    "that in the delegate's place, or '' for none"
)


def served_otherwise(toolset: Toolset, registry: Catalog) -> Iterator[tuple[Tool, str]]:
    """The tools that the Activity of their name doesn't carry out, and why (D13)."""
    for tool in toolset.tools.values():
        if activity := next(filter(None, (registry.passed_over(tool, name) for name in delegates_of(tool))), ""):
            yield tool, _PASSED_OVER.format(tool=tool.name, activity=activity)
        elif registry.keeps_from(tool):
            yield (
                tool,
                f"tool {tool.name!r}: the Activity of its name doesn't serve a delegate's own tool: let it say "
                "'_activity', or the Idea name the module in config.activities",
            )


def _inspect_message(message: Any, index: int, findings: Findings) -> JsonObject | None:
    checked = findings.attempt(lambda: check_message(message, index, (), DATA_KINDS), "context", index)
    if checked is None:
        return None
    if checked.get("type") == "tool":
        tools: JsonObject = checked["tool"]
        for name in tools:
            path = ("context", index, "tool", name)
            tools[name] = findings.attempt(lambda name=name: findings.closed(tools[name]), *path) or {}
        findings.attempt(lambda: list(tools_of(checked, index)), "context", index, "tool")
    if is_object(schema := checked.get("schema")):
        checked["schema"] = findings.attempt(lambda: findings.closed(schema), "context", index, "schema") or {}
    return checked


def _inspect_plans(solution: Any, findings: Findings) -> None:
    """Check the calls of the plans in the context and of a saved solution."""
    if findings.context is None or findings.toolset is None:
        return
    around = Premises(context=findings.context, toolset=findings.toolset, incoming=findings.incoming)
    for calls, output, path, last in _plans(findings.context, solution):
        if not is_list(calls):
            findings.add("'calls' must be a list of calls", *path)
            continue
        findings.notes += [(words, (*path, index)) for index, words in _passed_over(calls, findings.toolset)]
        is_solution = path[0] == "solution"
        for error, index in plan_problems(calls, output, replace(around, may_be_delegate=is_solution)):
            findings.problems.append((error, (*path, index) if index is not None else last))
    _inspect_scopes(solution, around, findings)


def _passed_over(calls: Sequence[Any], toolset: Toolset) -> Iterator[tuple[int, str]]:
    """The calls that name a delegate themselves although an Activity has their tool's name (S9, D13)."""
    for index, call in enumerate(calls):
        tool = toolset.tools.get(str(call.get("_tool"))) if is_object(call) else None
        if tool is None or toolset.registry is None or tool.is_delegated:
            continue
        try:
            own_call = Call(call)
            activity = toolset.registry.passed_over(with_added(tool, own_call), str(own_call.get("_delegate")))
        except ActumError:
            continue  # reported as a problem
        if activity:
            yield index, _PASSED_OVER.format(tool=tool.name, activity=activity)


def _inspect_scopes(solution: Any, around: Premises, findings: Findings) -> None:
    """Find scopes of tools and of planned calls that can never let anything through."""
    tools = around.toolset.tools.values()
    scoped = [(Call(_tool=it.name, _scopes=declared_scopes(it)), _defined_at(around.context, it)) for it in tools]
    for calls, _, path, _ in _plans(around.context, solution):
        planned = enumerate(calls if is_list(calls) else ())
        scoped += [(Call.of(call), (*path, index)) for index, call in planned if is_object(call)]
    may_write = [path for call, _ in scoped for path in announced_writes(call, around.toolset)]
    journal = Journal(around.context)
    for call, at in scoped:
        for scope in map(str, call["_scopes"] if is_list(call.get("_scopes")) else ()):
            is_new = (call.tool, scope) not in findings.scopes
            findings.scopes.add((call.tool, scope))
            if is_new and (why := _blocked_scope(scope, may_write, around, journal)) is not None:
                findings.problems.append((ScopeDenied(why, tool=call.tool, path="_scopes"), at))


def _blocked_scope(scope: str, may_write: Sequence[Reference], around: Premises, journal: Journal) -> str | None:
    """Why what a scope names can't exist, with the nearest name; None if it may (T17)."""
    target, memory = scope_path(scope), journal.folding.memory
    if around.may_bring(target) or any(overlaps(path, target) for path in may_write):
        return None
    kinds = {*around.context.data_kinds, RESULT, *memory.kinds(), *(path.kind for path in may_write)}
    if not target.path:
        kinds |= KINDS.keys() - {RAW}
    if target.kind not in kinds:
        part = " to take a part of" if target.path else ""
        return f"the context has no {target.kind!r}{part}; {instead(target.kind, sorted(kinds))}"
    if not target.path or target.kind not in memory or any(map(_may_write_anywhere, around.toolset.tools.values())):
        return None
    is_there = any(memory.read(target, instance) is not MISSING for instance in (None, *around.context.instances))
    if is_there or _is_declared(target, journal):
        return None
    return f"nothing fills {target}; {hint(target, Script(), None, journal)}"


def _may_write_anywhere(tool: Tool) -> bool:
    """Whether a model may choose where a call's result is written (T8)."""
    path = tool.meta.get("_outputPath", {})
    return path.keys().isdisjoint({"const", "enum"}) and (bool(path) or tool.output is not None or tool.is_delegated)


def _is_declared(target: Reference, journal: Journal) -> bool:
    """Whether the schema of a data kind declares what a path names."""
    schema = notes_of(journal.messages, target.kind, journal.data_kinds).get("schema")
    try:
        reduce(member, target.path, type_of(schema))
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


def _inner_path(error: ActumError) -> JsonPath:
    """The path that an error names inside the checked part; empty if it names none."""
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

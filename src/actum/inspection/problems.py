"""What is wrong with the parts of one Idea's JSON, each with its path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ..app.coercion import blocking
from ..app.loading import Code, config_of
from ..dataflow.reference import Reference
from ..errors import ActumError, InvalidParameters, MessageError
from ..execution.delegation.linking import Linking
from ..generation.offer import Toolset, offered
from ..ideas.file import read_idea
from ..models.providers import provider_of
from ..protocol.context import Context
from ..protocol.declaration import tools_of
from ..protocol.message import DATA_KINDS, check_message
from ..schema.json import JsonObject, NotJson, decode, is_list, is_object
from ..schema.links import links_of, opened
from ..schema.validator import Validator
from .plan_problems import JsonPath, Premises, plan_problems

_KEYS = ("meta", "config", "context", "schema", "solution")
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
    problems: list[tuple[ActumError, JsonPath]] = field(default_factory=list[Any])
    context: Context | None = None
    schema: Any = None
    toolset: Toolset | None = None

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
    for key in value:
        if key not in _KEYS and not key.startswith("$"):
            found.add(f"an Idea has no {key!r}; it has {', '.join(_KEYS)}", key)
    if not is_object(value.get("meta", {})):
        found.add("'meta' is an object", "meta")
    config: Any = value.get("config", {})
    if is_object(config):
        _inspect_config(config, found)
    else:
        found.add("'config' must be an object", "config")
    if "schema" in value:
        found.schema = found.attempt(lambda: found.closed(value["schema"]), "schema")
    messages: Any = value.get("context")
    if not is_list(messages):
        found.add("'context' must be a list of messages", "context")
        return
    _inspect_context(messages, config.get("tools") if is_object(config) else None, found)
    _inspect_plans(value.get("solution"), found)


def _inspect_config(config: JsonObject, found: Findings) -> None:
    found.attempt(lambda: config_of(config, found.file.name), "config")
    for key in ("model", "reader"):  # keys and packages are not the Idea's, but this machine's
        if isinstance(named := config.get(key), str) and named:
            found.attempt(partial(provider_of, named), "config", key)
    named = config.get("activities", [])
    for index, name in enumerate(named if is_list(named) else [named]):
        take = partial(found.code.take, str(name), found.file.parent, found.roots)
        found.attempt(take, "config", "activities", index)
    if found.incoming is not None:
        return  # a delegate's servers are not started
    servers = config.get("servers", [])
    for index, name in enumerate(servers if is_list(servers) else [servers]):
        take = partial(found.code.take_servers, str(name), found.file.parent, found.roots)
        found.attempt(take, "config", "servers", index)


def _inspect_context(messages: list[Any], names: Any, found: Findings) -> None:
    """Look at each message, and at the tools that they bring along; `names` are the registered tools on offer."""
    checked = [_inspect_message(message, index, found) for index, message in enumerate(messages)]
    sound = [message for message in checked if message is not None]
    if len(sound) < len(messages):
        return
    context = Context.checked(sound, origin=str(found.file.absolute()))
    if found.attempt(context.memory, "context") is None:
        return  # what calls read and write can't be told
    is_sound = is_list(names) and all(isinstance(name, str) for name in names)  # else it is a problem of the config
    own = names if is_sound else None if found.incoming is None else []
    found.context = context
    found.toolset = found.attempt(lambda: offered(context, found.code.registry, own), "context")


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
    if not (solution is None or is_object(solution) or is_list(solution)):
        found.add("'solution' must be an answer, or the list of its calls", "solution")
    if found.context is None or found.toolset is None:
        return
    around = Premises(context=found.context, toolset=found.toolset, incoming=found.incoming)
    for calls, output, path, last in _plans(found.context, solution):
        if not is_list(calls):
            found.add("'calls' must be a list of calls", *path)
            continue
        is_solution = path[0] == "solution"
        for error, index in plan_problems(calls, output, replace(around, may_be_delegate=is_solution)):
            found.problems.append((error, (*path, index) if index is not None else last))


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
    try:
        value = decode(text.removeprefix("\ufeff"))
    except NotJson:
        value = None
    return value if is_object(value) else read_idea(text, name).to_dict()

"""Everything that is wrong with an Idea, found without running it, each with its place in the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from .. import tools as registry
from ..app.coercion import blocking
from ..errors import ActumError, InvalidParameters, MessageError
from ..execution.linking import Linking
from ..generation.offer import Toolset, offered
from ..ideas.file import read_idea
from ..messages.tool import tools_of
from ..protocol.context import Context
from ..protocol.message import DATA_KINDS, check_message
from ..schema.json import JsonObject, NotJson, decode
from ..schema.links import links_of, opened
from ..schema.validator import Validator
from ..sources.modules import load_activities
from .loading import config_of
from .plan_problems import plan_problems

_KEYS = ("meta", "config", "context", "schema", "solution")
Place = tuple["str | int", ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and where in the Idea."""

    error: ActumError
    place: Place = ()


@dataclass(slots=True)
class Inspection:
    """What was found; `context`, `schema` and `toolset` are there as far as the Idea is sound."""

    linking: Linking
    origin: str
    problems: list[Problem] = field(default_factory=list[Problem])
    context: Context | None = None
    schema: Any = None
    toolset: Toolset | None = None

    def closed(self, schema: Any) -> Any:
        """A schema that was judged, referring to no other Idea."""
        Validator(opened(schema))
        return blocking(self.linking.schema(schema, self.origin)) if links_of(schema) else schema

    def attempt(self, act: Callable[[], Any], *place: str | int) -> Any:
        """Do something and keep its error; None where it failed."""
        try:
            return act()
        except ActumError as error:
            self.problems.append(Problem(error, (*place, *_inner(error))))
            return None


def inspect(value: JsonObject, file: Path, linking: Linking) -> Inspection:
    """Look at all parts of an Idea's JSON; `linking` finds the Ideas that its schemas refer to."""
    found = Inspection(linking=linking, origin=str(file.absolute()))
    for key in value:
        if key not in _KEYS and not key.startswith("$"):
            error = InvalidParameters(f"an Idea has no {key!r}; it has {', '.join(_KEYS)}")
            found.problems.append(Problem(error, (key,)))
    _inspect_config(value.get("config", {}), file.parent, found)
    if "schema" in value:
        found.schema = found.attempt(lambda: found.closed(value["schema"]), "schema")
    messages = value.get("context")
    if not isinstance(messages, list):
        found.problems.append(Problem(InvalidParameters("'context' is a list of messages"), ("context",)))
        return found
    sound = [
        checked
        for index, message in enumerate(cast("list[Any]", messages))
        if (checked := _inspect_message(message, index, found)) is not None
    ]
    if len(sound) == len(cast("list[Any]", messages)):
        found.context = Context.checked(sound)
        found.attempt(found.context.memory, "context")
        found.toolset = found.attempt(lambda: offered(cast("Context", found.context), registry), "context")
    if found.context is not None and found.toolset is not None:
        for index, message in enumerate(sound):
            if message.get("type") == "plan":
                for error, place in plan_problems(message["plan"], found.context, found.toolset):
                    found.problems.append(Problem(error, ("context", index, "plan", place)))
    return found


def _inspect_config(config: Any, folder: Path, found: Inspection) -> None:
    if not isinstance(config, dict):
        found.problems.append(Problem(InvalidParameters("'config' is an object"), ("config",)))
        return
    settings = cast("JsonObject", config)
    found.attempt(lambda: config_of(settings, "the Idea"), "config")
    named: Any = settings.get("activities", [])
    for index, name in enumerate(cast("list[Any]", named if isinstance(named, list) else [named])):
        found.attempt(lambda name=name: load_activities(str(name), folder), "config", "activities", index)


def _inspect_message(message: Any, index: int, found: Inspection) -> JsonObject | None:
    checked = found.attempt(lambda: check_message(message, index, (), DATA_KINDS), "context", index)
    if checked is not None and checked.get("type") == "tool":
        tools: JsonObject = checked["tool"]
        for name in tools:
            tools[name] = (
                found.attempt(lambda name=name: found.closed(tools[name]), "context", index, "tool", name) or {}
            )
        found.attempt(lambda: list(tools_of(checked, index)), "context", index, "tool")
    if checked is not None and isinstance(checked.get("schema"), dict):
        checked["schema"] = found.attempt(lambda: found.closed(checked["schema"]), "context", index, "schema") or {}
    return checked


def _inner(error: ActumError) -> Place:
    """The place that an error names inside what was judged, as far as it is a path."""
    if not error.path or isinstance(error, MessageError):
        return ()
    return tuple(part for part in error.path.replace("[", ".").replace("]", "").split(".") if part)


def parsed(text: str, name: str) -> JsonObject:
    """The JSON of an Idea file.

    Raises:
        IdeaError: where it is none; the message names line and column.
    """
    if name.endswith((".yaml", ".yml")):
        return read_idea(text, name).to_dict()
    try:
        value = decode(text.removeprefix("\ufeff"))
    except NotJson:
        value = None
    return value if isinstance(value, dict) else read_idea(text, name).to_dict()

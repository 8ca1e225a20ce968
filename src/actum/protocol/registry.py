"""The registry: interfaces (tools) and implementations (Activities), held apart and joined by name (A1)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, ParamSpec, Self, TypeVar, cast, overload

from ..errors import SchemaError
from ..schema.gathering import gathered
from ..schema.infer import adapter_of, schema_of
from ..schema.json import JsonObject
from .activity import Activity, Choice, is_given, type_hints
from .backoff import Backoff
from .declaration import is_count, parse_tool
from .elsewhere import ACTIVITY, ELSEWHERE, is_elsewhere
from .tool import Effects, Tool

P = ParamSpec("P")
R = TypeVar("R")
_SPELT = {"effects": "_effects", "timeout": "_timeout", "retries": "_retries"}
"""The keywords of a decorator that are meta-properties."""


class Registry:
    """Tools by name and Activities by name. `backoff` is how long those that are tried again wait before (T14)."""

    def __init__(self, *, backoff: Backoff | None = None) -> None:
        self.backoff = backoff or Backoff()
        self._tools: dict[str, Tool] = {}
        self._activities: dict[str, Activity] = {}
        self._of_modules: dict[str, Registry] = {}
        """What the code of modules has registered here that were loaded for those who name them, by module."""

    @overload
    def tool(self, function: Callable[P, R], /) -> Activity[P, R]: ...
    @overload
    def tool(
        self,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        effects: Effects | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        **meta: Any,
    ) -> Callable[[Callable[P, R]], Activity[P, R]]: ...
    def tool(self, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Make an interface and its implementation from one typed function.

        Name, description, parameters and `_output` come from the function; `name=` and `description=` overrule.
        `effects` says what its calls do (T14), `timeout` how many seconds one may take, `retries` how often a function
        that has raised is tried again; further keywords fix meta-properties (`_outputPath="†state.x"`,
        `_scopes=["state"]`). A function that returns None has no result: it is started and not waited for (C8).

        Raises:
            SchemaError: no schema can be made of its types, a meta-property has a value that it can't have, or the
                function may not be tried again: it neither says `effects="none"` nor takes the key of its call, `_key`.
        """
        if function is None:
            return partial(self.tool, **options)
        activity = self.activity_of(function, options)
        if activity.tool is not None:
            self._tools[activity.name] = activity.tool
        self._activities[activity.name] = activity
        return activity

    @staticmethod
    def activity_of(function: Callable[..., Any], options: Mapping[str, Any]) -> Activity:
        """The interface and implementation behind a typed function, not registered."""
        same = _registered(function)
        function = same.function if same else function
        name = options.get("name") or getattr(function, "__name__", None)
        if not isinstance(name, str):
            raise SchemaError("it has no name of its own: give it one with name=")
        schema = _inferred(function, name, options.get("description"))
        for key, value in options.items():
            if key in _SPELT and value is not None:
                schema["properties"][_SPELT[key]] = {"const": value}
            elif key not in {"name", "description", *_SPELT}:
                schema["properties"][key] = value if isinstance(value, dict) and key != "_tool" else {"const": value}
        tool = parse_tool(schema, name)
        activity = same.under(name, tool) if same else Activity(name=name, function=function, tool=tool)
        activity.check(tool)
        return activity

    def register(self, tool: str | Tool, schema: Mapping[str, Any] | None = None) -> Tool:
        """Register an interface: a name and a schema, or a tool that was made elsewhere (T1-T3).

        Raises:
            SchemaError: naming the tool and the JSON path.
        """
        parsed = tool if isinstance(tool, Tool) else parse_tool(schema, tool)
        if (own := self._activities.get(parsed.name)) is not None and "_activity" not in parsed.meta:
            own.check_retries(parsed)
        self._tools[parsed.name] = parsed
        return parsed

    @overload
    def activity(self, name: str, function: Callable[P, R], *, retries: int = 0) -> Activity[P, R]: ...
    @overload
    def activity(
        self, name: str, function: None = None, *, retries: int = 0
    ) -> Callable[[Callable[P, R]], Activity[P, R]]: ...
    def activity(self, name: str, function: Callable[..., Any] | None = None, *, retries: int = 0) -> Any:
        """Register an implementation under a name, as a decorator or at once; under several, one by one (A1, A6).

        `retries` is how often it is tried again where its tool doesn't say, `_retries` (T14).

        Raises:
            SchemaError: it has no name, or that of calls which whoever has begun the run makes ("elsewhere"), or may
                not be tried again for the tool of its name.
        """
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- a bare @activity is a likely slip
            raise SchemaError("an Activity needs a name: @tools.activity('name')")
        if name == ELSEWHERE:
            raise SchemaError(
                f"no Activity can be called {name!r}: calls of it are made by whoever has begun the run (`Run.give`); "
                "give it another name",
                path=name,
            )
        if function is None:
            return partial(self.activity, name, retries=retries)
        if not is_count(retries):
            raise SchemaError(f"retries must be a whole number that is not negative, not {retries!r}", path=name)
        if not callable(function):
            raise SchemaError(f"an Activity is a function, not {function!r}", path=name)
        same = _registered(function)
        activity = same.under(name) if same else Activity(name=name, function=function)
        activity.retries = retries
        if (own := self._tools.get(name)) is not None and "_activity" not in own.meta:
            activity.check_retries(own)
        self._activities[name] = activity
        return activity

    def find(self, name: str) -> Tool | None:
        """The registered tool of this name."""
        return self._tools.get(name)

    def find_activity(self, name: str) -> Activity | None:
        """The registered Activity of this name, if any."""
        return self._activities.get(name)

    def withdraw(self, names: Iterable[str]) -> None:
        """Take back the tools and the Activities of these names, those that are there."""
        for name in names:
            self._tools.pop(name, None)
            self._activities.pop(name, None)

    def copy(self) -> Self:
        """A registry of its own that begins with what this one holds."""
        own = type(self)(backoff=self.backoff)
        own._tools, own._activities = dict(self._tools), dict(self._activities)
        return own

    def granted(self, names: Collection[str]) -> Registry:
        """What is left of it for a delegate from outside: the tools and Activities that are granted by name (D12)."""
        rest = Registry(backoff=self.backoff)
        rest._tools = {name: tool for name, tool in self._tools.items() if name in names}
        rest._activities = {name: activity for name, activity in self._activities.items() if name in names}
        return rest

    def loaded(self, load: Callable[[], str]) -> Registry:
        """What the code of a module registers here as it is loaded: for those who name it, and for nobody else.

        It is no longer here afterwards, so that Ideas whose modules use the same names don't meet. What other modules
        register that it imports stays. `load` returns its name; what it registers is known from the first time on.
        """
        before = self._tools.copy(), self._activities.copy()
        try:
            module = load()
        except BaseException:
            self._tools, self._activities = before
            raise
        own = self._parted(module, *before)
        if own._tools or own._activities:
            self._of_modules[module] = own
        return self._of_modules.get(module, own)

    def _parted(self, module: str, tools: Mapping[str, Tool], activities: Mapping[str, Activity]) -> Registry:
        """Take out what a module has registered since these were all."""
        own = Registry(backoff=self.backoff)
        new = {name: one for name, one in self._activities.items() if activities.get(name) is not one}
        own._activities = {name: one for name, one in new.items() if _is_of(one.function, [module])}
        for name, one in self._tools.items():
            if tools.get(name) is not one and (name in own._activities or name not in new):
                own._tools[name] = one
        self._tools = {**tools, **{name: one for name, one in self._tools.items() if name not in own._tools}}
        kept = {name: one for name, one in self._activities.items() if name not in own._activities}
        self._activities = {**activities, **kept}
        return own

    def take(self, other: Registry) -> None:
        """Register all that another one holds; what has the same names here is replaced."""
        self._tools |= other._tools
        self._activities |= other._activities

    def joined(self, others: Iterable[Registry]) -> Registry:
        """The registry with what others hold, of two of one name the later; its own names win."""
        both = Registry(backoff=self.backoff)
        for one in others:
            both.take(one)
        if not both._tools and not both._activities:
            return self
        both.take(self)
        return both

    def serving(self, tool: Tool) -> Activity | Choice | None:
        """The Activity that carries out a tool: the one it names, else the one of its own name, else none (A1).

        Where it names several, each call chooses.

        Raises:
            SchemaError: it names one that isn't registered.
        """
        choices = tool.choices("_activity")
        if choices is not None:
            return Choice({name: self._named(name, tool) for name in choices})
        named = tool.fixed("_activity")
        return self._named(named, tool) if named else self._activities.get(tool.name)

    def holds(self, tool: Tool) -> bool:
        """Whether calls of a tool wait for a decision where nobody can be asked (L6).

        What holds a registered tool holds whoever hands calls to its Activity: by its name, `_activity` or `_delegate`.
        """
        if tool.is_held or is_elsewhere(tool):
            return True
        names = [tool.name] if "_activity" not in tool.meta else []
        for key in ("_activity", "_delegate"):
            names += [tool.fixed(key), *(tool.choices(key) or [])] if key in tool.meta else []
        return any((one := self._tools.get(name)) is not None and one.is_held for name in names if name)

    def _named(self, named: str, tool: Tool) -> Activity:
        if named == ELSEWHERE:
            return ACTIVITY
        if named not in self._activities:
            known = ", ".join(sorted(self._activities)) or "none"
            raise SchemaError(
                f"no Activity {named!r} is registered; there are: {known}", tool=tool.name, path="_activity"
            )
        return self._activities[named]

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools


def _registered(function: Callable[..., Any]) -> Activity | None:
    """What a decorator below this one has made, None where it is the function itself (A6)."""
    return cast("Activity", function) if isinstance(function, Activity) else None


def _is_of(function: Callable[..., Any], modules: Collection[str]) -> bool:
    module = getattr(function, "__module__", None) or ""
    return any(module == one or module.startswith(f"{one}.") for one in modules)


def _inferred(function: Callable[..., Any], name: str, description: str | None) -> JsonObject:
    hints = type_hints(function)
    properties: JsonObject = {}
    required: list[str] = []
    parameters = inspect.signature(function).parameters.values()
    kinds = {parameter.kind for parameter in parameters}
    for parameter in parameters:
        if is_given(parameter.name) or parameter.kind in _VARIADIC:
            continue
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
        properties[parameter.name] = _schema(hints.get(parameter.name, Any), "validation", name, parameter.name)
    returned = hints.get("return", Any)
    if returned is not type(None):
        properties["_output"] = _schema(returned, "serialization", name, "return")
    own, definitions = gathered(properties)
    schema: JsonObject = {"type": "object", "properties": own}
    text = description if description is not None else inspect.getdoc(function)
    if text:
        schema["description"] = text
    if required:
        schema["required"] = required
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        schema["additionalProperties"] = False  # an argument that the function doesn't take would be lost (T15)
    if definitions:
        schema["$defs"] = definitions
    return schema


_VARIADIC = {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}


def _schema(annotation: object, mode: str, tool: str, path: str) -> JsonObject:
    if annotation is Any:
        return {}
    try:
        return schema_of(adapter_of(annotation), mode)
    except SchemaError as error:
        raise SchemaError(error.message, tool=tool, path=path) from None

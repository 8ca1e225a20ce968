"""The registry of tools and Activities, and the catalog of it that runs get."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ParamSpec, Self, TypeAlias, TypeVar, Unpack, overload

from ..errors import SchemaError
from .activity import Activity, Choice, check_function
from .config import is_whole_within
from .declaration import parse_tool
from .elsewhere import ACTIVITY, ELSEWHERE, is_elsewhere
from .tool import ANONYMOUS, Effects, Tool, says_the_same
from .typed_function import MetaOptions, activity_of, check_options, is_made_anew, registered


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """A wait that doubles, from `first` to `longest` seconds, of which half is chance.

    `sleep` (None for that of the event loop) and `chance` (0 to 1) are there to be replaced in tests.
    """

    first: float = 0.5
    longest: float = 60.0
    sleep: Callable[[float], Awaitable[None]] | None = None
    chance: Callable[[], float] = random.random

    def seconds(self, attempt: int) -> float:
        """How many seconds to wait after the failed attempt; 0 is the first."""
        # What failed together spreads out. Doubled no further than a float goes.
        return min(self.first * 2 ** min(attempt, 64), self.longest) * (0.5 + self.chance() / 2)


class Catalog:
    """Tools by name and Activities by name. `backoff` is how long those that are tried again wait before."""

    def __init__(self, *, backoff: Backoff | None = None) -> None:
        self.backoff = backoff or Backoff()
        self._tools: dict[str, Tool] = {}
        self._activities: dict[str, Activity] = {}
        self._closed: Mapping[str, Activity | None] = {}
        """The tools that a delegate's own messages define, each with the Activity that may serve it by its name."""

    def find(self, name: str) -> Tool | None:
        """The registered tool of this name."""
        return self._tools.get(name)

    def find_activity(self, name: str) -> Activity | None:
        """The registered Activity of this name, if any."""
        return self._activities.get(name)

    @property
    def activity_names(self) -> Collection[str]:
        """The names under which Activities are registered."""
        return self._activities.keys()

    def granted(self, names: Collection[str]) -> Catalog:
        """The part that a delegate from outside may use: tools and Activities that are granted by name."""
        rest = Catalog(backoff=self.backoff)
        rest._tools = {name: tool for name, tool in self._tools.items() if name in names}
        rest._activities = {name: activity for name, activity in self._activities.items() if name in names}
        return rest

    def joined(self, others: Iterable[Catalog], own: Mapping[str, bool] | None = None) -> Catalog:
        """What a delegate has: this with what others hold, of two of one name the later; its own names win.

        `own` are the tools that its messages define, each with whether they are its own: of these none is served by its
        name, but by what others hold. The rest has crossed, and is served as it was where it came from.
        """
        tools, activities = dict[str, Tool](), dict[str, Activity]()
        for other in others:
            tools |= other._tools
            activities |= other._activities
        closed = {
            name: activities.get(name) if is_own else self._closed[name]
            for name, is_own in (own or {}).items()
            if is_own or name in self._closed
        }
        if not (tools or activities or closed or self._closed):
            return self
        both = Catalog(backoff=self.backoff)
        both._tools, both._activities = tools | self._tools, activities | self._activities
        both._closed = closed
        return both

    def serving(self, tool: Tool, delegate: str | None = None) -> Activity | Choice | None:
        """The Activity that carries out a tool: the one it names, else the one of its own name, else none.

        Where it names several, each call chooses. In a delegate's place an Activity runs that is said: one that merely
        has the tool's name doesn't, but where the delegate is anonymous. `delegate` is which a call has chosen.

        Raises:
            SchemaError: it names one that isn't registered.
        """
        choices = tool.choices("_activity")
        if choices is not None:
            return Choice({name: self._named(name, tool) for name in choices})
        if "_activity" in tool.meta:
            named = tool.fixed("_activity")
            return self._named(named, tool) if named else None
        if tool.is_delegated and _goes_out(tool, delegate):
            return None
        return self._activities.get(tool.name) if tool.name not in self._closed else self._closed[tool.name]

    def passed_over(self, tool: Tool, delegate: str | None = None) -> str:
        """The Activity with the name of a tool whose calls its delegate carries out instead; empty if there is none."""
        if "_activity" in tool.meta or not _goes_out(tool, delegate) or delegate == tool.name:
            return ""
        return tool.name if self._closed.get(tool.name, self._activities.get(tool.name)) is not None else ""

    def keeps_from(self, tool: Tool) -> bool:
        """Whether an Activity has the name of a delegate's own tool but, having only the name, doesn't serve it."""
        is_closed = tool.name in self._closed and self._closed[tool.name] is None
        return is_closed and tool.name in self._activities and not {"_activity", "_delegate"} & tool.meta.keys()

    def holds(self, tool: Tool) -> bool:
        """Whether calls of a tool wait for a decision where nobody can be asked.

        What holds a registered tool holds whoever hands calls to its Activity: by its name, `_activity` or `_delegate`.
        """
        if tool.is_held or is_elsewhere(tool):
            return True
        names = [tool.name] if "_activity" not in tool.meta and tool.name not in self._closed else []
        for key in ("_activity", "_delegate"):
            names += [tool.fixed(key), *(tool.choices(key) or [])]
        return any((registered := self._tools.get(name)) is not None and registered.is_held for name in names if name)

    def _named(self, named: str, tool: Tool) -> Activity:
        if named == ELSEWHERE:
            return ACTIVITY
        if named not in self._activities:
            names = ", ".join(sorted(self._activities)) or "none"
            raise SchemaError(
                f"no Activity {named!r} is registered; there are: {names}", tool=tool.name, path="_activity"
            )
        return self._activities[named]

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools


def _goes_out(tool: Tool, delegate: str | None) -> bool:
    """Whether a call goes to a delegate other than the anonymous one (D13)."""
    return tool.is_delegated and (delegate or tool.fixed("_delegate")) != ANONYMOUS


P = ParamSpec("P")
R = TypeVar("R")
AnyTools: TypeAlias = "Registry | Iterable[Tool | Callable[..., Any]]"
"""Tools as they are given: a registry, or a list of functions and of what `register` and `Idea.as_tool` return."""


class Registry(Catalog):
    """Where tools and Activities are registered. `backoff` is how long those that are tried again wait before."""

    def __init__(self, *, backoff: Backoff | None = None) -> None:
        super().__init__(backoff=backoff)
        self._of_modules: dict[str, Registry] = {}
        """What modules registered that were loaded for the Ideas that name them, by module."""
        self._around: Mapping[str, object] = {}
        """What was registered before the module that is being loaded; it may use the same names."""

    @classmethod
    def of(cls, given: AnyTools) -> Registry:
        """The registry that was given, or one of the functions and the tools that were.

        Raises:
            SchemaError: what was given is neither; otherwise as `tool` and `register`.
        """
        if isinstance(given, Registry):
            return given
        if isinstance(given, str | Mapping) or not isinstance(given, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] -- it is whatever a caller gives
            wrong = "one alone" if isinstance(given, Callable | Tool) else f"{given!r}"
            raise SchemaError(f"tools are a registry or a list of functions, [f, g], not {wrong}", path="tools")
        registry = cls()
        for item in given:
            if isinstance(item, Tool):
                registry.register(item)
            elif callable(item) and not isinstance(item, Registry):
                registry.tool(item)
            else:
                raise SchemaError(
                    f"a list of tools holds functions and what `Idea.as_tool` returns, not {item!r}; which registered "
                    "ones are offered is said by their names in Config(tools=[…])",
                    path="tools",
                )
        return registry

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
        delegate: str | None = None,
        replace: bool = False,
        **meta: Unpack[MetaOptions],
    ) -> Callable[[Callable[P, R]], Activity[P, R]]: ...
    def tool(self, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Make an interface and its implementation from one typed function.

        Name, description, parameters and `_output` come from the function; `name=` and `description=` overrule.
        A section of parameters in its docstring (Google, NumPy or reST) describes them; what stands before it describes
        the tool.
        `effects` says what its calls do, `timeout` how many seconds one may take, `retries` how often a function
        that has raised is tried again, `delegate` in whose place it runs; further keywords fix meta-properties
        (`_outputPath="†state.x"`, `_scopes=["state"]`). A function that returns None has no result: it is started and
        not waited for. `replace` takes the place of what has this name already.

        Raises:
            SchemaError: no schema can be made of its types, a meta-property has a value that it can't have, there is
                another tool of this name, or the function may not be tried again: it neither says `effects="none"` nor
                takes the key of its call, `_key`.
            TypeError: there is no such option.
        """
        check_options(options)
        if function is None:
            return partial(self.tool, **options)
        same = registered(function)
        if same is not None and same.tool is not None and not options.keys() - {"replace"}:
            activity = same  # the tool of another registry as it is
        else:
            activity = activity_of(function, options)
        self._put(activity.name, activity.tool, activity, replace=options.get("replace", False))
        return activity

    def _put(self, name: str, tool: Tool | None, activity: Activity | None, *, replace: bool) -> None:
        """Register under a name, which nothing else has unless it is to be replaced."""
        if not replace:
            self._check_name(name, tool, activity)
        if tool is not None:
            self._tools[name] = tool
        if activity is not None:
            self._activities[name] = activity

    def _check_name(self, name: str, tool: Tool | None, activity: Activity | None) -> None:
        """Check that a name is free: what has it says the same, is redefined, or was there before the module."""
        existing, interface = self._activities.get(name), self._tools.get(name)
        is_anew = activity is not None and existing is not None and is_made_anew(existing.function, activity.function)
        made_it = existing if existing is not None and existing.tool is interface else None
        if not (
            tool is None
            or interface is None
            or interface is self._around.get(f"tool {name}")
            or says_the_same(interface, tool)
            or (is_anew and made_it is not None)
        ):
            raise _name_taken(name, "a tool", made_it)
        if not (
            activity is None
            or existing is None
            or existing is self._around.get(f"activity {name}")
            or existing.function == activity.function  # each access makes a new bound method
            or is_anew
        ):
            raise _name_taken(name, "an Activity", existing)

    def register(self, tool: str | Tool, schema: Mapping[str, Any] | None = None, *, replace: bool = False) -> Tool:
        """Register an interface: a name and a schema, or a tool that was made elsewhere.

        `replace` takes the place of another one of this name.

        Raises:
            SchemaError: naming the tool and the JSON path; or there is another tool of this name.
        """
        if not isinstance(tool, str | Tool):  # pyright: ignore[reportUnnecessaryIsInstance] -- a function is a likely slip
            raise SchemaError(
                f"an interface is registered by its name and schema, not {tool!r}; one is made of a typed function by "
                "tools.tool, of an Idea by tools.register(idea.as_tool('name'))"
            )
        parsed = tool if isinstance(tool, Tool) else parse_tool(schema, tool)
        if (activity := self._activities.get(parsed.name)) is not None and "_activity" not in parsed.meta:
            activity.check_retries(parsed)
        self._put(parsed.name, parsed, None, replace=replace)
        return parsed

    @overload
    def activity(
        self, name: str, function: Callable[P, R], *, retries: int = 0, replace: bool = False
    ) -> Activity[P, R]: ...
    @overload
    def activity(
        self, name: str, function: None = None, *, retries: int = 0, replace: bool = False
    ) -> Callable[[Callable[P, R]], Activity[P, R]]: ...
    def activity(
        self, name: str, function: Callable[..., Any] | None = None, *, retries: int = 0, replace: bool = False
    ) -> Any:
        """Register an implementation under a name, as a decorator or at once; under several, one by one.

        Args:
            name: what it is called, and the tool that it carries out unless another one names it.
            function: the function; without it, what decorates one is returned.
            retries: how often it is tried again where its tool doesn't say, `_retries`.
            replace: it takes the place of another one of this name.

        Raises:
            SchemaError: it has no name, that of another one, or that of calls which whoever has begun the run makes
                ("elsewhere"); it takes what no call gives, or may not be tried again for the tool of its name.
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
            return partial(self.activity, name, retries=retries, replace=replace)
        if not is_whole_within(retries):
            raise SchemaError(f"retries must be a whole number that is not negative, not {retries!r}", path=name)
        if not callable(function):
            raise SchemaError(f"an Activity is a function, not {function!r}", path=name)
        same = registered(function)
        activity = same.under(name) if same else Activity(name=name, function=function)
        check_function(activity.function, name)
        activity.retries = retries
        if (tool := self._tools.get(name)) is not None and "_activity" not in tool.meta:
            activity.check_retries(tool)
        self._put(name, None, activity, replace=replace)
        return activity

    def withdraw(self, names: Iterable[str]) -> None:
        """Take back the tools and the Activities of these names, those that are there."""
        for name in names:
            self._tools.pop(name, None)
            self._activities.pop(name, None)

    def copy(self) -> Self:
        """A registry of its own that begins with what this one holds."""
        registry = type(self)(backoff=self.backoff)
        registry.take(self)
        return registry

    def loaded(self, load: Callable[[], str]) -> Registry:
        """What a module registers here while it is loaded, for those who name it and for nobody else.

        It is no longer here afterwards, so that Ideas whose modules use the same names don't meet. What other modules
        register that it imports stays. `load` returns its name; what it registers is known from the first time on.
        """
        before, around = (self._tools.copy(), self._activities.copy()), self._around
        self._around = {f"tool {name}": tool for name, tool in self._tools.items()}
        self._around |= {f"activity {name}": activity for name, activity in self._activities.items()}
        try:
            module = load()
        except BaseException:
            self._tools, self._activities = before
            raise
        finally:
            self._around = around
        registry = self._parted(module, *before)
        if registry._tools or registry._activities:
            self._of_modules[module] = registry
        return self._of_modules[module] if module in self._of_modules else self._registered_by(module)

    def _registered_by(self, module: str) -> Registry:
        """What a module has registered here that the program had already imported."""
        registry = Registry()
        registry._activities = _of_module(self._activities, module)
        registry._tools = {name: tool for name, tool in self._tools.items() if name in registry._activities}
        return registry

    def _parted(self, module: str, tools: Mapping[str, Tool], activities: Mapping[str, Activity]) -> Registry:
        """Take out what a module has registered since these were all."""
        registry = Registry()
        new = {name: value for name, value in self._activities.items() if activities.get(name) is not value}
        registry._activities = _of_module(new, module)
        for name, tool in self._tools.items():
            if tools.get(name) is not tool and (name in registry._activities or name not in new):
                registry._tools[name] = tool
        self._tools = {**tools, **{name: tool for name, tool in self._tools.items() if name not in registry._tools}}
        rest = {name: value for name, value in self._activities.items() if name not in registry._activities}
        self._activities = {**activities, **rest}
        return registry

    def take(self, other: Catalog) -> None:
        """Register all that another one holds; what has the same names here is replaced."""
        self._tools |= other._tools
        self._activities |= other._activities


def _name_taken(name: str, kind: str, by: Activity | None) -> SchemaError:
    function: Any = None if by is None else by.function
    made_of = getattr(function, "__qualname__", None)
    whose = f", {function.__module__}.{made_of}," if made_of else ""
    return SchemaError(
        f"{kind} of this name{whose} is registered already: give it another name, or say replace=True", tool=name
    )


def _of_module(activities: Mapping[str, Activity], module: str) -> dict[str, Activity]:
    """Those whose function stands in a module, or in one below it."""
    homes = {name: getattr(activity.function, "__module__", None) for name, activity in activities.items()}
    return {name: activities[name] for name, home in homes.items() if f"{home}.".startswith(f"{module}.")}

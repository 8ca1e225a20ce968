"""An Activity: the code behind a tool, and how a call becomes its arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Generic, cast, get_args, get_origin, get_type_hints

from typing_extensions import ParamSpec, TypeVar

from ..errors import InvalidParameters, SchemaError
from ..schema.infer import adapter_of, field_of, is_plain, jsonable
from ..schema.json import JsonObject, encode
from .call import Call
from .context import Context, Progress, unheard
from .tool import Tool
from .usage import Usage

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic.fields import FieldInfo

    from .approvals import Decision


def error_text(error: BaseException) -> str:
    """An exception of foreign code in words: its type and its message, also where its `str()` fails."""
    try:
        message = str(error)
    except Exception:
        message = ""
    words = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return f"it would have ended the program: {words}" if isinstance(error, SystemExit) else words


def is_uncertain(error: BaseException) -> bool:
    """Whether an exception of foreign code leaves open if its request was carried out: a timeout, a lost connection.

    Exceptions of HTTP libraries are recognised by their names, so that no library has to be imported.
    """
    names = {kind.__name__ for kind in type(error).__mro__}
    return not names.isdisjoint(_LOST) and names.isdisjoint(_UNSENT)


_LOST = frozenset(
    {
        *("TimeoutError", "ConnectionError"),  # Python's, which aiohttp's are made of
        *("TimeoutException", "NetworkError", "RemoteProtocolError"),  # httpx's
        *("ServerDisconnectedError", "ClientPayloadError", "ClientOSError"),  # aiohttp's
        *("Timeout", "ProtocolError", "ChunkedEncodingError"),  # of requests and urllib3
    }
)
_UNSENT = frozenset(
    {
        *("ConnectionRefusedError", "ConnectError", "ConnectTimeout", "PoolTimeout", "LocalProtocolError"),
        *("ClientConnectorError", "ConnectionTimeoutError", "NewConnectionError", "ConnectTimeoutError"),
    }
)


# Without a type argument, `Ctx`, `Agent` and `Tools` take deps of any type.
Deps_co = TypeVar("Deps_co", covariant=True, default=Any)
Deps = TypeVar("Deps", default=Any)


@dataclass(frozen=True, slots=True)
class Ctx(Generic[Deps_co]):
    """What a tool's function that takes `ctx: Ctx[Deps]` first is given of its run; no model is told of it.

    An agent's instructions are given one as well, with `deps` alone.

    Args:
        deps: what the run was given as `deps`, None where it was given nothing.
        place: where the call stands in its run, for example "0.2": the third call of the first answer.
        key: the idempotency key of the call, the same whenever it is made again.
        usage: what the run had cost when the call began.
        progress: tells how far the call is: `ctx.progress(3, 10, "reading")`.
        approval: how the call was approved, with the `reason` if there is one, and the call that runs in its place as
            `replacement`; None where nobody was asked.
    """

    deps: Deps_co = None  # pyright: ignore[reportAssignmentType] -- a run that was given nothing
    place: str = ""
    key: str = ""
    usage: Usage = field(default_factory=Usage)
    progress: Progress = unheard
    approval: Decision | None = None


def is_ctx(hint: object) -> bool:
    """Whether an annotation is `Ctx`, with a type or without."""
    return Ctx in (hint, get_origin(hint))


ARGUMENTS = frozenset({"call", "tool", "context"})
"""The three arguments of the documents (A2)."""
_KEY = "key"
_OF_CONTEXT = (_KEY, "progress")
"""Members of the context that a function may take directly, unless its tool has a parameter of that name (A7)."""
_GIVEN = ARGUMENTS | {*_OF_CONTEXT}
_CTX = "ctx"
_NEVER_TYPED = ARGUMENTS | {_CTX}
_KEYWORD = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
Undo = Callable[[Call, Any], "Awaitable[None] | None"]
# An `Activity` without type arguments stands for any function.
P = ParamSpec("P", default=...)
R_co = TypeVar("R_co", covariant=True, default=Any)
U = TypeVar("U", bound=Undo)


@dataclass
class _Undoing:
    """What undoes the calls of a function; shared by all names under which it is registered (A6)."""

    function: Undo | None = None


@dataclass(eq=False)
class Activity(Generic[P, R_co]):
    """A named function. Called directly, it is that function; `undo` declares its compensation for `all`.

    It may take a `Ctx` first, `call`, `tool`, `context`, the call's idempotency `key`, `progress` to tell how far it
    is, and any parameter by its own name, typed.
    It has the function's signature and docstring, for type checkers, editors and `help`.
    """

    name: str
    function: Callable[P, R_co]
    tool: Tool | None = None
    """The interface that was made from the same function, None if there is none."""
    retries: int = 0
    """How often it is tried again where its tool doesn't say."""
    _undoing: _Undoing = field(default_factory=_Undoing, repr=False)

    def __post_init__(self) -> None:
        functools.update_wrapper(self, self.function, updated=())

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function itself."""
        return self.function(*args, **kwargs)

    def undo(self, function: U) -> U:
        """Declare what takes back a call that was done: `(call, result)`, sync or async."""
        if not callable(function):
            raise SchemaError(f"an undo is a function (call, result), not {function!r}", tool=self.name)
        self._undoing.function = function
        return function

    @property
    def compensation(self) -> Undo | None:
        """What takes back a call that was done, None if nothing was declared."""
        return self._undoing.function

    def under(self, name: str, tool: Tool | None = None) -> Activity[P, R_co]:
        """The same function under another name, with the same `undo`; how often it is tried again is said anew."""
        return Activity(name=name, function=self.function, tool=tool or self.tool, _undoing=self._undoing)

    def of(self, _call: Call) -> Activity[P, R_co]:
        """The Activity that carries out a call: this one."""
        return self

    @cached_property
    def is_async(self) -> bool:
        """Whether it runs on the event loop; otherwise it runs in a worker thread."""
        return is_async(self.function)

    @cached_property
    def signature(self) -> inspect.Signature:
        """What the function takes."""
        return inspect.signature(self.function)

    @cached_property
    def _fields(self) -> dict[str, FieldInfo]:
        """The `Field(…)` of each parameter that calls may leave out."""
        hints: dict[str, Any] = {}
        with suppress(SchemaError):  # parameters that no call fills may be annotated in any way
            hints = type_hints(self.function)
        parameters = self.signature.parameters
        declared = {name: field_of(hints.get(name), parameter.default) for name, parameter in parameters.items()}
        return {name: info for name, info in declared.items() if info is not None and not info.is_required()}

    @cached_property
    def _types(self) -> dict[str, TypeAdapter[Any]]:
        hints = type_hints(self.function)
        names = [name for name, reserved in self._named if reserved not in _NEVER_TYPED and name in hints]
        typed = [name for name in names if hints[name] is not Progress and not is_plain(hints[name])]
        return {name: adapter_of(hints[name]) for name in typed}

    def check(self, tool: Tool) -> None:
        """Check that calls of the tool fill every required parameter, and that they may be retried if they are.

        Raises:
            SchemaError: no call would fill a parameter, which is named; or calls are retried, which isn't safe.
        """
        self.check_retries(tool)
        properties = tool.parameters["properties"]
        for name, parameter in self.signature.parameters.items():
            if (
                parameter.kind in _KEYWORD
                and parameter.default is inspect.Parameter.empty
                and name not in properties
                and name != self.ctx
                and name.lstrip("_") not in _GIVEN
            ):
                raise SchemaError(
                    f"the Activity {self.name!r} takes {name!r}, which is neither a parameter of the tool nor one of "
                    "call, tool, context, key, progress",
                    tool=tool.name,
                )

    def retries_of(self, tool: Tool) -> int:
        """How often it is tried again for a call of the tool that has failed."""
        return self.retries if tool.retries is None else tool.retries

    def check_retries(self, tool: Tool) -> None:
        """Check that failed calls of the tool may be tried again, if they are to be.

        Raises:
            SchemaError: it may have had an effect before it failed, and the second attempt couldn't know.
        """
        if not self.retries_of(tool):
            return
        if tool.is_delegated:
            why = f"the Activity {self.name!r} can't be tried again where it runs in a delegate's place"
            raise SchemaError(why, tool=tool.name, path="_retries")
        properties = tool.parameters["properties"]
        takes_key = any(reserved == _KEY and name not in properties for name, reserved in self._named)
        if tool.effects != "none" and not takes_key:
            raise SchemaError(
                f"the Activity {self.name!r} can't be tried again, since it may have done something before it failed: "
                "say effects='none' if it only reads, or let it take the key of its call ('key', in a function under "
                "@tools.tool '_key')",
                tool=tool.name,
                path="_retries",
            )

    def arguments(self, call: Call, tool: Tool, context: Context, ctx: Ctx | None = None) -> dict[str, Any]:
        """The keyword arguments for one call whose parameters have been resolved and validated.

        Args:
            call: the call.
            tool: its interface.
            context: what it sees of the run.
            ctx: what it is given of the run, where it takes that.

        Raises:
            InvalidParameters: a value doesn't fit the type of the argument.
        """
        arguments: dict[str, Any] = {}
        for name, reserved in self._named:
            if reserved == _CTX:
                arguments[name] = ctx
            elif name in call and name[0] != "_":
                value = call[name]
                arguments[name] = _typed(self._types[name], name, value, tool) if name in self._types else value
            elif reserved in _OF_CONTEXT:
                if name not in tool.parameters["properties"]:
                    arguments[name] = context.key if reserved == _KEY else context.progress
            elif reserved is not None:
                arguments[name] = {"call": call, "tool": tool, "context": context}[reserved]
        for name, info in self._fields.items():
            if name not in arguments:
                arguments[name] = info.get_default(call_default_factory=True)
        if self._takes_all:
            arguments |= {key: value for key, value in call.parameters.items() if key not in arguments}
        return arguments

    def defaults(self, call: Call, tool: Tool) -> JsonObject:
        """The function's defaults for parameters of the tool that a call leaves out, as far as they are JSON."""
        properties = tool.parameters["properties"]
        defaults: JsonObject = {}
        for name, _ in self._named:
            info = self._fields.get(name)
            value = info.get_default() if info is not None else self.signature.parameters[name].default
            if name in properties and name not in call and value is not inspect.Parameter.empty:
                with suppress(ValueError):
                    defaults[name] = jsonable(value)
        return defaults

    @cached_property
    def _named(self) -> list[tuple[str, str | None]]:
        """The parameters that can be passed by name, each with the reserved name that it may stand for (A2, A7)."""
        names = [name for name, parameter in self.signature.parameters.items() if parameter.kind in _KEYWORD]
        reserved_names = [(name, name.lstrip("_") if name.lstrip("_") in _GIVEN else None) for name in names]
        return [(name, _CTX if name == self.ctx else reserved) for name, reserved in reserved_names]

    @cached_property
    def ctx(self) -> str | None:
        """The parameter that is given a `Ctx`, None where it takes none."""
        return ctx_of(self.function)

    @property
    def needs(self) -> Any:
        """The class of the deps that its `Ctx` names; None where it takes none, or may be given none."""
        (needs,) = get_args(type_hints(self.function)[self.ctx]) or (None,) if self.ctx else (None,)
        is_open = isinstance(needs, TypeVar) or needs in (None, Any, object)
        return None if is_open or NoneType in (needs, *get_args(needs)) else needs

    @cached_property
    def sees_context(self) -> bool:
        """Whether it takes the scoped context, or something that comes with it."""
        return any(reserved in {_CTX, "context", *_OF_CONTEXT} for _, reserved in self._named)

    @cached_property
    def _takes_all(self) -> bool:
        kinds = [parameter.kind for parameter in self.signature.parameters.values()]
        return inspect.Parameter.VAR_KEYWORD in kinds


@dataclass(eq=False)
class Choice:
    """The Activities among which each call of a tool chooses, by name (A1)."""

    options: Mapping[str, Activity]

    def check(self, tool: Tool) -> None:
        """Check that calls of the tool fill every required parameter of each of them.

        Raises:
            SchemaError: as `Activity.check`.
        """
        for activity in self.options.values():
            activity.check(tool)

    def of(self, call: Call) -> Activity:
        """The one that a call, which has been validated, has chosen."""
        return self.options[call["_activity"]]


def _typed(adapter: TypeAdapter[Any], name: str, value: Any, tool: Tool) -> Any:
    from pydantic import ValidationError

    try:
        # As JSON, so that strict types take a date from a string.
        return adapter.validate_json(encode(value))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InvalidParameters(first["msg"], tool=tool.name, path=name) from None


def function_text(function: Callable[..., Any]) -> str:
    """The source of a function; empty where it can't be read, and for Actum's own wrappers of other code."""
    inner: Any = inspect.unwrap(function)
    if str(getattr(inner, "__module__", "")).partition(".")[0] == __name__.partition(".")[0]:
        return ""
    with suppress(OSError, TypeError):
        return inspect.getsource(inner)
    return ""


def check_function(function: Callable[..., Any], tool: str, *, takes_all: bool = True) -> None:
    """Check that calls can fill all parameters of a function: they pass them by name.

    `takes_all` allows `*args` beside `**kwargs`; it then stays empty.

    Raises:
        SchemaError: naming the parameter.
    """
    try:
        parameters = [*inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        why = f"its parameters can't be read of {function!r}: write a function with typed parameters around it"
        raise SchemaError(why, tool=tool) from None
    if inspect.isasyncgenfunction(inspect.unwrap(function)):
        why = "it is an async generator, of which no call gets a value: return a list, and tell ctx.progress(…)"
        raise SchemaError(why, tool=tool)
    first = parameters[0] if parameters else None
    if first and first.name in {"self", "cls"} and first.annotation is first.default is inspect.Parameter.empty:
        why = "it is a method, of which no call could fill this: register it of an object, tools.tool(desk.look)"
        raise SchemaError(why, tool=tool, path=first.name)
    is_open = takes_all and any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            why = "calls give parameters by name, and the function takes it by its position alone (before '/')"
            raise SchemaError(why, tool=tool, path=parameter.name)
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL and not is_open:
            why = (
                f"calls give parameters by name: take a list instead of '*{parameter.name}'; a decorator keeps the "
                "parameters of its function by functools.wraps"
            )
            raise SchemaError(why, tool=tool, path=parameter.name)


def is_given(name: str) -> bool:
    """Whether the runtime fills a parameter of a typed function, so that its tool doesn't have it (A2, A7)."""
    return name.lstrip("_") in ARGUMENTS or (name[:1] == "_" and name[1:] in _OF_CONTEXT)


def ctx_of(function: Callable[..., Any]) -> str | None:
    """The name of a function's first parameter if that is a `Ctx` by its annotation, else None.

    Raises:
        SchemaError: the annotation says so, and a name in it is not known.
    """
    first = next(iter(inspect.signature(function).parameters.values()), None)
    if first is None or first.annotation is inspect.Parameter.empty:
        return None
    hint = first.annotation
    if isinstance(hint, str):
        try:
            hint = type_hints(function).get(first.name)
        except SchemaError:
            if Ctx.__name__ in hint:
                raise
    return first.name if is_ctx(hint) else None


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a call of it is awaited on the event loop, rather than made in a worker thread (A1)."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 -- an object with an async __call__ is async
    )


def type_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The resolved annotations of a function.

    Raises:
        SchemaError: a name in them is not known.
    """
    target: Any = inspect.unwrap(function)
    while isinstance(target, functools.partial):
        target = cast("Any", target).func
    if not inspect.isroutine(target):
        target = type(target).__call__
    try:
        hints = get_type_hints(target, include_extras=True)
    except NameError as error:
        named = getattr(function, "__name__", repr(function))
        raise SchemaError(
            f"an annotation of {named!r} is unknown: {error}; import it where the program runs, not under TYPE_CHECKING"
        ) from None
    for name, parameter in inspect.signature(function).parameters.items():
        if name in hints and field_of(None, parameter.default) is not None:
            hints[name] = Annotated[hints[name], parameter.default]
    return hints

"""The context: an append-only log of messages, and the folded value of every data kind in it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, overload

from ..dataflow.expression import MISSING, Expression, evaluate, parse
from ..dataflow.fold import Overlay, UnfitWrite, exported
from ..dataflow.reference import Reference, ReferenceSyntax
from ..errors import MessageError
from ..messages.media import MEDIA
from ..schema.json import JsonObject
from .applying import applied
from .lineage import BROUGHT, NONE, Marks, Trail
from .message import DATA_KINDS, OF, Write, check_message, instance_of, kind_of, read_plans, write_of

ORIGIN = "_origin"
"""The mark of a message that has crossed a scope: where its context was read from, null for code (D15).

Messages of the type `tool` have it, and those with a `path` (M10).
"""


def is_url(reference: object) -> bool:
    """Whether this is an address on the web rather than a file, or nothing."""
    return isinstance(reference, str) and reference.lower().startswith(("http://", "https://"))


_LONGEST = 200


def redacted(reference: str) -> str:
    """A reference as errors may quote it: a URL without credentials, query and fragment, which may hold secrets."""
    scheme, sign, rest = reference.partition("://")
    if sign:
        host, slash, path = rest.partition("?")[0].partition("#")[0].partition("/")
        reference = f"{scheme}{sign}{host.rpartition('@')[2]}{slash}{path}"
    return reference if len(reference) <= _LONGEST else f"{reference[: _LONGEST - 1]}…"


def origin_of(message: JsonObject, origin: str | None) -> str | None:
    """Where a message of a context with this origin was read from; a context from outside can't set it."""
    return origin if is_url(origin) else message.get(ORIGIN, origin)


def carried_over(message: JsonObject, origin: str | None, into: str | None) -> JsonObject:
    """A message that crosses from a context of one origin into that of another."""
    crossing = {key: value for key, value in message.items() if key != ORIGIN}
    if message.get("type") in MEDIA:
        source, needs_origin = media_origin(message, origin), "path" in message
    else:
        source, needs_origin = origin_of(message, origin), message.get("type") == "tool"
    return {**crossing, ORIGIN: source} if needs_origin and source != into else crossing


def media_origin(message: JsonObject, origin: str | None) -> str | None:
    """Where a path in a message of a context of this origin starts from (M10).

    Its mark counts also in a context from outside, which may have been handed a picture from here: what is read from a
    URL is read without marks (see `Context`).
    """
    return message.get(ORIGIN, origin)


class Progress(Protocol):
    """Tells how far a call is: how much is done, of how much, and what is being done (`events.CallProgress`)."""

    def __call__(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell it; nothing happens where nobody listens, and once the call has ended.

        Args:
            done: how much is done, in any unit.
            total: of how much, in the same unit; None where that is not known.
            message: what is done now, in a few words for people.
        """
        ...


class Memory:
    """The folded values of all data kinds, kept up to date write by write."""

    def __init__(self) -> None:
        self._kinds: dict[str, Overlay] = {}
        self._trails: dict[str, Trail] = {}

    def write(self, write: Write) -> None:
        """Apply one write.

        Raises:
            UnfitWrite: the value there can't take it.
        """
        overlay = self._kinds.get(write.kind)
        if overlay is None:
            overlay = self._kinds[write.kind] = Overlay()
        trail = self._trails.get(write.kind)
        if trail is None and not write.marks:
            overlay.write(write.method, write.path, write.value, write.instance)
            return
        trail = trail or Trail()
        if write.method == "set" and not write.path and write.instance is None:
            overlay.write("set", (), write.value)
            trail.whole = write.marks
            self._trails[write.kind] = trail
            return
        old = overlay.read(write.path, write.instance)
        steps = list(trail.steps(write.method, write.path, write.value, write.marks, write.instance, old))
        overlay.write(write.method, write.path, write.value, write.instance)
        for path, marks in steps:
            trail.write(path, marks, write.instance)
        self._trails[write.kind] = trail

    def read(self, reference: Reference, instance: str | None = None) -> Any:
        """What a reference names, as an instance sees it, or MISSING; not to be changed."""
        overlay = self._kinds.get(reference.kind)
        return MISSING if overlay is None else overlay.read(reference.path, instance)

    def marks(self, reference: Reference, instance: str | None = None) -> Marks:
        """The sources of the value that a reference names, as an instance sees it (S10)."""
        trail = self._trails.get(reference.kind)
        return NONE if trail is None else trail.read(reference.path, instance)

    def own_value(self, kind: str, instance: str) -> Any:
        """What an instance itself has written to a kind, folded over the shared value, or MISSING."""
        overlay = self._kinds.get(kind)
        return MISSING if overlay is None else overlay.own_members(instance)

    def __contains__(self, kind: object) -> bool:
        return kind in self._kinds

    def take(self, kind: str, other: Memory) -> None:
        """Take over a kind from another memory, which must no longer be used for it."""
        if kind in other._kinds:
            self._kinds[kind] = other._kinds[kind]
        if kind in other._trails:
            self._trails[kind] = other._trails[kind]

    def kinds(self) -> list[str]:
        """The kinds that anything was written of, in the order of their first message."""
        return list(self._kinds)


class Messages(Sequence[JsonObject]):
    """The log of a context as a sequence, with what is known of it as a whole."""

    __slots__ = ("_data_kinds", "_messages", "_origin")
    _data_kinds: frozenset[str]
    _messages: tuple[JsonObject, ...]
    _origin: str | None

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[JsonObject]:
        return iter(self._messages)

    @property
    def instances(self) -> list[str]:
        """The ids of the instances, in the order of their first message."""
        instances = (instance_of(message) for message in self._messages)
        return list(dict.fromkeys(instance for instance in instances if instance is not None))

    @property
    def messages(self) -> list[JsonObject]:
        """A new list of the messages."""
        return list(self._messages)

    def kind_of(self, message: JsonObject) -> str | None:
        """The kind of a data message of this context, None for other messages."""
        return kind_of(message, self._data_kinds)

    @property
    def data_kinds(self) -> frozenset[str]:
        """The message types that carry data in this context."""
        return self._data_kinds

    @property
    def origin(self) -> str | None:
        """The file or URL that the messages were read from, None for code."""
        return self._origin


class Context(Messages):
    """An immutable sequence of messages, with the folded value of each data kind by its name.

    `context.state` and `context["state"]` are the folded value of the kind `state`, `context[0]` the first message.
    Values are copies. A text among the messages is the user's. `kinds` are types registered in addition to the
    protocol's, `data_kinds` those that carry data.
    `origin` is the file or URL that the messages were read from, None for code: what relative paths in them start from.

    Raises:
        MessageError: for a malformed message, naming its index.
    """

    __slots__ = ("_brought", "_instance", "_key", "_lease", "_memory", "_progress")

    def __init__(
        self,
        messages: Iterable[Mapping[str, Any] | str] | str = (),
        *,
        kinds: Collection[str] = (),
        data_kinds: Collection[str] = DATA_KINDS,
        origin: str | None = None,
    ) -> None:
        if isinstance(messages, str):
            messages = [messages]
        self._data_kinds = frozenset(data_kinds) | DATA_KINDS
        self._origin = origin
        if isinstance(messages, Context):
            self._messages = messages._messages
            self._origin = origin or messages._origin
        else:
            if isinstance(messages, Mapping) or not isinstance(messages, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] -- it is whatever a caller gives
                raise MessageError(f"a context is a text or a list of messages, not {messages!r}")
            self._messages = tuple(
                check_message(_as_message(item), index, kinds, self._data_kinds) for index, item in enumerate(messages)
            )
            if any(message.get("type") == "plan" for message in self._messages):
                self._messages = read_plans(self._messages, self._data_kinds)
            if is_url(origin):  # a context from outside can't choose where its paths start (D12)
                for message in self._messages:
                    message.pop(ORIGIN, None)
        self._memory: Memory | None = None
        self._instance: str | None = None
        self._key = ""
        self._progress: Progress = unheard
        self._lease: int | None = None
        self._brought: tuple[Any, ...] = ()

    @classmethod
    def checked(
        cls,
        messages: Iterable[JsonObject],
        data_kinds: Collection[str] = DATA_KINDS,
        origin: str | None = None,
        brought: Sequence[Any] = (),
    ) -> Context:
        """A context of messages that have been judged before, with these `data_kinds`, read from `origin`.

        `brought` are marks that have been taken off the messages.
        """
        context = cls(data_kinds=data_kinds, origin=origin)
        context._messages = tuple(messages)
        context._brought = tuple(brought)
        return context

    def with_messages(self, messages: Iterable[JsonObject]) -> Context:
        """A context of these messages, which have been judged before, of the data kinds and the origin of this one."""
        return Context.checked(messages, self._data_kinds, self._origin)

    @overload
    def __getitem__(self, index: int) -> JsonObject: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[JsonObject]: ...
    @overload
    def __getitem__(self, index: str) -> Any: ...
    def __getitem__(self, index: int | slice | str) -> Any:
        if isinstance(index, str):
            value = self._read(Reference(index))
            if value is MISSING:
                raise KeyError(f"the context holds no {index!r}; it holds {', '.join(self.data) or 'no data'}")
            return exported(value)
        return self._messages[index]

    def __getattr__(self, kind: str) -> Any:
        if kind.startswith("_"):
            raise AttributeError(kind)
        value = self._read(Reference(kind))
        if value is MISSING:
            raise AttributeError(f"the context holds no {kind!r}; it holds {', '.join(self.data) or 'no data'}")
        return exported(value)

    def __contains__(self, item: object) -> bool:
        if isinstance(item, str):
            return self._read(Reference(item)) is not MISSING
        return item in self._messages

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Context):
            return self._messages == other._messages and self._instance == other._instance
        return isinstance(other, list) and list(self._messages) == other

    def __hash__(self) -> int:
        return hash((len(self._messages), self._instance))

    def __repr__(self) -> str:
        return f"<Context of {len(self._messages)} messages>"

    def get(self, reference: str, default: Any = None) -> Any:
        """The value of an expression such as `†state.a[0]`, or the default if there is no value.

        Raises:
            MessageError: the text is not an expression.
        """
        if not isinstance(reference, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- as above
            raise MessageError(f"a reference is a text such as '†state.name', not {reference!r}")
        try:
            expression: Expression = parse(reference)
        except ReferenceSyntax as error:
            raise MessageError(str(error)) from None
        value = evaluate(expression, self._read)
        return default if value is MISSING else exported(value)

    @property
    def key(self) -> str:
        """The idempotency key of the call that this context was handed to, empty outside of a call."""
        return self._key

    @property
    def progress(self) -> Progress:
        """Tells how far the call is that this context was handed to: `context.progress(3, 10, "reading")`."""
        return self._progress

    @property
    def lease(self) -> int | None:
        """The number of the ownership under which the call is made, where the run is one that others may take over.

        A sink that has seen a higher one for this run can refuse the call: who makes it has lost the run.
        """
        return self._lease

    def keyed(self, key: str, lease: int | None = None, progress: Progress | None = None) -> Context:
        """The same context, handed to the call of this idempotency key, made under this lease.

        `progress` is who hears how far it is.
        """
        view = Context.checked(self._messages, self._data_kinds, self._origin, self._brought)
        view._memory, view._instance, view._key, view._lease = self._memory, self._instance, key, lease
        view._progress = progress or unheard
        return view

    def of(self, instance: str) -> Context:
        """The same context as one of its instances sees it: its own values over the shared ones."""
        view = self.keyed(self._key, self._lease, self._progress)
        view._instance = instance
        return view

    @property
    def data(self) -> dict[str, Any]:
        """The folded value of every data kind."""
        values = {kind: self._read(Reference(kind)) for kind in self.memory().kinds()}
        return {kind: exported(value) for kind, value in values.items() if value is not MISSING}

    def extended(self, messages: Iterable[Mapping[str, Any] | str]) -> Context:
        """The same context with more messages behind it, texts of the user among them.

        Raises:
            MessageError: for a malformed one among them, naming its index there.
        """
        added = Context(messages, data_kinds=self._data_kinds)
        return self.with_messages([*self._messages, *added])

    def memory(self) -> Memory:
        """The folded values, made on first use."""
        if self._memory is None:
            memory = Memory()
            for index, message in applied(self._messages):
                absorb(memory, message, index, self._data_kinds)
            self._memory = memory
        return self._memory

    def _read(self, reference: Reference) -> Any:
        return self.memory().read(reference, self._instance)


def marked(context: Context) -> Iterator[JsonObject]:
    """The messages, with marks of what calls have brought of them where they have crossed a scope (S10)."""
    brought = context._brought  # pyright: ignore[reportPrivateUsage] -- a kind of a user's may have any other name
    for message, mark in zip(context, brought or (False,) * len(context), strict=True):
        yield message if mark is False else {**message, BROUGHT: mark}


def is_marked(context: Context) -> bool:
    """Whether calls have brought any of what has crossed a scope into a context."""
    return any(mark is not False for mark in context._brought)  # pyright: ignore[reportPrivateUsage] -- as above


def _as_message(message: Mapping[str, Any] | str) -> Mapping[str, Any]:
    return {"type": "text", "text": message} if isinstance(message, str) else message


def unheard(done: float, total: float | None = None, message: str | None = None) -> None:
    """Ignores progress."""


def absorb(memory: Memory, message: JsonObject, index: int, data_kinds: Collection[str]) -> None:
    """Fold one message into a memory; what a call has written where it doesn't fit is left out, as its call has failed.

    Raises:
        MessageError: for one that can't be folded, naming its index.
    """
    write = write_of(message, index, data_kinds)
    if write is None:
        return
    try:
        memory.write(write)
    except UnfitWrite as error:
        if OF not in message or "_call" not in message:
            raise MessageError(f"it can't be folded into {write.kind!r}: {error}", index=index) from None

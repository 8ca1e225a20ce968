"""A kind of message: its form, what its keys mean, and how it is shown. One file of this package a kind.

From the kinds are computed: what a context takes, the published format of an Idea, what an Activity may return, and
what a model is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal, Protocol, TypeAlias

from ..schema.json import JsonObject

BLOCK_SIGIL = "¶"


class Volatility(IntEnum):
    """How soon a block changes: never in a run, only by growing, or with every tick."""

    FROZEN = 0
    APPENDED = 1
    DERIVED = 2


@dataclass(frozen=True, slots=True)
class Block:
    """One message as the model will see it."""

    role: Literal["system", "user", "assistant"]
    text: str
    volatility: Volatility = Volatility.FROZEN
    media: JsonObject | None = None
    """The message whose content goes with the text."""


def of_origin(message: JsonObject) -> Volatility:
    """The volatility of a message: what the author wrote is frozen, what calls have written comes after it."""
    return Volatility.APPENDED if "_call" in message else Volatility.FROZEN


Trace: TypeAlias = Literal["result", "item", "skip", "record"]
"""What a call without an output path leaves: its result, the result for one item of a list, or only a record that it
was skipped or made."""


class View(Protocol):
    """What a message may ask of its context while it is shown; each rendering has one view."""

    @property
    def instances(self) -> Sequence[str]:
        """The ids of the instances."""
        ...

    def kind_of(self, message: JsonObject) -> str | None:
        """The kind of a data message, None for other messages."""
        ...

    def trace_of(self, message: JsonObject) -> Trace | None:
        """Which trace of a call without an output path a message is, None for any other message."""
        ...

    def number(self, message: JsonObject) -> int:
        """The number under which a result is shown."""
        ...

    def failed(self, message: JsonObject) -> str:
        """How the call behind a result has failed, if its `_else` stands for it; else empty."""
        ...

    def call(self, message: JsonObject) -> JsonObject:
        """The call that a message is about, as it is shown."""
        ...

    def error(self, message: JsonObject) -> str:
        """The text of an error as it is shown."""
        ...

    def output(self, message: JsonObject) -> str:
        """The text of a delivered output as it is shown."""
        ...

    def clipped(self, message: JsonObject) -> str:
        """The value of a result as it is shown: a long one is cut, with its size."""
        ...

    def is_first(self, kind: str) -> bool:
        """Whether a data kind is shown for the first time; it is shown once."""
        ...

    def is_written(self, kind: str) -> bool:
        """Whether calls have written any of a data kind."""
        ...

    def notes(self, kind: str) -> JsonObject:
        """The schema and the description of a data kind."""
        ...

    def written(self, kind: str) -> Iterable[str]:
        """What is shown, in addition to the value, of what calls have written to a data kind."""
        ...

    def value(self, kind: str, instance: str | None = None) -> Any:
        """A copy of the folded value of a data kind, shared or an instance's own; MISSING if there is none."""
        ...


Show = Callable[[JsonObject, View], Iterable[Block]]
"""What a model is shown of a message."""
JsonType = Literal["string", "object", "array", "boolean"]
"""The name of a type in JSON Schema."""
_CLASSES: dict[JsonType, type] = {"string": str, "object": dict, "array": list, "boolean": bool}
_WORDS: dict[JsonType, str] = {"string": "a string", "object": "an object", "array": "a list", "boolean": "a boolean"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key of a kind's messages: what it means, and which values it takes; any where neither types nor choices."""

    about: str
    types: tuple[JsonType, ...] = ()
    choices: tuple[str, ...] = ()
    items: JsonObject | None = None
    """The published schema of a list's items, which are judged where they are read."""
    is_required: bool = False
    members: Mapping[str, Key] = field(default_factory=dict[str, "Key"])
    """The known members of an object, which may have others, too."""

    def takes(self, value: object) -> bool:
        """Whether the key may have this value."""
        if self.choices:
            return value in self.choices
        return not self.types or any(isinstance(value, _CLASSES[name]) for name in self.types)

    @property
    def wanted(self) -> str:
        """The values that it takes, in words."""
        words = self.choices or [_WORDS[name] for name in self.types]
        return " or ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of message: its `type`, its form, and how it is shown to a model."""

    type: str
    about: str
    """What its messages are for, in the published format."""
    keys: Mapping[str, Key] = field(default_factory=dict[str, Key])
    show: Show
    one_of: tuple[str, ...] = ()
    """Keys of which a message has exactly one; none of them may be null."""
    judge: Callable[[JsonObject], str | None] | None = None
    """A further check of messages whose keys are right."""
    value: type[Any] | None = None
    """Its messages as objects, which an Activity may return; None if no Activity may leave one."""
    has_short_form: bool = False
    """Whether it is data whose own key may be left out: other keys are the data then."""

    def complaint(self, message: JsonObject) -> str | None:
        """What is wrong with the form of a message of this kind, None if nothing is."""
        if (complaint := self._misfit(message, self.keys, "")) is not None:
            return complaint
        if self.one_of and sum(name in message for name in self.one_of) != 1:
            return f"a message of type {self.type} needs exactly one of {', '.join(map(repr, self.one_of))}"
        if self.judge is not None and (complaint := self.judge(message)) is not None:
            return complaint
        extra = [name for name in message if name not in self.keys and name[:1] != "_" and name != "type"]
        if not self.has_short_form:
            return f"{self._named} has no {extra[0]!r}" if extra else None
        if self.type in extra and len(extra) > 1:
            member = next(name for name in extra if name != self.type)
            return f"{self._named} has both {self.type!r} and, in short form, {member!r}"
        return None

    @property
    def _named(self) -> str:
        return f"{'an' if self.type[:1] in 'aeiou' else 'a'} {self.type} message"

    def _misfit(self, value: JsonObject, keys: Mapping[str, Key], above: str) -> str | None:
        """Which member of a message, or of an object in it, is missing or not what it must be."""
        for name, key in keys.items():
            if name not in value:
                if key.is_required:
                    return f"{self._named} needs {above + name!r}"
                continue
            if not key.takes(value[name]):
                return f"{above + name!r} of {self._named} must be {key.wanted}, not {_clipped(value[name])}"
            if key.members and (complaint := self._misfit(value[name], key.members, f"{above}{name}.")) is not None:
                return complaint
        return None


def _clipped(value: object, most: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}…"


NOTES = {
    "schema": Key(types=("object", "boolean"), about="The JSON Schema that the data should have."),
    "description": Key(about="What the data is, for the model."),
}
"""The keys by which any data message may describe its data."""
ROLE = Key(choices=("system", "user", "assistant"), about="Who says it; the user by default.")


def show_nothing(_message: JsonObject, _view: View) -> Iterable[Block]:
    """Show nothing of a message."""
    return ()

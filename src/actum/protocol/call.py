"""A call: an instance of a tool, as JSON that can't be changed; and its place, down to items, into delegates (C9)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn, cast

from ..errors import InvalidParameters
from ..schema.json import Json, JsonObject, NotJson, encode, plain

SPELLINGS = {"_module": "_delegate", "_imports": "_scopes", "_why": "_reasoningForCall"}
"""Other spellings of meta-properties, accepted everywhere (T2)."""

META: Mapping[str, str] = {
    "_tool": "The name of the tool that is called.",
    "_activity": "The Activity that carries the call out, instead of one of the tool's name; empty for none (A1).",
    "_delegate": "What carries the call out in isolation: a registered name, a path, an `idea:` reference, an http(s) "
    "URL, or `anonymous` (D2).",
    "_scopes": "What of the context a delegate or an Activity is given: kinds, message types or paths (S1).",
    "_output": "In a tool the schema of the result; in a call the result that the model itself has written, null for "
    "not yet (C4).",
    "_outputPath": "Where the result is written, a path such as †state.weather (O3).",
    "_outputMethod": "How it is written there; `set` by default (O4).",
    "_instance": "The instance whose data the call reads and writes (I2).",
    "_reasoningForCall": "Why the call is made, in the model's words (T7).",
}
"""The meta-properties of the protocol, and what each says (T1)."""

WITH = "_with"
"""References beside the literal parameters, in the *aside* form (T9)."""
EACH = "_each"
"""The list for whose items a call is made, one by one (C12)."""
WHEN = "_when"
"""The condition that decides first whether a call is made (C10)."""
VALUE = "_value"
"""What an element holds that only computes, and names no tool (C13)."""
THEN = "_then"
"""The key of an element that isn't a call: what is listed behind it comes after what is listed before it (C11)."""
ELSE = "_else"
"""What a call gives where it fails, or one for an item where that does (C14)."""
EXPECT = "_expect"
"""What an element that isn't a call holds: what has to be true for what comes behind it, and for the output (C16)."""
DERIVED = "_derived"
"""On a parameter: whether it takes what a reader or an expression has made of data (T1). On a message, a mark: the
places in its call that hold such values, and the empty one where the result itself is one (S10)."""
ONLY_THEN = f'what orders the others is {{"{THEN}": true}} and nothing else: a call is an element of its own'
"""The complaint about such an element that holds anything else."""
ONLY_EXPECT = f'what is expected is {{"{EXPECT}": …}} and nothing else: a call is an element of its own'
"""The complaint about such an element that holds anything else."""


class Call(dict[str, Any]):
    """A call as it was authored: `call["city"]`, `call.tool`, `call.parameters`.

    A JSON object like any other, but immutable. It is made of a mapping, of keywords, or of both: `Call(call, days=3)`
    is the same call with another parameter. Other spellings of meta-properties are normalised.

    Raises:
        InvalidParameters: it is not JSON, or two spellings of one meta-property differ.
    """

    __slots__ = ()

    def __init__(self, call: Mapping[str, Any] | None = None, /, **changes: Any) -> None:
        try:
            plain_call = cast("JsonObject", plain({**(call or {}), **changes}))
        except NotJson as error:
            raise InvalidParameters(str(error)) from None
        super().__init__(normalised(plain_call))

    @classmethod
    def of(cls, call: JsonObject) -> Call:
        """A call made of JSON that was judged before; it takes the object over."""
        self = cls.__new__(cls)
        dict.__init__(self, call)  # pyright: ignore[reportUnknownMemberType] -- the overloads of dict
        return self

    @property
    def tool(self) -> str:
        """The name of its tool, empty if it says none."""
        name = self.get("_tool")
        return name if isinstance(name, str) else ""

    @property
    def parameters(self) -> JsonObject:
        """Everything that is not a meta-property."""
        return {key: value for key, value in self.items() if key[:1] != "_"}

    @property
    def is_then(self) -> bool:
        """Whether this element of `calls` is not a call, but orders those before and after it."""
        return THEN in self

    @property
    def has_value(self) -> bool:
        """Whether `†calls.N` may name this element; what orders the others has none."""
        return THEN not in self and EXPECT not in self

    @property
    def label(self) -> str:
        """What this element is called: by its tool, or by what it does instead of calling one."""
        return next((key for key in (VALUE, THEN, EXPECT) if key in self), self.tool)

    @property
    def instance(self) -> str | None:
        """The instance it is for, None for the shared layer."""
        return self.get("_instance")

    @property
    def output(self) -> Json:
        """The result that the model wrote itself, None if it has not."""
        return self.get("_output")

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride] -- immutable, unlike dict
        return hash((self.tool, len(self)))

    def __repr__(self) -> str:
        return f"Call({super().__repr__()})"

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("a Call can't be changed; Call(call, parameter=value) makes another")

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = _refuse  # pyright: ignore
    __ior__ = _refuse  # pyright: ignore[reportAssignmentType] -- refused like every other change

    def __reduce__(self) -> tuple[type[Call], tuple[dict[str, Any]]]:
        return Call, (dict(self),)

    def copy(self) -> Call:
        """The same call."""
        return self


def owed_key(call: Mapping[str, Any]) -> str:
    """What a call whose result the model owes and the call that brings it share (C4)."""
    rest = {key: value for key, value in call.items() if key not in {"_output", "_reasoningForCall"}}
    return encode(rest, sort_keys=True)


def normalised(call: JsonObject) -> JsonObject:
    """The call with the protocol's spellings of its meta-properties.

    Raises:
        InvalidParameters: two spellings of one meta-property have different values (T2).
    """
    if SPELLINGS.keys().isdisjoint(call):
        return call
    result: JsonObject = {}
    spelt: dict[str, str] = {}
    for key, value in call.items():
        name = SPELLINGS.get(key, key)
        if name in result and result[name] != value:
            raise InvalidParameters(two_spellings(spelt[name], key), path=key)
        result[name] = value
        spelt.setdefault(name, key)
    return result


def two_spellings(first: str, second: str) -> str:
    """Why two keys can't both be kept (T2)."""
    return f"{first!r} and {second!r} are spellings of one meta-property, and their values differ"


_NUMBER = "(0|[1-9][0-9]{0,8})"
_STEP = re.compile(rf"{_NUMBER}(?:\.{_NUMBER}(?:\.{_NUMBER})?)?")
MOST_STEPS = 64
"""How many delegates a place may lead through; far more than delegates may nest."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of one call in its run; without an index, that of the answer itself.

    `answer` is the number of the answer, `index` the element of its `calls`, `item` the item of an `_each`; `inner` is
    the place within the delegate that the call leads to. Written as `3.0`, `3.0.17` and `3.0/1.2`.
    """

    answer: int
    index: int | None = None
    item: int | None = None
    inner: Place | None = None

    @classmethod
    def parse(cls, text: str) -> Place:
        """Read a place.

        Raises:
            ValueError: the text is not a place.
        """
        place: Place | None = None
        for step in reversed(text.split("/", MOST_STEPS)):
            match = _STEP.fullmatch(step)
            if match is None or (place is not None and match[2] is None):  # only a call leads to a delegate
                break
            place = Place(int(match[1]), _optional(match[2]), _optional(match[3]), place)
        else:
            if place is not None:
                return place
        raise ValueError(f"{text[:100]!r} is not a place, for example 3.0")

    def __str__(self) -> str:
        text = str(self.answer) if self.index is None else f"{self.answer}.{self.index}"
        if self.item is not None:
            text = f"{text}.{self.item}"
        return text if self.inner is None else f"{text}/{self.inner}"

    def of_item(self, item: int) -> Place:
        """The place of the call for one item, of the call for all of them."""
        return Place(self.answer, self.index, item)

    def below(self, inner: Place) -> Place:
        """The place `inner` of the delegate that the call at this place leads to, as the run around it names it."""
        return replace(self, inner=inner if self.inner is None else self.inner.below(inner))

    @property
    def parent(self) -> Place | None:
        """The place of the call for all items, of the call for one of them; None for any other."""
        if self.inner is None:
            return None if self.item is None else replace(self, item=None)
        inner = self.inner.parent
        return None if inner is None else replace(self, inner=inner)


def is_place(text: object) -> bool:
    """Whether a value is a place as text."""
    try:
        Place.parse(str(text))
    except ValueError:
        return False
    return isinstance(text, str)


def _optional(number: str | None) -> int | None:
    return None if number is None else int(number)

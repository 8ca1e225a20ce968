"""What no term gives: one small request reads it in a text that holds it, or judges it (R18)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ..app.recorded import RecordedCall
from ..dataflow.computing.operands import is_number
from ..dataflow.expression import MISSING
from ..dataflow.fold import Fold
from ..protocol.reader import READ, is_reader_call
from ..schema.json import Json, JsonObject, encode, is_object
from ..schema.walk import unused
from .author import Author
from .explanation import Explanation, Leaf
from .shapes import ExampleShape
from .terms import KnownValue, value_key

_ASK: Final = "As the text has it, word for word"
_SHORTEST_TEXT = 3
"""How many words a text has at least that something is read of."""


@dataclass(frozen=True, slots=True)
class ReadValue:
    """A value that is read: its path in the parameters of a slot's call or, without a slot, in the output."""

    slot: int | None
    path: tuple[str | int, ...]
    schema: JsonObject
    about: str

    def value(self, shape: ExampleShape, at: int) -> Json:
        """The value in an example; None if it has none."""
        calls = () if self.slot is None else shape.slots[self.slot].calls[at]
        whole = shape.examples[at].output if self.slot is None else calls[0].arguments if calls else None
        value = Fold(whole).read(self.path)
        return None if value is MISSING else value


@dataclass(frozen=True, slots=True)
class TextReading:
    """A call of the reader: its slot, the references that it is shown, and the values that it reads, by name."""

    slot: int
    of: Json
    ask: str
    members: Mapping[str, ReadValue]

    @property
    def call(self) -> JsonObject:
        """The element of the plan."""
        names = list(self.members)
        shape: JsonObject = {
            "type": "object",
            "properties": {name: member.schema for name, member in self.members.items()},
            "required": names,
            "additionalProperties": False,
        }
        ask = f"{self.ask}: {'; '.join(f'{name}, {member.about}' for name, member in self.members.items())}"
        return {"_tool": READ, "of": self.of, "ask": ask, "as": shape}

    def recorded(self, shape: ExampleShape, at: int, known: Mapping[str, Json]) -> RecordedCall:
        """The call in an example with the right answer; `known` are the example's values by reference."""
        arguments = {key: value for key, value in self.call.items() if key != "_tool"}
        values = {name: member.value(shape, at) for name, member in self.members.items()}
        of: Any = self.of
        shown = {key: known.get(reference) for key, reference in of.items()} if is_object(of) else known.get(of)
        return RecordedCall(tool=READ, arguments={**arguments, "of": shown}, value=values)


@dataclass
class Holes:
    """Finds the text that values stand in. `called` are the tools of the slots; the slots of readers follow.

    With `fills`, what stands nowhere is judged: one of several declared values, a boolean, or prose of the output.
    """

    called: Sequence[str]
    sources: Sequence[KnownValue]
    author: Author
    secrets: Collection[str] = ()
    fills: bool = False
    _calls: dict[str, TextReading] = field(default_factory=dict[str, TextReading])
    _named: dict[tuple[int, tuple[str, ...]], str] = field(default_factory=dict[tuple[int, tuple[str, ...]], str])

    def filled(self, values: Sequence[Json], place: Leaf) -> Explanation | None:
        """What fills a hole; None if nothing may."""
        if not is_reader_call({"_tool": READ}, self.author.tools):
            return None
        member = self._member(values, place)
        sources = [source for source in self.sources if source.step in {-1, *place.allowed}]
        for source in sources:
            if not self._is_free(source) or not _stand_in(values, source):
                continue
            at = self._asked_for(source.reference, _ASK, member, values)
            condition = f"{at if isinstance(values[0], str) else f'str({at})'} in {source.reference}"
            why = f"a model reads it in {source.reference}, where it has to stand"
            return Explanation(leaf=place.at, text=at, how="read", why=why, group=at, expects=(condition,))
        if not self.fills or not _may_be_judged(values, member.schema, place.tool):
            return None
        shown: JsonObject = {self._shown(source): source.reference for source in sources if self._is_shown(source)}
        at = self._asked_for(shown, "\n".join(self.author.texts), member, values)
        return Explanation(leaf=place.at, text=at, how="judged", why="a model says it: no proof by bytes", group=at)

    def readings(self, used: Collection[str]) -> Iterator[TextReading]:
        """The calls of the reader, with the values that are used."""
        for reading in self._calls.values():
            names = [name for name in reading.members if f"†calls.{reading.slot}.{name}" in used]
            if names:
                yield replace(reading, members={name: reading.members[name] for name in names})

    def _asked_for(self, of: Json, ask: str, member: ReadValue, values: Sequence[Json]) -> str:
        """The reference to what a reader answers that is shown this; equal values are asked for once."""
        last = len(self.called) + len(self._calls)
        call = self._calls.setdefault(encode([of, ask]), TextReading(last, of, ask, {}))
        keys = call.slot, tuple(map(value_key, values))
        if keys not in self._named:
            name = self._named[keys] = _name(member.path, call.members)
            self._calls[encode([of, ask])] = replace(call, members={**call.members, name: member})
        return f"†calls.{call.slot}.{self._named[keys]}"

    def _is_free(self, source: KnownValue) -> bool:
        """Whether it is a text of several words that may be shown."""
        return all(isinstance(text, str) and len(text.split()) >= _SHORTEST_TEXT for text in source.values) and (
            not self._is_secret(source)
        )

    def _is_shown(self, source: KnownValue) -> bool:
        """Whether it is shown to a model that judges: a value of the input, or a result, but no secret."""
        is_whole = source.text.count(".") == 1 and (source.step >= 0 or source.text.startswith("input."))
        return is_whole and not self._is_secret(source)

    def _is_secret(self, source: KnownValue) -> bool:
        return any(secret in value_key(value) for value in source.values for secret in self.secrets)

    def _shown(self, source: KnownValue) -> str:
        """The name under which it is shown: its key in the input, or the tool that returned it."""
        tool = "" if source.step < 0 else self.called[source.step]
        return f"{tool} {source.step}" if self.called.count(tool) > 1 else tool or source.text.removeprefix("input.")

    def _member(self, values: Sequence[Json], place: Leaf) -> ReadValue:
        declared = self.author.schema_of(place.path, place.tool)
        whole = all(isinstance(value, int) for value in values)
        kind = "string" if isinstance(values[0], str) else "integer" if whole else "number"
        options: Any = declared.get("enum")
        kind = "boolean" if isinstance(values[0], bool) else kind
        schema: JsonObject = ({} if options else {"type": kind}) | ({"enum": options} if options else {})
        description = str(declared.get("description") or declared.get("title") or "")
        whose = place.tool or "the answer"
        return ReadValue(place.slot, place.path, schema, f"for {whose}" + (f" ({description})" if description else ""))


def _may_be_judged(values: Sequence[Json], schema: JsonObject, tool: str | None) -> bool:
    """Whether values are booleans, among several declared values, or prose of the output."""
    options: Any = schema.get("enum") or ()
    is_prose = tool is None and all(isinstance(value, str) for value in values)
    return is_prose or all(isinstance(value, bool) or value in options for value in values)


def _stand_in(values: Sequence[Json], source: KnownValue) -> bool:
    """Whether each value stands in its text as one or more whole words."""
    words = [value if isinstance(value, str) else encode(value) if is_number(value) else "" for value in values]
    return all(
        word.strip() and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", str(text))
        for word, text in zip(words, source.values, strict=True)
    )


def _name(path: Sequence[str | int], taken: Collection[str]) -> str:
    """A name for what stands at a path that isn't taken."""
    key = next((part for part in reversed(path) if isinstance(part, str)), "value")
    return unused(re.sub(r"\W|^(?=\d)", "_", key, flags=re.ASCII), taken)

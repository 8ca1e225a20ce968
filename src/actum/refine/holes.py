"""What nothing known explains and a text holds word for word: one small request reads it there (R18)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..app.recorded import RecordedCall
from ..dataflow.computing.operands import is_number
from ..dataflow.expression import MISSING
from ..dataflow.fold import Fold
from ..protocol.reader import READ, is_read
from ..schema.json import Json, JsonObject, encode
from .author import Author
from .shapes import ExampleShape
from .terms import KnownValue, value_key

_ASK: Final = "As the text has it, word for word: {}"
_SHORTEST_TEXT = 3
"""How many words a text has at least that something is read of."""


@dataclass(frozen=True, slots=True)
class ReadValue:
    """One value that is read: of the parameter of a slot's call or, without a slot, of the output, at a path."""

    slot: int | None
    path: tuple[str | int, ...]
    schema: JsonObject
    about: str

    def value(self, shape: ExampleShape, at: int) -> Json:
        """What it was in an example; None where that has none."""
        calls = () if self.slot is None else shape.slots[self.slot].calls[at]
        whole = shape.examples[at].output if self.slot is None else calls[0].arguments if calls else None
        found = Fold(whole).read(self.path)
        return None if found is MISSING else found


@dataclass(frozen=True, slots=True)
class TextReading:
    """A call of the reader: its slot, the text that it reads, and what of it, by names."""

    slot: int
    source: KnownValue
    members: Mapping[str, ReadValue]

    @property
    def call(self) -> JsonObject:
        """The element of the plan."""
        names = list(self.members)
        shape: JsonObject = {
            "type": "object",
            "properties": {name: one.schema for name, one in self.members.items()},
            "required": names,
            "additionalProperties": False,
        }
        ask = _ASK.format("; ".join(f"{name}, {one.about}" for name, one in self.members.items()))
        return {"_tool": READ, "of": self.source.reference, "ask": ask, "as": shape}

    def recorded(self, shape: ExampleShape, at: int, known: Mapping[str, Json]) -> RecordedCall:
        """The call in an example, as a reader answers it that reads what was meant; `known` is what was known there."""
        own = {key: value for key, value in self.call.items() if key != "_tool"}
        values = {name: one.value(shape, at) for name, one in self.members.items()}
        return RecordedCall(tool=READ, arguments={**own, "of": known.get(self.source.reference)}, value=values)


@dataclass
class Holes:
    """Finds the text that values stand in. `first` is the number of the first slot that readers have."""

    first: int
    sources: Sequence[KnownValue]
    author: Author
    secrets: Collection[str] = ()
    _members: dict[str, dict[str, ReadValue]] = field(default_factory=dict[str, dict[str, ReadValue]])
    _named: dict[tuple[str, tuple[str, ...]], str] = field(default_factory=dict[tuple[str, tuple[str, ...]], str])

    def reading(
        self,
        values: Sequence[Json],
        path: tuple[str | int, ...],
        slot: int | None,
        tool: str | None,
        allowed: Collection[int],
    ) -> tuple[str, str, KnownValue] | None:
        """By which reference values are read, the condition under which that holds, and the text that they stand in."""
        if not is_read({"_tool": READ}, self.author.tools):
            return None
        source = next((one for one in self._texts if one.step in {-1, *allowed} and _stand_in(values, one)), None)
        if source is None:
            return None
        keys = source.text, tuple(map(value_key, values))
        members = self._members.setdefault(source.text, {})
        if keys not in self._named:
            name = self._named[keys] = _name(path, members)
            members[name] = self._member(values, path, slot, tool)
        at = f"†calls.{self.first + list(self._members).index(source.text)}.{self._named[keys]}"
        is_text = isinstance(values[0], str)
        return at, f"{at if is_text else f'str({at})'} in {source.reference}", source

    def readings(self, used: Collection[str]) -> Iterator[TextReading]:
        """The calls of the reader, for those references alone that are used."""
        sources = {one.text: one for one in self._texts}
        for slot, (text, members) in enumerate(self._members.items(), self.first):
            own = {name: one for name, one in members.items() if f"†calls.{slot}.{name}" in used}
            if own:
                yield TextReading(slot, sources[text], own)

    @property
    def _texts(self) -> list[KnownValue]:
        """The free texts that were known."""
        return [one for one in self.sources if all(_is_free(text, self.secrets) for text in one.values)]

    def _member(
        self, values: Sequence[Json], path: tuple[str | int, ...], slot: int | None, tool: str | None
    ) -> ReadValue:
        declared = self.author.schema_of(path, tool)
        whole = all(isinstance(one, int) for one in values)
        kind = "string" if isinstance(values[0], str) else "integer" if whole else "number"
        options: Any = declared.get("enum")
        schema: JsonObject = {"type": kind} | ({"enum": options} if options else {})
        told = str(declared.get("description") or declared.get("title") or "")
        whose = "the answer" if tool is None else tool
        return ReadValue(slot, path, schema, f"for {whose}" + (f" ({told})" if told else ""))


def _is_free(text: Json, secrets: Collection[str]) -> bool:
    return isinstance(text, str) and len(text.split()) >= _SHORTEST_TEXT and not any(one in text for one in secrets)


def _stand_in(values: Sequence[Json], source: KnownValue) -> bool:
    """Whether each value stands in its text as a word, or as several."""
    words = [one if isinstance(one, str) else encode(one) if is_number(one) else "" for one in values]
    return all(
        word.strip() and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", str(text))
        for word, text in zip(words, source.values, strict=True)
    )


def _name(path: Sequence[str | int], taken: Collection[str]) -> str:
    """A name for what stands at a path, that no other has."""
    told = next((one for one in reversed(path) if isinstance(one, str)), "value")
    own = re.sub(r"\W|^(?=\d)", "_", told, flags=re.ASCII)
    return next(name for name in (own, *(f"{own}_{n}" for n in range(2, len(taken) + 3))) if name not in taken)

"""What nothing known explains: one small request reads it in a text that holds it, or judges it (R18)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ..app.recorded import RecordedCall
from ..dataflow.computing.operands import is_number
from ..dataflow.expression import MISSING
from ..dataflow.fold import Fold
from ..protocol.reader import READ, is_read
from ..schema.json import Json, JsonObject, encode, is_object
from .author import Author
from .explanation import Explanation, Leaf
from .shapes import ExampleShape
from .terms import KnownValue, value_key

_ASK: Final = "As the text has it, word for word"
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
    """A call of the reader: its slot, what it is shown, by references, and what it says of it, by names."""

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
            "properties": {name: one.schema for name, one in self.members.items()},
            "required": names,
            "additionalProperties": False,
        }
        ask = f"{self.ask}: {'; '.join(f'{name}, {one.about}' for name, one in self.members.items())}"
        return {"_tool": READ, "of": self.of, "ask": ask, "as": shape}

    def recorded(self, shape: ExampleShape, at: int, known: Mapping[str, Json]) -> RecordedCall:
        """The call in an example, as a reader answers it that reads what was meant; `known` is what was known there."""
        own = {key: value for key, value in self.call.items() if key != "_tool"}
        values = {name: one.value(shape, at) for name, one in self.members.items()}
        of: Any = self.of
        shown = {key: known.get(one) for key, one in of.items()} if is_object(of) else known.get(of)
        return RecordedCall(tool=READ, arguments={**own, "of": shown}, value=values)


@dataclass
class Holes:
    """Finds the text that values stand in. `called` are the tools of the slots, behind which readers have theirs.

    What stands nowhere is judged where `fills`: one of several declared values, a truth, or prose of the output.
    """

    called: Sequence[str]
    sources: Sequence[KnownValue]
    author: Author
    secrets: Collection[str] = ()
    fills: bool = False
    _calls: dict[str, TextReading] = field(default_factory=dict[str, TextReading])
    _named: dict[tuple[int, tuple[str, ...]], str] = field(default_factory=dict[tuple[int, tuple[str, ...]], str])

    def filled(self, values: Sequence[Json], place: Leaf) -> Explanation | None:
        """What fills a hole; None where nothing may."""
        if not is_read({"_tool": READ}, self.author.tools):
            return None
        member = self._member(values, place)
        known = [one for one in self.sources if one.step in {-1, *place.allowed}]
        source = next((one for one in known if self._is_free(one) and _stand_in(values, one)), None)
        if source is not None:
            at = self._said(source.reference, _ASK, member, values)
            condition = f"{at if isinstance(values[0], str) else f'str({at})'} in {source.reference}"
            why = f"a model reads it in {source.reference}, where it has to stand"
            return Explanation(leaf=place.at, text=at, how="read", why=why, group=at, expects=(condition,))
        if not self.fills or not _may_be_judged(values, member.schema, place.tool):
            return None
        shown: JsonObject = {self._shown(one): one.reference for one in known if self._is_shown(one)}
        at = self._said(shown, "\n".join(self.author.texts), member, values)
        return Explanation(leaf=place.at, text=at, how="judged", why="a model says it: no proof by bytes", group=at)

    def readings(self, used: Collection[str]) -> Iterator[TextReading]:
        """The calls of the reader, for those references alone that are used."""
        for one in self._calls.values():
            own = {name: member for name, member in one.members.items() if f"†calls.{one.slot}.{name}" in used}
            if own:
                yield replace(one, members=own)

    def _said(self, of: Json, ask: str, member: ReadValue, values: Sequence[Json]) -> str:
        """The reference to what a reader says that is shown this; the same values are said once."""
        last = len(self.called) + len(self._calls)
        call = self._calls.setdefault(encode([of, ask]), TextReading(last, of, ask, {}))
        keys = call.slot, tuple(map(value_key, values))
        if keys not in self._named:
            name = self._named[keys] = _name(member.path, call.members)
            self._calls[encode([of, ask])] = replace(call, members={**call.members, name: member})
        return f"†calls.{call.slot}.{self._named[keys]}"

    def _is_free(self, source: KnownValue) -> bool:
        """Whether it is a text that may be shown, of several words."""
        return all(isinstance(one, str) and len(one.split()) >= _SHORTEST_TEXT for one in source.values) and (
            not self._is_secret(source)
        )

    def _is_shown(self, source: KnownValue) -> bool:
        """Whether it is shown to who judges: a value of the input, or a result, but no secret."""
        is_whole = source.text.count(".") == 1 and (source.step >= 0 or source.text.startswith("input."))
        return is_whole and not self._is_secret(source)

    def _is_secret(self, source: KnownValue) -> bool:
        return any(secret in value_key(one) for one in source.values for secret in self.secrets)

    def _shown(self, source: KnownValue) -> str:
        """By which name it is shown: its key in the input, or the tool that has returned it."""
        tool = "" if source.step < 0 else self.called[source.step]
        return f"{tool} {source.step}" if self.called.count(tool) > 1 else tool or source.text.removeprefix("input.")

    def _member(self, values: Sequence[Json], place: Leaf) -> ReadValue:
        declared = self.author.schema_of(place.path, place.tool)
        whole = all(isinstance(one, int) for one in values)
        kind = "string" if isinstance(values[0], str) else "integer" if whole else "number"
        options: Any = declared.get("enum")
        kind = "boolean" if isinstance(values[0], bool) else kind
        schema: JsonObject = ({} if options else {"type": kind}) | ({"enum": options} if options else {})
        told = str(declared.get("description") or declared.get("title") or "")
        whose = place.tool or "the answer"
        return ReadValue(place.slot, place.path, schema, f"for {whose}" + (f" ({told})" if told else ""))


def _may_be_judged(values: Sequence[Json], schema: JsonObject, tool: str | None) -> bool:
    """Whether values are truths, of several that are declared, or prose of the output."""
    options: Any = schema.get("enum") or ()
    is_prose = tool is None and all(isinstance(one, str) for one in values)
    return is_prose or all(isinstance(one, bool) or one in options for one in values)


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

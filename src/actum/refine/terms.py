"""The terms that may explain a value: what is referred to, chosen, counted, computed or written of it (R9, R10)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from ..dataflow.reference import print_path
from ..schema.json import Json, encode, is_list, is_object
from .examples import Example

MOST_TERMS = 20_000
"""How many terms are looked at for one value."""


@dataclass(frozen=True, slots=True)
class KnownValue:
    """What a term may read: its text without the †, and its value in each example."""

    text: str
    values: tuple[Json, ...]

    @property
    def reference(self) -> str:
        """The same as a reference."""
        return f"†{self.text}"


@dataclass(frozen=True, slots=True)
class Term:
    """A way to come to a value: `text` as it stands in a plan, of a class that says how far-fetched it is."""

    text: str
    kind: int

    @property
    def group(self) -> str:
        """The same within braces, without them."""
        return self.text[1:-1] if self.text.startswith("{") else self.text

    @property
    def rank(self) -> tuple[int, int, str]:
        """The cheapest first, then the shortest, then by its text."""
        return self.kind, len(self.text), self.text


def value_key(value: Json) -> str:
    """A value as text: 1, 1.0, "1" and true are four values."""
    return encode(value, sort_keys=True)


def varies(values: Sequence[Json]) -> bool:
    """Whether there are two values among these."""
    return len({value_key(one) for one in values}) > 1


def sources_of(examples: Sequence[Example], before: Sequence[int]) -> list[KnownValue]:
    """What was known in all examples when their answers of these numbers were asked for: the input, and results."""
    found = list(_within("input", [example.input for example in examples]))
    for index, first in enumerate(examples[0].steps):
        steps = [example.steps[index] for example in examples]
        if all(step.answer < answer for step, answer in zip(steps, before, strict=True)):
            found += _within(f"calls.{index}", [step.value for step in steps])
        del first
    return found


def _within(text: str, values: Sequence[Json]) -> Iterator[KnownValue]:
    """A value and all that is in it by keys: never a position in a list, which chance may have made."""
    yield KnownValue(text, tuple(values))
    if all(map(is_object, values)):
        held: list[dict[str, Any]] = [one for one in values if is_object(one)]
        for key in held[0]:
            if all(key in one for one in held):
                yield from _within(f"{text}{print_path((key,))}", [one[key] for one in held])


def terms_for(values: Sequence[Json], sources: Sequence[KnownValue], words: Sequence[float]) -> Iterator[list[Term]]:
    """The terms that give these values, class by class; `words` are numbers that the author wrote."""
    for kind in (_references, _picks, _counts, _sums):
        found = kind(values, sources, words)
        yield sorted({term.text: term for term in found}.values(), key=lambda term: term.rank)


def _same(one: Sequence[Json], other: Sequence[Json]) -> bool:
    return all(value_key(left) == value_key(right) for left, right in zip(one, other, strict=True))


def _references(values: Sequence[Json], sources: Sequence[KnownValue], _: Sequence[float]) -> Iterator[Term]:
    for source in sources:
        if _same(source.values, values):
            yield Term(source.reference, 1)


def _lists(sources: Sequence[KnownValue]) -> Iterator[tuple[KnownValue, list[list[Any]]]]:
    for source in sources:
        lists = [one for one in source.values if is_list(one)]
        if len(lists) == len(source.values):
            yield source, lists


def _keys(lists: Sequence[Sequence[Any]]) -> list[str]:
    """The keys that all items of all lists have."""
    items = [item for one in lists for item in one]
    if not items or not all(map(is_object, items)):
        return []
    return [key for key in items[0] if all(key in item for item in items) and key.isidentifier()]


def _picks(values: Sequence[Json], sources: Sequence[KnownValue], _: Sequence[float]) -> Iterator[Term]:
    """The only item of a list, or the only one of which a key has a known value; or a part of that."""
    for source, lists in _lists(sources):
        keys = _keys(lists)
        if all(len(one) == 1 for one in lists):
            for part in ("", *keys):
                if _same([_part(one[0], part) for one in lists], values):
                    yield Term(f"{{one({source.reference}){f'.{part}' if part else ''}}}", 2)
        for key, known in _known(lists, keys, sources):
            chosen = [_chosen(one, key, value) for one, value in zip(lists, known.values, strict=True)]
            for part in ("", *keys) if all(len(one) == 1 for one in chosen) else ():
                if part != key and _same([_part(one[0], part) for one in chosen], values):
                    one = f"one(x for x in {source.reference} if x.{key} == {known.reference})"
                    yield Term(f"{{{one}{f'.{part}' if part else ''}}}", 2)


def _known(
    lists: Sequence[Sequence[Any]], keys: Sequence[str], sources: Sequence[KnownValue]
) -> Iterator[tuple[str, KnownValue]]:
    """The keys of which a source is the value of some item, in all examples."""
    for key in keys:
        held = [{value_key(item[key]) for item in one} for one in lists]
        for source in sources:
            if all(value_key(value) in one for value, one in zip(source.values, held, strict=True)):
                yield key, source


def _chosen(items: Sequence[Any], key: str, value: Json) -> list[Any]:
    return [item for item in items if value_key(item[key]) == value_key(value)]


def _part(item: Any, key: str) -> Any:
    return item[key] if key else item


def _counts(values: Sequence[Json], sources: Sequence[KnownValue], _: Sequence[float]) -> Iterator[Term]:
    """How many items a list has, and what becomes of a key of all of them, or of those that a source selects."""
    for source, lists in _lists(sources):
        keys = _keys(lists)
        selections: list[tuple[str, Sequence[Sequence[Any]]]] = [("", lists)]
        for key, known in _known(lists, keys, sources):
            chosen = [_chosen(one, key, value) for one, value in zip(lists, known.values, strict=True)]
            selections.append((f" if x.{key} == {known.reference}", chosen))
        for where, chosen in selections:
            yield from _of_list(values, source.reference, where, chosen, keys)


def _of_list(
    values: Sequence[Json], reference: str, where: str, lists: Sequence[Sequence[Any]], keys: Sequence[str]
) -> Iterator[Term]:
    if _same([len(one) for one in lists], values):
        yield Term(f"{{len([x for x in {reference}{where}])}}" if where else f"{{len({reference})}}", 3)
    for key in ("", *keys):
        held = [[_part(item, key) for item in one] for one in lists]
        told = f"[x{f'.{key}' if key else ''} for x in {reference}{where}]" if key or where else reference
        if told != reference and _same(held, values):
            yield Term(f"{{{told}}}", 3)
        for name, function in _FUNCTIONS.items():
            try:
                found = [function(one) for one in held]
            except (TypeError, ValueError):
                continue
            if _same(found, values):
                yield Term(f"{{{name}({told})}}", 3)


def _unique(items: Sequence[Any]) -> list[Any]:
    return list({value_key(item): item for item in items}.values())


_FUNCTIONS: Mapping[str, Callable[[Sequence[Any]], Any]] = {
    "sum": sum,
    "min": min,
    "max": max,
    "sorted": sorted,
    "unique": _unique,
}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _sums(values: Sequence[Json], sources: Sequence[KnownValue], words: Sequence[float]) -> Iterator[Term]:
    """One arithmetic operation of two sources, or of one and a number that the author wrote; perhaps rounded."""
    if not all(map(_is_number, values)):
        return
    numbers: list[tuple[str, tuple[Any, ...]]] = [
        (source.reference, source.values) for source in sources if all(map(_is_number, source.values))
    ]
    written = [(f"{word:g}", (word,) * len(values)) for word in words]
    looked = 0
    for (left, lefts), (right, rights) in product([*numbers, *written], repeat=2):
        if not (left.startswith("†") or right.startswith("†")):
            continue
        looked += 1
        if looked > MOST_TERMS:
            return
        for sign, function in _SIGNS.items():
            if sign in "+*" and left > right:
                continue
            try:
                found = [function(one, other) for one, other in zip(lefts, rights, strict=True)]
            except ZeroDivisionError:
                continue
            if _same(found, values):
                yield Term(f"{{{left} {sign} {right}}}", 4)
            for digits in (0, 1, 2):
                rounded = [round(one, digits) if digits else round(one) for one in found]
                if not _same(found, values) and _same(rounded, values):
                    yield Term(f"{{round({left} {sign} {right}{f', {digits}' if digits else ''})}}", 4)


_SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    "*": lambda one, other: one * other,
    "/": lambda one, other: one / other,
}


def template_for(values: Sequence[Json], sources: Sequence[KnownValue]) -> Term | None:
    """The text with sources filled in that gives these texts; None where there is none (class 5)."""
    texts = [one for one in values if isinstance(one, str)]
    if len(texts) < len(values):
        return None
    forms = [form for source in sources if varies(source.values) for form in _forms(source)]
    forms.sort(key=lambda form: -len(form[1][0]))
    parts: list[str | tuple[str, tuple[str, ...]]] = [texts[0]]
    for form in forms:
        parts = [piece for part in parts for piece in (_split(part, form) if isinstance(part, str) else [part])]
    if not any(isinstance(part, tuple) for part in parts):
        return None
    for number, text in enumerate(texts):
        if "".join(part if isinstance(part, str) else part[1][number] for part in parts) != text:
            return None
    literal = (re.sub(r"†", "††", part) if isinstance(part, str) else f"{{{part[0]}}}" for part in parts)
    return Term("".join(literal), 5)


def _forms(source: KnownValue) -> Iterator[tuple[str, tuple[str, ...]]]:
    """How a source may stand in a text: as it is, in other letters, or as a number with a format."""
    if all(isinstance(one, str) for one in source.values):
        texts = [str(one) for one in source.values]
        for name in ("", "lower", "upper", "title", "strip"):
            found = tuple(getattr(one, name)() if name else one for one in texts)
            if all(len(one) > 1 for one in found) and (not name or list(found) != texts):
                yield f"{source.reference}{f'.{name}()' if name else ''}", found
    elif all(map(_is_number, source.values)):
        numbers: list[Any] = list(source.values)
        if all(isinstance(one, int) for one in numbers):
            yield source.reference, tuple(map(str, numbers))
        elif all(one != int(one) for one in numbers):
            yield source.reference, tuple(f"{one:.12g}" for one in numbers)
        for form in (".0f", ".1f", ".2f", ","):
            yield f"{source.reference}:{form}", tuple(format(one, form) for one in numbers)


def _split(text: str, form: tuple[str, tuple[str, ...]]) -> list[str | tuple[str, tuple[str, ...]]]:
    """A text with what a source gives in the first example taken for the source."""
    pieces: list[str | tuple[str, tuple[str, ...]]] = []
    for index, piece in enumerate(text.split(form[1][0])):
        pieces += [form, piece] if index else [piece]
    return [piece for piece in pieces if piece != ""]

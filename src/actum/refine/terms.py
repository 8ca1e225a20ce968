"""The terms that may explain a value: what is referred to, chosen, counted or computed of what was known (R9, R10)."""

from __future__ import annotations

import keyword
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, cast

from ..dataflow.computing.allowance import Allowance, Meter
from ..dataflow.computing.functions import FUNCTIONS
from ..dataflow.computing.operands import is_number
from ..dataflow.computing.places import FAILURES
from ..dataflow.reference import print_path
from ..errors import RefineError
from ..schema.json import Json, encode, is_list, is_object

MOST_TERMS = 20_000
"""How many terms are looked at for one value."""
_MOST_FILTERS = 2_000
_DEPTH = 2
"""How deep a key may lie in an item of a list."""


class _Nothing:
    """What a term comes to where it can't be worked out."""


_NOTHING: Final = _Nothing()


_WORDS: Mapping[bool | None, str] = {None: "null", True: "true", False: "false"}


def value_key(value: Any) -> str:
    """A value as text: 1, 1.0, "1" and true are four values."""
    # JSON has no subclasses, and this runs for every value that a term may come to.
    kind = cast("type[object]", type(value))
    if kind is str:
        return f'"{value}'
    if kind is int or kind is float:
        return repr(value)
    if value is None or kind is bool:
        return _WORDS[value]
    return "" if value is _NOTHING else encode(value, sort_keys=True)


def keys_within(values: Iterable[Json]) -> set[str]:
    """The keys of values and of all that is in them."""
    found: set[str] = set()
    waiting: list[Any] = [*values]
    while waiting:
        value = waiting.pop()
        found.add(value_key(value))
        waiting += value.values() if is_object(value) else value if is_list(value) else ()
    return found


def varies(values: Sequence[Json]) -> bool:
    """Whether there are two values among these."""
    return len({value_key(one) for one in values}) > 1


@dataclass(frozen=True)
class KnownValue:
    """What a term may read: its text without the †, its value in each example, and the step it is of, -1 for none."""

    text: str
    values: tuple[Json, ...]
    step: int = -1

    @property
    def reference(self) -> str:
        """The same as a reference."""
        return f"†{self.text}"

    @property
    def needs(self) -> frozenset[int]:
        """The step that it is of, if any."""
        return frozenset({self.step} - {-1})

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Its values as `value_key` tells them."""
        return tuple(map(value_key, self.values))


@dataclass(frozen=True, slots=True)
class Term:
    """A way to come to a value, of a class that says how far-fetched it is.

    `text` is as it stands in a plan, `group` as within braces. `needs` are the steps whose results it reads.
    """

    text: str
    kind: int
    group: str = ""
    needs: frozenset[int] = frozenset()
    words: tuple[str, ...] = ()
    """Of a text with values filled in what isn't filled in."""

    @property
    def rank(self) -> tuple[int, int, str]:
        """The cheapest first, then the shortest, then by its text."""
        return self.kind, len(self.text), self.text


def computed(group: str, kind: int, needs: Collection[int]) -> Term:
    """A term that stands in braces."""
    return Term(f"{{{group}}}", kind, group, frozenset(needs) - {-1})


def known_within(text: str, values: Sequence[Json], step: int = -1) -> Iterator[KnownValue]:
    """A value and all that is in it by keys: never a position in a list, which chance may have made."""
    yield KnownValue(text, tuple(values), step)
    held = [one for one in values if is_object(one)]
    if len(held) == len(values):
        for key in sorted(set(held[0]).intersection(*held[1:])):
            yield from known_within(f"{text}{print_path((key,))}", [one[key] for one in held], step)


def expression_at(name: str, path: Sequence[str]) -> str:
    """What lies at a path of keys in a variable, as an expression says it."""
    return name + "".join(
        f".{key}"
        if key.isascii() and key.isidentifier() and not keyword.iskeyword(key) and "__" not in key
        # what isn't plain is read by its text
        else f"[{key!r}]"
        for key in path
    )


@dataclass(frozen=True, slots=True)
class Selection:
    """Some items of a list, in each example: all, or those that a condition of `x` lets through."""

    source: KnownValue
    where: str
    items: Sequence[Sequence[Any]]
    paths: Sequence[tuple[str, ...]]
    needs: frozenset[int]
    by: tuple[str, ...] | None = None
    """The key that the condition is about."""

    @property
    def group(self) -> str:
        """The list as an expression."""
        own = self.source.reference
        return f"[x for x in {own} if {self.where}]" if self.where else own


@dataclass
class Terms:
    """All terms over what was known, by the values that they come to.

    `words` are numbers that the author wrote, and `says` tells of any value whether he has written it. `wanted` are the
    keys of the values that may be asked for in the first example: what comes to another one there isn't looked at.
    """

    sources: Sequence[KnownValue]
    words: Sequence[float]
    says: Callable[[Any], bool]
    wanted: Collection[str] = ()
    _filters: int = field(default=0, init=False)

    def giving(self, values: Sequence[Json], allowed: Collection[int]) -> list[Term]:
        """The terms of classes 1 to 4 that give these values and read no other steps than the allowed.

        Raises:
            RefineError: there are too many to look at.
        """
        known = self._by_values.get(tuple(map(value_key, values)), {})
        found = [term for term in known.values() if term.needs <= set(allowed)]
        return sorted([*found, *self._sums(values, allowed)], key=lambda term: term.rank)

    @cached_property
    def _by_values(self) -> Mapping[tuple[str, ...], Mapping[str, Term]]:
        found: defaultdict[tuple[str, ...], dict[str, Term]] = defaultdict(dict)

        for source in self.sources:
            if value_key(source.values[0]) in self.wanted:
                term = Term(source.reference, 1, source.reference, source.needs)
                found[source.keys].setdefault(term.text, term)
        wants_lists = any(key.startswith("[") for key in self.wanted)
        for chosen in self.selections:
            for group, kind, value in _of_selection(chosen):
                result = value(chosen.items[0])
                if is_list(result) and not wants_lists:
                    continue
                first = value_key(result)
                if first not in self.wanted:
                    continue
                keys = (first, *(value_key(value(one)) for one in chosen.items[1:]))
                if "" not in keys:
                    term = computed(group, kind, chosen.needs)
                    found[keys].setdefault(term.text, term)
        return found

    @cached_property
    def selections(self) -> Sequence[Selection]:
        """The lists that were known, and of each what a known value or one of the author's words selects."""
        return [one for source in self.sources for one in self._selected(source)]

    def _selected(self, source: KnownValue) -> Iterator[Selection]:
        lists = [one for one in source.values if is_list(one)]
        if len(lists) < len(source.values):
            return
        paths = _paths([item for one in lists for item in one])
        yield Selection(source, "", lists, paths, source.needs)
        for path in paths or [()]:  # of objects it is their keys that something is equal to
            held = [[value_key(_at(item, path)) for item in one] for one in lists]
            for where, wanted, needs in self._conditions(source, path, lists, held):
                self._filters += 1
                if self._filters > _MOST_FILTERS:
                    raise RefineError("lists can be filtered in too many ways", code="too_large")
                chosen = [
                    [item for item, key in zip(one, keys, strict=True) if key == value]
                    for one, keys, value in zip(lists, held, wanted, strict=True)
                ]
                yield Selection(source, where, chosen, paths, source.needs | needs, path)

    def _conditions(
        self, source: KnownValue, path: tuple[str, ...], lists: Sequence[Sequence[Any]], held: Sequence[Sequence[str]]
    ) -> Iterator[tuple[str, Sequence[str], frozenset[int]]]:
        """What an item's key may be compared with: a known value that some item has, or what the author wrote."""
        at = expression_at("x", path)
        fitting = {
            number
            for keys, known in zip(held, self._scalars_by_key, strict=True)
            for key in set(keys)
            for number in known.get(key, ())
        }
        for known in [self.sources[number] for number in sorted(fitting)]:
            if known is not source:
                yield f"{at} == {known.reference}", known.keys, known.needs
        said: dict[str, Any] = {}
        for items, keys in zip(lists, held, strict=True):
            values = (_at(item, path) for item in items)
            said |= {key: value for key, value in zip(keys, values, strict=True) if not _is_long(value)}
        booleans = all(isinstance(value, bool) for value in said.values())
        for key, value in sorted(said.items()) if path else ():
            if booleans:
                yield at if value else f"not {at}", (key,) * len(lists), frozenset()
            elif not isinstance(value, bool) and value is not None and self.says(value):
                yield f"{at} == {value!r}", (key,) * len(lists), frozenset()

    @cached_property
    def _scalars_by_key(self) -> Sequence[Mapping[str, Sequence[int]]]:
        """Of each example, the numbers of the sources that are no list or object, by their values."""
        found = [defaultdict[str, list[int]](list) for _ in (self.sources[0].keys if self.sources else ())]
        for number, one in enumerate(self.sources):
            if one.values[0] is not None and not isinstance(one.values[0], dict | list):
                for known, key in zip(found, one.keys, strict=True):
                    known[key].append(number)
        return found

    @cached_property
    def _numbers(self) -> Sequence[KnownValue]:
        return [source for source in self.sources if all(map(is_number, source.values))]

    def _sums(self, values: Sequence[Json], allowed: Collection[int]) -> Iterator[Term]:
        """One operation of two sources, or of one and a number that the author wrote; perhaps rounded (class 4)."""
        if not all(map(is_number, values)):
            return
        known = [
            (source.reference, source.values, source.needs) for source in self._numbers if source.step in {-1, *allowed}
        ]
        written = [(f"{word}", (word,) * len(values), frozenset[int]()) for word in self.words]
        if len(known) * (len(known) + 2 * len(written)) > MOST_TERMS:
            raise RefineError("there are too many numbers that it may be computed of", code="too_large")
        wanted, near = tuple(map(value_key, values)), float(value_key(values[0]))
        for left, lefts, needs in (*known, *written):
            for right, rights, more in (*known, *written) if left.startswith("†") else known:
                for sign in _near_signs(lefts[0], rights[0], near):
                    if (sign in "+*" and left > right) or _is_idle(sign, right):
                        continue
                    for digits in _computed(_SIGNS[sign], lefts, rights, wanted):
                        own = f"{left} {sign} {right}"
                        yield computed(own if digits is None else f"round({own}{digits})", 4, needs | more)


def _of_selection(chosen: Selection) -> Iterator[tuple[str, int, Callable[[Sequence[Any]], Any]]]:
    """The only item, how many there are, and what becomes of a key of all of them (classes 2 and 3): each as an
    expression, its class, and what it comes to of the items of an example."""
    reference, where = chosen.source.reference, f" if {chosen.where}" if chosen.where else ""
    is_one = all(len(one) == 1 for one in chosen.items)
    if is_one:
        own = f"one(x for x in {reference}{where})" if where else f"one({reference})"
        for path in ((), *chosen.paths):
            if path != chosen.by:  # that is what it was chosen by
                yield expression_at(own, path), 2, lambda one, path=path: _at(one[0], path)
    yield f"len({chosen.group})", 3, len
    for path in ((), *chosen.paths):
        told = f"[{expression_at('x', path)} for x in {reference}{where}]" if path else chosen.group
        if told != reference:
            yield told, 3, lambda one, path=path: [_at(item, path) for item in one]
        if is_one or path == chosen.by or not _are_alike([_at(item, path) for one in chosen.items for item in one]):
            continue  # of one item all come to the same, and what is expected of it is that it is the only one
        for name in _FUNCTIONS:
            yield f"{name}({told})", 3, lambda one, path=path, name=name: _applied(name, [_at(x, path) for x in one])


def _computed(
    function: Callable[[Any, Any], Any], lefts: Sequence[Any], rights: Sequence[Any], wanted: Sequence[str]
) -> Iterator[str | None]:
    """How an operation's results are to be rounded so that they are the wanted ones; None for not at all."""
    try:
        found = [function(one, other) for one, other in zip(lefts, rights, strict=True)]
        for digits in (None, "", ", 1", ", 2"):
            if digits is not None and all(isinstance(one, int) for one in found):
                return  # a whole number stays as it is
            rounded = (
                found if digits is None else [round(one, int(digits[2:])) if digits else round(one) for one in found]
            )
            if tuple(map(value_key, rounded)) == tuple(wanted):
                yield digits
    except (ZeroDivisionError, OverflowError, ValueError):
        return


def _near_signs(left: Any, right: Any, wanted: float) -> str:
    """The operations that come so near to a number that rounding may make it the same."""
    low, high = wanted - 1, wanted + 1
    found = ("+" if low <= left + right <= high else "") + ("-" if low <= left - right <= high else "")
    try:
        found += "*" if low <= left * right <= high else ""
        return found + ("/" if right and low <= left / right <= high else "")
    except OverflowError:
        return found


def _is_idle(sign: str, right: str) -> bool:
    return right in {"0", "0.0"} if sign in "+-" else right in {"1", "1.0"}


_FUNCTIONS = ("sum", "min", "max", "sorted", "unique")
_SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    "*": lambda one, other: one * other,
    "/": lambda one, other: one / other,
}


def _applied(name: str, items: Sequence[Any]) -> Any:
    """What a function of the language makes of a list."""
    try:
        return FUNCTIONS[name].run(Meter(Allowance()), list(items))
    except FAILURES:
        return _NOTHING


def _are_alike(items: Sequence[Any]) -> bool:
    """Whether items are all texts or all numbers, which can be put in order."""
    return all(isinstance(item, str) for item in items) or all(map(is_number, items))


def _paths(items: Sequence[Any], depth: int = _DEPTH) -> list[tuple[str, ...]]:
    """The keys that all items have, and those within."""
    held = [item for item in items if is_object(item)]
    if not held or len(held) < len(items) or not depth:
        return []
    found: list[tuple[str, ...]] = []
    for key in sorted(set(held[0]).intersection(*held[1:])):
        found += [(key,), *((key, *path) for path in _paths([item[key] for item in held], depth - 1))]
    return found


def _at(item: Any, path: Sequence[str]) -> Any:
    for key in path:
        item = item[key]
    return item


def _is_long(value: Any) -> bool:
    return is_object(value) or is_list(value) or (isinstance(value, str) and len(value) > 100)

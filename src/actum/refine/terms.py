"""The terms that may explain a value: what is referred to, chosen, counted or computed of what was known (R9, R10)."""

from __future__ import annotations

import keyword
import re
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


_NOTHING: Final = object()
"""What a term comes to where it can't be computed."""
_WORDS: Mapping[bool | None, str] = {None: "null", True: "true", False: "false"}


def value_key(value: Any) -> str:
    """A value as text: 1, 1.0, "1" and true are four values."""
    # JSON has no subclasses, and this runs for each value that a term may come to
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
    keys: set[str] = set()
    waiting: list[Any] = [*values]
    while waiting:
        value = waiting.pop()
        keys.add(value_key(value))
        waiting += value.values() if is_object(value) else value if is_list(value) else ()
    return keys


def varies(values: Sequence[Json]) -> bool:
    """Whether there are two values among these."""
    return len({value_key(value) for value in values}) > 1


@dataclass(frozen=True)
class KnownValue:
    """What a term may read: its text without the †, its value in each example, and its step, -1 for the input."""

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
    """An expression for a value; a higher `kind`, the class of R9, is a less likely explanation.

    `text` is as it stands in a plan, `group` as within braces. `needs` are the steps whose results it reads.
    """

    text: str
    kind: int
    group: str = ""
    needs: frozenset[int] = frozenset()
    words: tuple[str, ...] = ()
    """The literal parts of a text with values filled in."""
    guess: str = ""
    """The condition that it rests on, where nobody has said it."""

    @property
    def rank(self) -> tuple[bool, int, int, str]:
        """Those that rest on no guess first, then the cheapest, then the shortest, then by its text."""
        return bool(self.guess), self.kind, len(self.text), self.text


def computed(group: str, kind: int, needs: Collection[int], guess: str = "") -> Term:
    """A term that stands in braces."""
    return Term(f"{{{group}}}", kind, group, frozenset(needs) - {-1}, guess=guess)


def known_within(text: str, values: Sequence[Json], step: int = -1) -> Iterator[KnownValue]:
    """A value and everything in it that keys lead to: positions in lists are left out, as they may be chance."""
    yield KnownValue(text, tuple(values), step)
    objects = [value for value in values if is_object(value)]
    if len(objects) == len(values):
        for key in sorted(set(objects[0]).intersection(*objects[1:])):
            yield from known_within(f"{text}{print_path((key,))}", [value[key] for value in objects], step)


def expression_at(name: str, path: Sequence[str]) -> str:
    """What lies at a path of keys in a variable, as an expression says it."""
    return name + "".join(
        f".{key}"
        if key.isascii() and key.isidentifier() and not keyword.iskeyword(key) and "__" not in key
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
    """The key that the condition compares."""
    guess: str = ""
    """The condition, where it is a truth that the author hasn't named."""

    @property
    def group(self) -> str:
        """The list as an expression."""
        reference = self.source.reference
        return f"[x for x in {reference} if {self.where}]" if self.where else reference

    @property
    def rank(self) -> tuple[bool, bool, int, str]:
        """Those that rest on no guess first, then the whole lists, then the shortest, then by their text."""
        return bool(self.guess), bool(self.where), len(self.group), self.group

    @property
    def text(self) -> str:
        """The list as it stands in a plan."""
        return f"{{{self.group}}}" if self.where else self.group


@dataclass
class Terms:
    """All terms over the known values, by the values that they come to.

    `words` are numbers that the author wrote, and `says` tells whether the author wrote a value. `wanted` are the keys
    of the values that may be asked for in the first example: terms with any other value there are skipped.
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
        terms = self._by_values.get(tuple(map(value_key, values)), {})
        fitting = [term for term in terms.values() if term.needs <= set(allowed)]
        return sorted([*fitting, *self._sums(values, allowed)], key=lambda term: term.rank)

    @cached_property
    def _by_values(self) -> Mapping[tuple[str, ...], Mapping[str, Term]]:
        terms: defaultdict[tuple[str, ...], dict[str, Term]] = defaultdict(dict)
        for source in self.sources:
            if value_key(source.values[0]) in self.wanted:
                term = Term(source.reference, 1, source.reference, source.needs)
                terms[source.keys].setdefault(term.text, term)
        wants_lists = any(key.startswith("[") for key in self.wanted)
        for chosen in self.selections:
            for group, kind, value in _of_selection(chosen):
                result = value(chosen.items[0])
                if is_list(result) and not wants_lists:
                    continue
                first = value_key(result)
                if first not in self.wanted:
                    continue
                keys = (first, *(value_key(value(items)) for items in chosen.items[1:]))
                if "" not in keys:
                    term = computed(group, kind, chosen.needs, chosen.guess)
                    terms[keys].setdefault(term.text, term)
        return terms

    @cached_property
    def selections(self) -> Sequence[Selection]:
        """The known lists, and the parts of each that a known value or one of the author's words selects."""
        return [selection for source in self.sources for selection in self._selected(source)]

    def _selected(self, source: KnownValue) -> Iterator[Selection]:
        lists = [value for value in source.values if is_list(value)]
        if len(lists) < len(source.values):
            return
        paths = _paths([item for items in lists for item in items])
        yield Selection(source, "", lists, paths, source.needs)
        for path in paths or [()]:  # objects are compared by their keys
            keys_of = [[value_key(_at(item, path)) for item in items] for items in lists]
            for where, wanted, needs in self._conditions(source, path, lists, keys_of):
                self._filters += 1
                if self._filters > _MOST_FILTERS:
                    raise RefineError("lists can be filtered in too many ways", code="too_large")
                chosen = [
                    [item for item, key in zip(items, keys, strict=True) if key == value]
                    for items, keys, value in zip(lists, keys_of, wanted, strict=True)
                ]
                is_guess = " == " not in where and not any(map(self.says, path[-1].split("_")))
                yield Selection(source, where, chosen, paths, source.needs | needs, path, where if is_guess else "")

    def _conditions(
        self, source: KnownValue, path: tuple[str, ...], lists: Sequence[Sequence[Any]], keys: Sequence[Sequence[str]]
    ) -> Iterator[tuple[str, Sequence[str], frozenset[int]]]:
        """What an item's key may be compared with: a known value that some item has, or what the author wrote."""
        at = expression_at("x", path)
        fitting = {
            number
            for list_keys, numbers_by_key in zip(keys, self._scalars_by_key, strict=True)
            for key in set(list_keys)
            for number in numbers_by_key.get(key, ())
        }
        for other in [self.sources[number] for number in sorted(fitting)]:
            if other is not source:
                yield f"{at} == {other.reference}", other.keys, other.needs
        values_by_key: dict[str, Any] = {}
        for items, list_keys in zip(lists, keys, strict=True):
            values = (_at(item, path) for item in items)
            values_by_key |= {key: value for key, value in zip(list_keys, values, strict=True) if not _is_long(value)}
        booleans = all(isinstance(value, bool) for value in values_by_key.values())
        for key, value in sorted(values_by_key.items()) if path else ():
            if booleans:
                yield at if value else f"not {at}", (key,) * len(lists), frozenset()
            elif not isinstance(value, bool) and value is not None and self.says(value):
                yield f"{at} == {value!r}", (key,) * len(lists), frozenset()

    @cached_property
    def _scalars_by_key(self) -> Sequence[Mapping[str, Sequence[int]]]:
        """For each example, the numbers of the sources that are scalars, by the keys of their values."""
        numbers = [defaultdict[str, list[int]](list) for _ in (self.sources[0].keys if self.sources else ())]
        for number, source in enumerate(self.sources):
            if source.values[0] is not None and not isinstance(source.values[0], dict | list):
                for numbers_by_key, key in zip(numbers, source.keys, strict=True):
                    numbers_by_key[key].append(number)
        return numbers

    @cached_property
    def _numbers(self) -> Sequence[KnownValue]:
        return [source for source in self.sources if all(map(is_number, source.values))]

    def _sums(self, values: Sequence[Json], allowed: Collection[int]) -> Iterator[Term]:
        """One operation on two sources, or on one and a number that the author wrote; perhaps rounded (class 4)."""
        if not all(map(is_number, values)):
            return
        operands = [
            (source.reference, source.values, source.needs) for source in self._numbers if source.step in {-1, *allowed}
        ]
        written = [(f"{word}", (word,) * len(values), frozenset[int]()) for word in self.words]
        if len(operands) * (len(operands) + 2 * len(written)) > MOST_TERMS:
            raise RefineError("there are too many numbers that it may be computed of", code="too_large")
        wanted, near = tuple(map(value_key, values)), float(value_key(values[0]))
        for left, lefts, needs in (*operands, *written):
            for right, rights, right_needs in (*operands, *written) if left.startswith("†") else operands:
                for sign in _near_signs(lefts[0], rights[0], near):
                    if (sign in "+*" and left > right) or _is_idle(sign, right):
                        continue
                    for digits in _computed(_SIGNS[sign], lefts, rights, wanted):
                        group = f"{left} {sign} {right}"
                        yield computed(group if digits is None else f"round({group}{digits})", 4, needs | right_needs)


def _of_selection(chosen: Selection) -> Iterator[tuple[str, int, Callable[[Sequence[Any]], Any]]]:
    """The only item, the number of items, and functions of one key of all items (classes 2 and 3): each is an
    expression, its class, and a function that computes its value from an example's items."""
    reference, where = chosen.source.reference, f" if {chosen.where}" if chosen.where else ""
    is_one = all(len(items) == 1 for items in chosen.items)
    if is_one:
        only = f"one(x for x in {reference}{where})" if where else f"one({reference})"
        for path in ((), *chosen.paths):
            if path != chosen.by:  # whose value is that of the condition
                yield expression_at(only, path), 2, lambda items, path=path: _at(items[0], path)
    yield f"len({chosen.group})", 3, len
    for path in ((), *chosen.paths):
        items_of = f"[{expression_at('x', path)} for x in {reference}{where}]" if path else chosen.group
        if items_of != reference:
            yield items_of, 3, lambda items, path=path: [_at(item, path) for item in items]
        if is_one or path == chosen.by:
            continue  # the functions of one item are all the item, which is expected to be the only one
        for name in _functions_of([_at(item, path) for items in chosen.items for item in items]):
            yield f"{name}({items_of})", 3, lambda items, path=path, name=name: _applied(name, items, path)


def _computed(
    function: Callable[[Any, Any], Any], lefts: Sequence[Any], rights: Sequence[Any], wanted: Sequence[str]
) -> Iterator[str | None]:
    """The second argument of `round` with which an operation gives the wanted values; None without rounding."""
    try:
        results = [function(left, right) for left, right in zip(lefts, rights, strict=True)]
        for digits in (None, (), (1,), (2,)):
            if digits is not None and all(isinstance(result, int) for result in results):
                return  # a whole number stays as it is
            rounded = results if digits is None else [round(result, *digits) for result in results]
            if tuple(map(value_key, rounded)) == tuple(wanted):
                yield None if digits is None else "".join(f", {number}" for number in digits)
    except (ZeroDivisionError, OverflowError, ValueError):
        return


def _near_signs(left: Any, right: Any, wanted: float) -> str:
    """The operations whose result is so near to a number that rounding may give it."""
    low, high = wanted - 1, wanted + 1
    signs = ("+" if low <= left + right <= high else "") + ("-" if low <= left - right <= high else "")
    try:
        signs += "*" if low <= left * right <= high else ""
        return signs + ("/" if right and low <= left / right <= high else "")
    except OverflowError:
        return signs


def _is_idle(sign: str, right: str) -> bool:
    return right in {"0", "0.0"} if sign in "+-" else right in {"1", "1.0"}


_OF_TEXTS = ("sorted", "unique")
_FUNCTIONS = ("sum", "min", "max", *_OF_TEXTS)
_TIME = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d")
_SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
}


def _applied(name: str, items: Sequence[Any], path: Sequence[str]) -> Any:
    """The value of a function of the language for what lies at a path of the items."""
    try:
        return FUNCTIONS[name].run(Meter(Allowance()), [_at(item, path) for item in items])
    except FAILURES:
        return _NOTHING


def _functions_of(items: Sequence[Any]) -> Sequence[str]:
    """The functions of items that are all numbers or all texts. Which text is the first of the alphabet is chance, as a
    position in a list is (R10); which time is the first isn't."""
    if all(isinstance(item, str) for item in items):
        return _FUNCTIONS if all(map(_TIME.match, items)) else _OF_TEXTS
    return _FUNCTIONS if all(map(is_number, items)) else ()


def _paths(items: Sequence[Any], depth: int = _DEPTH) -> list[tuple[str, ...]]:
    """The keys that all items have, and those within."""
    objects = [item for item in items if is_object(item)]
    if not objects or len(objects) < len(items) or not depth:
        return []
    paths: list[tuple[str, ...]] = []
    for key in sorted(set(objects[0]).intersection(*objects[1:])):
        paths += [(key,), *((key, *path) for path in _paths([item[key] for item in objects], depth - 1))]
    return paths


def _at(item: Any, path: Sequence[str]) -> Any:
    for key in path:
        item = item[key]
    return item


def _is_long(value: Any) -> bool:
    return is_object(value) or is_list(value) or (isinstance(value, str) and len(value) > 100)

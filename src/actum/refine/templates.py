"""Texts with what was known filled in (class 5 of R9)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..dataflow.computing.operands import is_number
from ..dataflow.expression import escaped
from .terms import KnownValue, Term

_MOST_STEPS = 5_000
_MOST_READINGS = 16
_PROSE = 5
"""How many words prose has at least."""
_RUN = 3
"""How many words in a row nobody has by chance."""
_OWN = re.compile(r"\{[^{}]*\}|†+[\w.]*")
"""What is filled in where a model has written a text with references itself."""
_ADDRESS = re.compile(r"[\w.+-]*[@/]\S*\w|\w*\d\S*\w\w")
"""Addresses, paths, and numbers of three signs or more: what nobody writes who doesn't mean just that."""


@dataclass(frozen=True, slots=True)
class Filling:
    """How a known value may stand in a text, in each example: `text` within braces, `group` as an expression."""

    text: str
    group: str
    values: tuple[str, ...]
    step: int


Part: TypeAlias = "str | Filling"


def templates_for(values: Sequence[object], sources: Sequence[KnownValue], allowed: Collection[int]) -> list[Term]:
    """The texts that give these values with known values filled in, as much of them as can be: all have to agree."""
    texts = [one for one in values if isinstance(one, str)]
    if len(texts) < len(values):
        return []
    fillings = [
        filling
        for source in sources
        if source.step in {-1, *allowed}
        for filling in _fillings(source)
        if len(set(filling.values)) > 1 and all(map(_within, filling.values, texts))
    ]
    readings = list(_Readings(texts, fillings).all()) if fillings else []
    least = min(map(_words_of, readings), default=0)
    found = {term.text: term for one in readings if _words_of(one) == least and (term := _term(one))}
    return sorted(found.values(), key=lambda term: term.rank)


def is_prose(text: str) -> bool:
    """Whether a text is so long that people have written it in their own words."""
    return len(text.split()) >= _PROSE


def own_words(text: str) -> list[str]:
    """The words of a text with references in which nothing is filled in."""
    return [one for one in _OWN.split(text) if one.strip()]


def addresses(words: Sequence[str]) -> list[str]:
    """What of the words is an address or a number, which may have been taken from data."""
    return [match.group() for one in words for match in _ADDRESS.finditer(one)]


def phrases(words: Sequence[str]) -> Iterator[str]:
    """Each three words in a row of these."""
    for one in words:
        own = list(re.finditer(r"\S+", one))
        yield from (one[first.start() : last.end()] for first, last in zip(own, own[_RUN - 1 :], strict=False))


def copied(words: Sequence[str], source: KnownValue) -> Iterator[str]:
    """What of a source was the same in all and stands in the words of a text: it may have been filled in, or not."""
    own = "\n".join(words)
    for one in _fillings(source):
        if len(set(one.values)) == 1 and re.search(rf"(?<!\w){re.escape(one.values[0])}(?!\w)", own):
            yield one.values[0]


def _words_of(parts: Sequence[Part]) -> int:
    """How much of a text is its own."""
    return sum(len(part) for part in parts if isinstance(part, str))


def _within(part: str, text: str) -> bool:
    return bool(part) and part in text


class _Readings:
    """The ways to read texts as the same words and fillings, in step: all texts have them in the same order."""

    def __init__(self, texts: Sequence[str], fillings: Sequence[Filling]) -> None:
        self._texts = texts
        self._fillings = sorted(fillings, key=lambda one: (-sum(map(len, one.values)), len(one.text), one.text))

    def all(self) -> Iterator[Sequence[Part]]:
        """The readings, each with a filling at least; not more than can be compared."""
        waiting: list[tuple[tuple[int, ...], tuple[Part, ...]]] = [((0,) * len(self._texts), ())]
        steps = found = 0
        while waiting and steps < _MOST_STEPS and found < _MOST_READINGS:
            steps += 1
            places, read = waiting.pop()
            ends = [place == len(text) for place, text in zip(places, self._texts, strict=True)]
            if all(ends) and any(isinstance(part, Filling) for part in read):
                found += 1
                yield read
            if not any(ends):
                waiting += reversed(list(self._next(places, read)))

    def _next(
        self, places: tuple[int, ...], read: tuple[Part, ...]
    ) -> Iterator[tuple[tuple[int, ...], tuple[Part, ...]]]:
        for filling in self._fillings:
            pairs = zip(filling.values, self._texts, places, strict=True)
            if all(text.startswith(value, place) for value, text, place in pairs):
                moved = zip(places, filling.values, strict=True)
                yield tuple(place + len(value) for place, value in moved), (*read, filling)
        characters = {text[place] for text, place in zip(self._texts, places, strict=True)}
        if len(characters) == 1:
            one = characters.pop()
            joined = (*read[:-1], read[-1] + one) if read and isinstance(read[-1], str) else (*read, one)
            yield tuple(place + 1 for place in places), joined


def _term(parts: Sequence[Part]) -> Term:
    text = "".join(escaped(part) if isinstance(part, str) else f"{{{part.text}}}" for part in parts)
    if len(parts) == 1 and isinstance(parts[0], Filling) and parts[0].group.startswith("str("):
        text = f"{{{parts[0].group}}}"  # a group alone has the type of its value
    group = " + ".join(repr(part) if isinstance(part, str) else part.group for part in parts)
    needs = frozenset(part.step for part in parts if isinstance(part, Filling)) - {-1}
    return Term(text, 5, group, needs, tuple(part for part in parts if isinstance(part, str)))


def _fillings(source: KnownValue) -> Iterator[Filling]:
    """A text as it is, in other letters or its first or last word; a day; a number with a format."""
    own = source.reference
    if all(isinstance(one, str) for one in source.values):
        texts = tuple(str(one) for one in source.values)
        yield Filling(own, own, texts, source.step)
        for method, values in _changed(texts):
            if values != texts and all(values):
                yield Filling(f"{own}.{method}", f"{own}.{method}", values, source.step)
        if all(len(one) > 10 and one[4:5] == one[7:8] == "-" and one[10] in "T " for one in texts):
            yield Filling(f"{own}[:10]", f"{own}[:10]", tuple(one[:10] for one in texts), source.step)
    elif all(map(is_number, source.values)):
        numbers = [one for one in source.values if isinstance(one, int | float)]
        plain = tuple(str(one) if isinstance(one, int) else f"{one:.12g}" for one in numbers)
        yield Filling(own, f"str({own})", plain, source.step)
        for form in (".0f", ".1f", ".2f", ","):
            values = tuple(format(one, form) for one in numbers)
            if form != ".0f" or values != plain:  # of whole numbers that is the same for ever
                yield Filling(f"{own}:{form}", f"f'{{{own}:{form}}}'", values, source.step)


def _changed(texts: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for method in ("lower", "upper", "title", "strip"):
        yield f"{method}()", tuple(getattr(one, method)() for one in texts)
    if any(map(is_prose, texts)):
        return  # of somebody's own words no part is told by where it stands
    for sign in ("", ",", "@", "/", "-", ":"):
        if all(sign in one and one.strip() for one in texts) if sign else all(one.split() for one in texts):
            parts = [one.split(sign) if sign else one.split() for one in texts]
            told = f"split({sign!r})" if sign else "split()"
            yield f"{told}[0]", tuple(one[0] for one in parts)
            yield f"{told}[-1]", tuple(one[-1] for one in parts)

"""Texts with what was known filled in (class 5 of R9)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from operator import contains
from typing import TypeAlias

from ..dataflow.computing.operands import is_number
from ..dataflow.expression import escape
from .terms import KnownValue, Term

_MOST_STEPS = 5_000
_MOST_READINGS = 16
_PROSE = 5
"""How many words prose has at least."""
_PHRASE = re.compile(r"(?<!\S)(?=(\S+\s+\S+\s+\S+))")
"""Three words in a row, which hardly anybody writes by chance."""
_OWN = re.compile(r"\{[^{}]*\}|†+[\w.]*")
"""What is filled in where a model itself wrote a text with references."""
_ADDRESS = re.compile(r"[\w.+-]*[@/]\S*\w|\w*\d\S*\w\w")
"""Addresses, paths, and numbers of three characters or more, which nobody writes by chance."""


@dataclass(frozen=True, slots=True)
class Filling:
    """A known value as it may stand in a text, in each example: `text` within braces, `group` as an expression."""

    text: str
    group: str
    values: tuple[str, ...]
    step: int


Part: TypeAlias = "str | Filling"


def templates_for(values: Sequence[object], sources: Sequence[KnownValue], allowed: Collection[int]) -> list[Term]:
    """The texts that give these values with as many known values filled in as can be: all of them have to agree."""
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) < len(values):
        return []
    fillings = [
        filling
        for source in sources
        if source.step in {-1, *allowed}
        for filling in _fillings(source)
        if len(set(filling.values)) > 1 and "" not in filling.values and all(map(contains, texts, filling.values))
    ]
    readings = list(_Readings(texts, fillings).all()) if fillings else []
    least = min(map(_words_of, readings), default=0)
    terms = {term.text: term for reading in readings if _words_of(reading) == least and (term := _term(reading))}
    return sorted(terms.values(), key=lambda term: term.rank)


def is_prose(text: str) -> bool:
    """Whether a text has so many words that people wrote it in their own."""
    return len(text.split()) >= _PROSE


def own_words(text: str) -> list[str]:
    """The words of a text with references in which nothing is filled in."""
    return [part for part in _OWN.split(text) if part.strip()]


def addresses(words: Sequence[str]) -> list[str]:
    """The addresses and numbers among the words, which may have been taken from data."""
    return [match.group() for part in words for match in _ADDRESS.finditer(part)]


def phrases(words: Sequence[str]) -> Iterator[str]:
    """All runs of three words."""
    return (match[1] for part in words for match in _PHRASE.finditer(part))


def copied(words: Sequence[str], source: KnownValue) -> Iterator[str]:
    """Fillings of a source that were the same in all examples and stand in these words, perhaps filled in."""
    text = "\n".join(words)
    for filling in _fillings(source):
        if len(set(filling.values)) == 1 and re.search(rf"(?<!\w){re.escape(filling.values[0])}(?!\w)", text):
            yield filling.values[0]


def _words_of(parts: Sequence[Part]) -> int:
    """How many characters of a text are literal."""
    return sum(len(part) for part in parts if isinstance(part, str))


class _Readings:
    """The ways to read all texts as the same sequence of words and fillings."""

    def __init__(self, texts: Sequence[str], fillings: Sequence[Filling]) -> None:
        self._texts = texts
        self._fillings = sorted(fillings, key=lambda it: (-sum(map(len, it.values)), len(it.text), it.text))

    def all(self) -> Iterator[Sequence[Part]]:
        """Readings with at least one filling; no more than can be compared."""
        waiting: list[tuple[tuple[int, ...], tuple[Part, ...]]] = [((0,) * len(self._texts), ())]
        steps = count = 0
        while waiting and steps < _MOST_STEPS and count < _MOST_READINGS:
            steps += 1
            places, read = waiting.pop()
            ends = [place == len(text) for place, text in zip(places, self._texts, strict=True)]
            if all(ends) and any(isinstance(part, Filling) for part in read):
                count += 1
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
            character = characters.pop()
            joined = (*read[:-1], read[-1] + character) if read and isinstance(read[-1], str) else (*read, character)
            yield tuple(place + 1 for place in places), joined


def _term(parts: Sequence[Part]) -> Term:
    text = "".join(escape(part) if isinstance(part, str) else f"{{{part.text}}}" for part in parts)
    if len(parts) == 1 and isinstance(parts[0], Filling) and parts[0].group.startswith("str("):
        text = f"{{{parts[0].group}}}"  # a group alone has the type of its value
    group = " + ".join(repr(part) if isinstance(part, str) else part.group for part in parts)
    needs = frozenset(part.step for part in parts if isinstance(part, Filling)) - {-1}
    return Term(text, 5, group, needs, tuple(part for part in parts if isinstance(part, str)))


def _fillings(source: KnownValue) -> Iterator[Filling]:
    """A text as it is, in other letters, or its first or last word; a day; a number with a format."""
    name = source.reference
    if all(isinstance(value, str) for value in source.values):
        texts = tuple(map(str, source.values))
        yield Filling(name, name, texts, source.step)
        for method, values in _changed(texts):
            if values != texts and all(values):
                yield Filling(f"{name}.{method}", f"{name}.{method}", values, source.step)
        if all(len(text) > 10 and text[4:5] == text[7:8] == "-" and text[10] in "T " for text in texts):
            yield Filling(f"{name}[:10]", f"{name}[:10]", tuple(text[:10] for text in texts), source.step)
    elif all(map(is_number, source.values)):
        numbers = [number for number in source.values if isinstance(number, int | float)]
        plain = tuple(str(number) if isinstance(number, int) else f"{number:.12g}" for number in numbers)
        yield Filling(name, f"str({name})", plain, source.step)
        for form in (".0f", ".1f", ".2f", ","):
            values = tuple(format(number, form) for number in numbers)
            if form != ".0f" or values != plain:  # of whole numbers it is always the same
                yield Filling(f"{name}:{form}", f"f'{{{name}:{form}}}'", values, source.step)


def _changed(texts: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for method in ("lower", "upper", "title", "strip"):
        yield f"{method}()", tuple(getattr(text, method)() for text in texts)
    if any(map(is_prose, texts)):
        return  # in prose, the position of a word means nothing
    for sign in ("", ",", "@", "/", "-", ":"):
        if all(sign in text and text.strip() for text in texts) if sign else all(text.split() for text in texts):
            parts = [text.split(sign) if sign else text.split() for text in texts]
            split = f"split({sign!r})" if sign else "split()"
            yield f"{split}[0]", tuple(words[0] for words in parts)
            yield f"{split}[-1]", tuple(words[-1] for words in parts)

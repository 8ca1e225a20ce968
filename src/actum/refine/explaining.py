"""Where a value of a plan comes from, by what the examples show (R9-R13)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..dataflow.computing.operands import is_number
from ..dataflow.expression import escape
from ..errors import RefineError
from ..schema.json import Json, encode, is_list, is_object
from .author import Author, is_judged, is_secret
from .explanation import Explanation, How, Leaf
from .holes import Holes
from .templates import addresses, copied, own_words, phrases, templates_for
from .terms import KnownValue, Term, Terms, value_key, varies

_UNPROVED = frozenset({"hole", "judged"})
"""What no term gives: a whole of which a part is so is explained as a whole where it can be."""
_MOST_ALIKE = 64


@dataclass(slots=True)
class Explaining:
    """Explains values by terms over known values. `confirmed` are leaves that a person has settled.

    `read` yields the results that the examples' models had seen at a place, and `given` are the values of the inputs.
    """

    terms: Terms
    author: Author
    confirmed: Mapping[str, str]
    given: Sequence[Any] = ()
    read: Callable[[Leaf], Iterator[Any]] = lambda _: iter(())
    notes: list[Explanation] = field(default_factory=list[Explanation])
    secrets: Collection[str] = ()
    """Texts that stand in no plan (R32)."""
    holes: Holes | None = None
    """Reads from texts what no term gives."""

    def value(self, place: Leaf, values: Sequence[Any], authored: Sequence[Any]) -> Any:
        """What the plan has for a value: one explanation of the whole, or else of each part.

        Raises:
            RefineError: a value was taken from data, or there are too many terms.
        """
        settled = self._settled(place, authored)
        if settled is not None:
            return self._noted(settled)
        terms = self.terms.giving(values, place.allowed) if varies(values) else []
        keys = _keys(values)
        if keys is None:
            return self._noted(self._scalar(place, values, terms))
        if not terms:
            return self._parts(place, values, authored, keys)
        before = len(self.notes)
        parts = self._parts(place, values, authored, keys, is_probe=True)
        inner = self.notes[before:]
        has_hole = any(note.how in _UNPROVED for note in inner)
        if not has_hole and any(note.how in {"question", "authored", "confirmed"} for note in inner):
            return parts
        del self.notes[before:]
        whole = self._by(place, terms)
        return self._noted(whole if has_hole else _agreeing(whole, parts, inner))

    def _settled(self, place: Leaf, authored: Sequence[Any]) -> Explanation | None:
        """The reference or expression that all examples wrote, or that a person has confirmed."""
        texts = {text if isinstance(text, str) else None for text in authored}
        if len(texts) == 1 and (text := next(iter(texts))) is not None and _refers(text):
            note = Explanation(leaf=place.at, text=text, how="authored", why="as all examples wrote it")
            return self._with_literal_words(place, note, own_words(text))
        if self.confirmed.get(place.at):
            return Explanation(leaf=place.at, text=self.confirmed[place.at], how="confirmed", why="confirmed")
        return None

    def _noted(self, note: Explanation) -> Json:
        if isinstance(note.text, str) and any(secret in note.text for secret in self.secrets):
            raise RefineError("a secret would stand in the plan: let it be a reference", code="secret", path=note.leaf)
        self.notes.append(note)
        return note.text

    def _parts(
        self,
        place: Leaf,
        values: Sequence[Any],
        authored: Sequence[Any],
        keys: Sequence[str | int],
        *,
        is_probe: bool = False,
    ) -> Any:
        """A value part by part; a probe ends at the first part that nothing explains."""
        parts_by_key: dict[str | int, Json] = {}
        for key in keys:
            parts = [value[key] for value in values]
            parts_by_key[key] = self.value(place.part(key), parts, [_part(part, key, len(keys)) for part in authored])
            if is_probe and self.notes[-1].how in _UNPROVED:
                break
        return parts_by_key if is_object(values[0]) else list(parts_by_key.values())

    def _scalar(self, place: Leaf, values: Sequence[Any], terms: Sequence[Term]) -> Explanation:
        if not varies(values):
            return self._constant(place, values)
        if len(terms) > _MOST_ALIKE:
            return _hole(place, f"{len(terms)} terms give it: more examples tell")
        fitting = terms or templates_for(values, self.terms.sources, place.allowed)
        if not fitting:
            filled = None if self.holes is None else self.holes.filled(values, place)
            return filled or _hole(place, "no term gives it in all examples")
        note = self._by(place, fitting)
        return self._with_literal_words(place, note, fitting[0].words)

    def _by(self, place: Leaf, terms: Sequence[Term]) -> Explanation:
        """The first term, with which the others have to agree; a question where nobody has said what it rests on."""
        best, *rest = terms
        why = "a text with what was known filled in" if best.kind == 5 else "the only explanation"
        how, why = self.asked(place.at, best.guess, f"and {len(rest)} more, which have to agree" if rest else why)
        return Explanation(
            leaf=place.at,
            text=best.text,
            how=how,
            why=why,
            expects=tuple(f"{best.group} == {term.group}" for term in rest[:_MOST_ALIKE]),
            group=best.group,
        )

    def asked(self, leaf: str, guess: str, why: str) -> tuple[How, str]:
        """What a term is, and why: a question where it rests on a guess that nobody has confirmed."""
        if not guess or leaf in self.confirmed:
            return "term", why
        return "question", f"{guess} may be chance, and is said nowhere: --confirm {leaf}"

    def _with_literal_words(self, place: Leaf, note: Explanation, words: Sequence[str]) -> Explanation:
        """A text with literal words: any of them that never varied may have been filled in from data (R12)."""
        for word in filter(self._is_foreign, addresses(words)):
            if any(isinstance(text, str) and word in text for text in self.read(place)):
                raise _taken_from_data(word, place.at)
        for text, source in self._perhaps_filled_in(place, words) if words else ():
            if source.step >= 0 and len(set(source.keys)) == 1:
                raise _taken_from_data(text, place.at)
            if place.at not in self.confirmed:
                why = f"{text!r} may be of {source.reference}, in all of which it was: --confirm {place.at}"
                return replace(note, how="question", why=why)
        return note

    def _perhaps_filled_in(self, place: Leaf, words: Sequence[str]) -> Iterator[tuple[str, KnownValue]]:
        """The words of a text that a known value was or held in all examples, and that the author hasn't written."""
        foreign = list(filter(self._is_foreign, phrases(words)))
        for source in self.terms.sources:
            if source.step in {-1, *place.allowed}:
                yield from ((part, source) for part in copied(words, source) if part and not self.author.has_said(part))
                yield from ((part, source) for part in foreign if all(part in str(text) for text in source.values))

    def _is_foreign(self, words: str) -> bool:
        """Whether neither the author nor any input has these words."""
        return words not in self.author.words and not any(words in str(value) for value in self.given)

    def _constant(self, place: Leaf, values: Sequence[Any]) -> Explanation:
        """A value that never varied: declared, said by the author, or a question for a person (R11, R12)."""
        value = values[0]
        schema = self.author.schema_of(place.path, place.tool)
        note = Explanation(leaf=place.at, text=escape(value), how="constant", group=repr(value))
        if is_secret(schema):
            raise RefineError("a secret can't be a constant: make it a reference", code="secret", path=place.at)
        if place.at in self.confirmed:
            if self._is_from_data(place, value):
                raise _taken_from_data(value, place.at)
            return replace(note, how="confirmed", why="confirmed")
        if self.author.declares(value, schema):
            return self._guarded(place, values, replace(note, why="its schema says so"))
        if is_judged(value, schema):
            why = f"the same in all, but it may have been judged: --confirm {place.at}"
            return replace(note, how="question", why=why)
        if self.author.has_said(value):
            return self._guarded(place, values, replace(note, why="the author's own words"))
        if self._is_from_data(place, value):
            same = [term for term in self.terms.giving(values, place.allowed) if term.kind == 1]
            if place.tool is None and same:
                why = f"the same in all, and read: --confirm {place.at}={same[0].text}"
                return replace(note, how="question", why=why)
            raise _taken_from_data(value, place.at)
        return replace(note, how="question", why=f"the same in all, said nowhere: --confirm {place.at}")

    def _guarded(self, place: Leaf, values: Sequence[Any], note: Explanation) -> Explanation:
        """An explained constant that a term gives as well: the term has to stay equal to it."""
        terms = self.terms.giving(values, place.allowed)
        is_count = values[0] == 0 and any(is_list(source.values[0]) for source in self.terms.sources)
        if len(terms) > _MOST_ALIKE or is_count:
            why = "it may have been counted" if is_count else f"{len(terms)} terms give it"
            return replace(note, how="question", why=f"the same in all, and {why}: --confirm {place.at}")
        expects = tuple(f"{term.group} == {note.group}" for term in terms)
        return replace(note, expects=expects)

    def _is_from_data(self, place: Leaf, value: Any) -> bool:
        """Whether a text or number stands in a result that the model of any example had seen, and in no input."""
        is_word = value != "" if isinstance(value, str) else is_number(value)
        is_given = any(_holds(given, value) for given in self.given)
        return is_word and not is_given and any(_holds(result, value) for result in self.read(place))


def _taken_from_data(value: Any, at: str) -> RefineError:
    return RefineError(
        f"{encode(value)} stands in what a call has returned, and in nothing given: it can't be a constant; "
        f"write it into the Idea if it is meant, or say with --confirm {at}=†… from where it comes",
        code="taken_from_data",
        path=at,
    )


def _hole(place: Leaf, why: str) -> Explanation:
    return Explanation(leaf=place.at, text=None, how="hole", why=why)


def _agreeing(whole: Explanation, parts: Any, inner: Sequence[Explanation]) -> Explanation:
    """A whole that could also be put together from its parts: both have to stay the same."""
    literal = _literal(parts, [note.group for note in inner])
    same = _literal(parts, [f"{whole.group}{note.leaf.removeprefix(whole.leaf)}" for note in inner])
    condition = f"len({whole.group}) == {len(parts)}" if literal == same else f"{whole.group} == {literal}"
    expects = dict.fromkeys([*whole.expects, condition, *(condition for note in inner for condition in note.expects)])
    return replace(whole, expects=tuple(expects))


def _literal(parts: Any, groups: Iterable[str]) -> str:
    """A value as an expression, whose parts are these expressions."""
    waiting = iter(groups)

    def expression(value: Any) -> str:
        if is_object(value) and value:
            return "{" + ", ".join(f"{key!r}: {expression(part)}" for key, part in value.items()) + "}"
        if is_list(value) and value:
            return "[" + ", ".join(map(expression, value)) + "]"
        return next(waiting)

    return expression(parts)


def _holds(value: Any, wanted: Any) -> bool:
    is_within = isinstance(wanted, str) and isinstance(value, str) and wanted in value
    return is_within or value_key(value) == value_key(wanted)


def _refers(text: str) -> bool:
    return "†" in text.replace("††", "") and "†calls.-1" not in text


def _part(authored: Any, key: str | int, count: int) -> Any:
    if isinstance(key, int):
        return authored[key] if is_list(authored) and len(authored) == count else authored
    return authored.get(key) if is_object(authored) else authored


def _keys(values: Sequence[Any]) -> Sequence[str | int] | None:
    """The keys that all objects have, or the positions that all lists have; None if they differ or there are none."""
    first = values[0]
    if first and all(is_object(value) and value.keys() == first.keys() for value in values):
        return list(first)
    if first and all(is_list(value) and len(value) == len(first) for value in values):
        return range(len(first))
    return None

"""Where one value of a plan comes from, as far as the examples tell (R9-R13)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..dataflow.expression import escaped
from ..errors import RefineError
from ..schema.json import Json, JsonObject, encode, is_list, is_object, leaves_of
from .author import Author, is_judged, is_secret
from .explanation import Explanation, Leaf
from .holes import Holes
from .templates import addresses, copied, own_words, phrases, templates_for
from .terms import KnownValue, Term, Terms, value_key, varies

_UNPROVED = frozenset({"hole", "judged"})
"""What is of no term: where a whole has one, that is taken."""
_MOST_ALIKE = 64


@dataclass(slots=True)
class Explaining:
    """Explains values by terms over what was known. `confirmed` are leaves that a person has settled.

    `read` gives what the examples' models had seen of results at a place, and `given` are the values of the inputs.
    """

    terms: Terms
    author: Author
    confirmed: Mapping[str, str]
    given: Sequence[Any] = ()
    read: Callable[[Leaf], Iterator[Any]] = lambda _: iter(())
    found: list[Explanation] = field(default_factory=list[Explanation])
    secrets: Collection[str] = ()
    """Texts that stand in no plan (R32)."""
    holes: Holes | None = None
    """What reads out of texts what nothing explains."""

    def value(self, place: Leaf, values: Sequence[Any], authored: Sequence[Any]) -> Any:
        """What stands in the plan for a value: as a whole where that can be explained, else part by part.

        Raises:
            RefineError: a value was taken from data, or there are too many terms.
        """
        settled = self._settled(place, authored)
        if settled is not None:
            return self._noted(settled)
        terms = self.terms.giving(values, place.allowed) if varies(values) else []
        keys: Sequence[str | int] | None = _keys(values) or _indices(values)
        if keys is None:
            return self._noted(self._scalar(place, values, terms))
        if not terms:
            return self._parts(place, values, authored, keys)
        before = len(self.found)
        parts = self._parts(place, values, authored, keys, is_probe=True)
        inner = self.found[before:]
        has_hole = any(one.how in _UNPROVED for one in inner)
        if not has_hole and any(one.how in {"question", "authored", "confirmed"} for one in inner):
            return parts
        del self.found[before:]
        whole = _by(place, terms)
        return self._noted(whole if has_hole else _agreeing(whole, parts, inner))

    def _settled(self, place: Leaf, authored: Sequence[Any]) -> Explanation | None:
        """A reference or expression that all examples were authored with, or that a person has confirmed."""
        texts = {one if isinstance(one, str) else None for one in authored}
        if len(texts) == 1 and (text := next(iter(texts))) is not None and _refers(text):
            own = Explanation(leaf=place.at, text=text, how="authored", why="as all examples wrote it")
            return self._with_own_words(place, own, own_words(text))
        if self.confirmed.get(place.at):
            return Explanation(leaf=place.at, text=self.confirmed[place.at], how="confirmed", why="confirmed")
        return None

    def _noted(self, one: Explanation) -> Json:
        if isinstance(one.text, str) and any(secret in one.text for secret in self.secrets):
            raise RefineError("a secret would stand in the plan: let it be a reference", code="secret", path=one.leaf)
        self.found.append(one)
        return one.text

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
        found: dict[str | int, Json] = {}
        for key in keys:
            parts = [value[key] for value in values]
            found[key] = self.value(place.part(key), parts, [_part(one, key, len(keys)) for one in authored])
            if is_probe and self.found[-1].how in _UNPROVED:
                break
        return found if is_object(values[0]) else list(found.values())

    def _scalar(self, place: Leaf, values: Sequence[Any], terms: Sequence[Term]) -> Explanation:
        if not varies(values):
            return self._constant(place, values)
        if len(terms) > _MOST_ALIKE:
            return _hole(place, f"{len(terms)} terms give it: more examples tell")
        found = terms or templates_for(values, self.terms.sources, place.allowed)
        if not found:
            filled = None if self.holes is None else self.holes.filled(values, place)
            return filled or _hole(place, "no term gives it in all examples")
        own = _by(place, found)
        return self._with_own_words(place, own, found[0].words)

    def _with_own_words(self, place: Leaf, own: Explanation, words: Sequence[str]) -> Explanation:
        """A text whose words nothing known has: of what never varied nobody knows whether it was filled in (R12)."""
        for one in filter(self._is_foreign, addresses(words)):
            if any(isinstance(text, str) and one in text for text in self.read(place)):
                raise _taken(one, place.at)
        for text, source in self._perhaps_filled_in(place, words) if words else ():
            if source.step >= 0 and len(set(source.keys)) == 1:
                raise _taken(text, place.at)
            if place.at not in self.confirmed:
                told = f"{text!r} may be of {source.reference}, in all of which it was: --confirm {place.at}"
                return replace(own, how="question", why=told)
        return own

    def _perhaps_filled_in(self, place: Leaf, words: Sequence[str]) -> Iterator[tuple[str, KnownValue]]:
        """What of a text's words a known value was, or had in all examples, and the author hasn't said."""
        said = list(filter(self._is_foreign, phrases(words)))
        for source in self.terms.sources:
            if source.step in {-1, *place.allowed}:
                yield from ((one, source) for one in copied(words, source) if one and not self.author.has_said(one))
                yield from ((one, source) for one in said if all(one in str(text) for text in source.values))

    def _is_foreign(self, words: str) -> bool:
        """Whether the author hasn't written words, and no input has them."""
        return words not in self.author.words and not any(words in str(one) for one in self.given)

    def _constant(self, place: Leaf, values: Sequence[Any]) -> Explanation:
        """A value that never varied: declared, said by the author, or a question for a person (R11, R12)."""
        value = values[0]
        schema = self.author.schema_of(place.path, place.tool)
        own = Explanation(leaf=place.at, text=escaped(value), how="constant", group=repr(value))
        if is_secret(schema):
            raise RefineError("a secret can't be a constant: make it a reference", code="secret", path=place.at)
        if place.at in self.confirmed:
            if self._is_from_data(place, value):
                raise _taken(value, place.at)
            return replace(own, how="confirmed", why="confirmed")
        if self.author.declares(value, schema):
            return self._guarded(place, values, replace(own, why="its schema says so"))
        if is_judged(value, schema):
            why = f"the same in all, but it may have been judged: --confirm {place.at}"
            return replace(own, how="question", why=why)
        if self.author.has_said(value):
            return self._guarded(place, values, replace(own, why="the author's own words"))
        if self._is_from_data(place, value):
            same = [term for term in self.terms.giving(values, place.allowed) if term.kind == 1]
            if place.tool is None and same:
                why = f"the same in all, and read: --confirm {place.at}={same[0].text}"
                return replace(own, how="question", why=why)
            raise _taken(value, place.at)
        return replace(own, how="question", why=f"the same in all, said nowhere: --confirm {place.at}")

    def _guarded(self, place: Leaf, values: Sequence[Any], own: Explanation) -> Explanation:
        """An explained constant that something known may have given as well: that has to stay equal to it."""
        terms = self.terms.giving(values, place.allowed)
        is_count = values[0] == 0 and any(is_list(source.values[0]) for source in self.terms.sources)
        if len(terms) > _MOST_ALIKE or is_count:
            told = "it may have been counted" if is_count else f"{len(terms)} terms give it"
            return replace(own, how="question", why=f"the same in all, and {told}: --confirm {place.at}")
        expects = tuple(f"{term.group} == {own.group}" for term in terms)
        return replace(own, expects=expects, others=len(terms))

    def _is_from_data(self, place: Leaf, value: Any) -> bool:
        """Whether a value stands in a result that any example's model had seen, and in no input."""
        if value is None or isinstance(value, bool) or value == "" or is_list(value) or is_object(value):
            return False
        return not any(_holds(given, value) for given in self.given) and any(
            _holds(held, value) for held in self.read(place)
        )


def _taken(value: Any, at: str) -> RefineError:
    return RefineError(
        f"{encode(value)} stands in what a call has returned, and in nothing given: it can't be a constant; "
        f"write it into the Idea if it is meant, or say with --confirm {at}=†… from where it comes",
        code="taken_from_data",
        path=at,
    )


def _by(place: Leaf, terms: Sequence[Term]) -> Explanation:
    best, *others = terms
    why = "a text with what was known filled in" if best.kind == 5 else "the only explanation"
    return Explanation(
        leaf=place.at,
        text=best.text,
        how="term",
        why=f"and {len(others)} more, which have to agree" if others else why,
        expects=tuple(f"{best.group} == {other.group}" for other in others[:_MOST_ALIKE]),
        group=best.group,
        others=len(others),
    )


def _hole(place: Leaf, why: str) -> Explanation:
    return Explanation(leaf=place.at, text=None, how="hole", why=why)


def _agreeing(whole: Explanation, parts: Any, inner: Sequence[Explanation]) -> Explanation:
    """A whole that could as well be made of parts: what it is made of has to stay the same."""
    own = _literal(parts, inner)
    same = _literal(parts, [replace(one, group=f"{whole.group}{one.leaf.removeprefix(whole.leaf)}") for one in inner])
    condition = f"len({whole.group}) == {len(parts)}" if own == same else f"{whole.group} == {own}"
    expects = dict.fromkeys([*whole.expects, condition, *(held for one in inner for held in one.expects)])
    return replace(whole, expects=tuple(expects))


def _literal(parts: Any, found: Sequence[Explanation]) -> str:
    """A value of explained parts as an expression."""
    waiting = [one.group for one in found]
    waiting.reverse()

    def told(value: Any) -> str:
        if is_object(value) and value:
            return "{" + ", ".join(f"{key!r}: {told(one)}" for key, one in value.items()) + "}"
        if is_list(value) and value:
            return "[" + ", ".join(map(told, value)) + "]"
        return waiting.pop()

    return told(parts)


def _holds(held: Any, value: Any) -> bool:
    return value_key(held) == value_key(value) or (isinstance(value, str) and isinstance(held, str) and value in held)


def _refers(text: str) -> bool:
    return "†" in text.replace("††", "") and "†calls.-1" not in text


def _part(authored: Any, key: str | int, count: int) -> Any:
    if isinstance(key, int):
        return authored[key] if is_list(authored) and len(authored) == count else authored
    return authored.get(key) if is_object(authored) else authored


def _keys(values: Sequence[Any]) -> Sequence[str] | None:
    """The keys of objects that all have the same ones."""
    held: list[JsonObject] = [one for one in values if is_object(one)]
    is_alike = len(held) == len(values) and bool(held[0]) and all(one.keys() == held[0].keys() for one in held)
    return list(held[0]) if is_alike else None


def _indices(values: Sequence[Any]) -> Sequence[int] | None:
    """The places in lists that are all as long, and not empty."""
    held = [one for one in values if is_list(one)]
    is_alike = len(held) == len(values) and len({len(one) for one in held}) == 1 and bool(held[0])
    return range(len(held[0])) if is_alike else None


def values_within(values: Sequence[Any]) -> list[Any]:
    """All scalars in these."""
    return [held for one in values for _, held in leaves_of(one)]

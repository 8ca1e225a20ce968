"""Types in the words of messages."""

from __future__ import annotations

from ..quoting import quoted
from .kinds import Alternative, Boolean, List, Null, Number, Object, Text, Type, Whole

_MOST_VALUES = 8
_WORDS = {
    Text: "a text",
    Number: "a number",
    Whole: "a whole number",
    Boolean: "true or false",
    Null: "null",
    List: "a list",
    Object: "an object",
}
_EVERYTHING = {Text, Number, Boolean, List, Object}


def in_words(type: Type) -> str:
    """What a value may be, as a message says it: `a list`, `a text or null`."""
    return words_of(type.alternatives)


def words_of(alternatives: tuple[Alternative, ...] | None) -> str:
    """As `words`, of some of a type's alternatives."""
    kinds = list(dict.fromkeys(one.__class__ for one in alternatives or ()))
    if not kinds or _EVERYTHING.issubset(kinds):
        return "anything"
    if Number in kinds and Whole in kinds:
        kinds.remove(Whole)
    return " or ".join(_WORDS[kind] for kind in kinds)


def values_told(one: Text) -> str:
    """The texts that it may be, the first of many."""
    values = one.values or ()
    told = ", ".join(quoted(value, 40) for value in values[:_MOST_VALUES])
    return f"{told}, …" if len(values) > _MOST_VALUES else told

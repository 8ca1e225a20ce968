"""One call for the items of a list, where examples made it as often as a list had items (R14)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from ..errors import RefineError
from ..schema.json import JsonObject, is_list, is_object
from .explaining import Explaining
from .explanation import Explanation, Leaf
from .shapes import SharedCall
from .terms import KnownValue, Selection, Terms, keys_within, known_within, value_key

_MOST_LISTS = 64
_TIMES = 10
"""How much longer a list may be than any of the examples."""
EACH = "†each"


@dataclass(frozen=True, slots=True)
class Repeated:
    """A call for every item: the list as `_each` takes it, the parameters, and what has to hold."""

    items: str
    parameters: JsonObject
    expects: Sequence[str]
    notes: Sequence[Explanation]


def repeated(number: int, slot: SharedCall, allowed: Collection[int], own: Explaining) -> Repeated:
    """The list by which a call is repeated.

    Raises:
        RefineError: no list explains it.
    """
    counts = [len(calls) for calls in slot.calls]
    lists = [
        one
        for one in own.terms.selections
        if one.needs <= set(allowed) and [len(items) for items in one.items] == counts
    ]
    tried = [(one, _explained(number, slot, one, allowed, own)) for one in lists[:_MOST_LISTS]]
    fitting = [(one, *found) for one, found in tried if found is not None]
    if not fitting or len(lists) > _MOST_LISTS:
        told = f"{slot.first.tool} was called {min(counts)} to {max(counts)} times"
        raise RefineError(f"{told}, and no list that was known tells how often", code="unknown_condition")
    fitting.sort(key=lambda one: (bool(one[0].where), len(one[0].group), one[0].group))
    best, parameters, notes = fitting[0]
    expects = [_of_all(condition, best) for one in notes for condition in one.expects]
    rows = _rows(best, notes)
    for other, _, more in fitting[1:]:
        same = list(map(value_key, other.items)) == list(map(value_key, best.items))
        expects.append(f"{best.group} == {other.group}" if same else f"{rows} == {_rows(other, more)}")
        expects += [_of_all(condition, other) for one in more for condition in one.expects]
    expects.append(f"len({best.group}) <= {_TIMES * max(counts)}")
    items = f"{{{best.group}}}" if best.where else best.group
    about = Explanation(leaf=f"{number}._each", text=items, how="term", why=f"{min(counts)} to {max(counts)} items")
    return Repeated(items, parameters, list(dict.fromkeys(expects)), [about, *notes])


def _explained(
    number: int, slot: SharedCall, chosen: Selection, allowed: Collection[int], own: Explaining
) -> tuple[JsonObject, list[Explanation]] | None:
    """The parameters by the items of a list; None where they aren't."""
    pairs = [(at, item) for at, items in enumerate(chosen.items) for item in items]
    known = [
        KnownValue(one.text, tuple(one.values[at] for at, _ in pairs), one.step)
        for one in own.terms.sources
        if not any(is_list(value) or is_object(value) for value in one.values)
    ]
    sources = [*known_within("each", [item for _, item in pairs]), *known]
    steps = [one for calls in slot.calls for one in calls]
    wanted = keys_within([steps[0].arguments])
    inner = replace(own, terms=Terms(sources, own.author.numbers, own.author.has_said, wanted), found=[], holes=None)
    parameters: JsonObject = {}
    for name in slot.first.arguments:
        place = Leaf(f"{number}.{name}", allowed, slot.first.tool, number, (name,))
        parameters[name] = inner.value(place, [step.arguments[name] for step in steps], [None] * len(steps))
    is_whole = not any(one.how == "hole" for one in inner.found)
    return (parameters, inner.found) if is_whole and any(map(_by_item, inner.found)) else None


def _by_item(one: Explanation) -> bool:
    return EACH in one.group or any(EACH in condition for condition in one.expects)


def _rows(chosen: Selection, notes: Sequence[Explanation]) -> str:
    """What each of the calls is given, as an expression."""
    return f"[[{', '.join(_groups(notes))}] for y in {chosen.group}]"


def _groups(notes: Sequence[Explanation]) -> Iterator[str]:
    return (one.group.replace(EACH, "y") for one in notes)


def _of_all(condition: str, chosen: Selection) -> str:
    """A condition of an item as one of all items."""
    if EACH not in condition:
        return condition
    return f"all({condition.replace(EACH, 'y')} for y in {chosen.group})"

"""One call for each item of a list, where the examples made as many calls as the list had items (R14)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from ..errors import RefineError
from ..schema.json import JsonObject, is_list, is_object
from .explaining import Explaining
from .explanation import Explanation, Leaf
from .shapes import SharedCall
from .terms import KnownValue, Selection, Terms, keys_within, known_within, value_key

_MOST_LISTS = 64
_TIMES = 10
"""How many times longer a list may be than in any example."""
EACH = "†each"


@dataclass(frozen=True, slots=True)
class Repeated:
    """A call for each item: the list as `_each` takes it, the parameters, and what has to hold."""

    items: str
    parameters: JsonObject
    expects: Sequence[str]
    notes: Sequence[Explanation]


def repeated(number: int, slot: SharedCall, allowed: Collection[int], outer: Explaining) -> Repeated:
    """The list by which a call is repeated.

    Raises:
        RefineError: no list explains it.
    """
    counts = [len(calls) for calls in slot.calls]
    lists = [
        selection
        for selection in outer.terms.selections
        if selection.needs <= set(allowed) and [len(items) for items in selection.items] == counts
    ]
    options = [(selection, _explained(number, slot, selection, allowed, outer)) for selection in lists[:_MOST_LISTS]]
    fitting = [(selection, *explained) for selection, explained in options if explained is not None]
    if not fitting or len(lists) > _MOST_LISTS:
        count = f"{slot.first.tool} was called {min(counts)} to {max(counts)} times"
        raise RefineError(f"{count}, and no list that was known tells how often", code="unknown_condition")
    leaf = f"{number}._each"
    meant = outer.confirmed.get(leaf)
    fitting.sort(key=lambda fit: (fit[0].text != meant, fit[0].rank))
    best, parameters, notes = fitting[0]
    if meant and best.text != meant:
        raise RefineError(f"{meant} isn't the list of {slot.first.tool} in all examples", code="unknown_condition")
    expects = [_of_all(condition, best) for note in notes for condition in note.expects]
    rows = _rows(best, notes)
    for rival, _, rival_notes in fitting[1:]:
        same = list(map(value_key, rival.items)) == list(map(value_key, best.items))
        expects.append(f"{best.group} == {rival.group}" if same else f"{rows} == {_rows(rival, rival_notes)}")
        expects += [_of_all(condition, rival) for note in rival_notes for condition in note.expects]
    expects.append(f"len({best.group}) <= {_TIMES * max(counts)}")
    how, why = outer.asked(leaf, best.guess, f"{min(counts)} to {max(counts)} items")
    about = Explanation(leaf=leaf, text=best.text, how=how, why=why)
    return Repeated(best.text, parameters, list(dict.fromkeys(expects)), [about, *notes])


def _explained(
    number: int, slot: SharedCall, chosen: Selection, allowed: Collection[int], outer: Explaining
) -> tuple[JsonObject, list[Explanation]] | None:
    """The parameters as terms over the items of a list; None if there are none."""
    pairs = [(at, item) for at, items in enumerate(chosen.items) for item in items]
    scalars = [
        KnownValue(source.text, tuple(source.values[at] for at, _ in pairs), source.step)
        for source in outer.terms.sources
        if not any(is_list(value) or is_object(value) for value in source.values)
    ]
    sources = [*known_within("each", [item for _, item in pairs]), *scalars]
    steps = [step for calls in slot.calls for step in calls]
    wanted = keys_within([steps[0].arguments])
    terms = Terms(sources, outer.author.numbers, outer.author.has_said, wanted)
    inner = replace(outer, terms=terms, notes=[], holes=None)
    parameters: JsonObject = {}
    for name in slot.first.arguments:
        place = Leaf(f"{number}.{name}", allowed, slot.first.tool, number, (name,))
        parameters[name] = inner.value(place, [step.arguments[name] for step in steps], [None] * len(steps))
    is_whole = not any(note.how == "hole" for note in inner.notes)
    return (parameters, inner.notes) if is_whole and any(map(_by_item, inner.notes)) else None


def _by_item(note: Explanation) -> bool:
    return EACH in note.group or any(EACH in condition for condition in note.expects)


def _rows(chosen: Selection, notes: Sequence[Explanation]) -> str:
    """The parameters of all calls as an expression."""
    groups = (note.group.replace(EACH, "y") for note in notes)
    return f"[[{', '.join(groups)}] for y in {chosen.group}]"


def _of_all(condition: str, chosen: Selection) -> str:
    """A condition on an item as one on all items."""
    if EACH not in condition:
        return condition
    return f"all({condition.replace(EACH, 'y')} for y in {chosen.group})"

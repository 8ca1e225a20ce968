"""What a call reads by its own words: its expressions with where they stand, and what their filters kept (E7).

For those who show calls: provenance, graphs, approvals. A run judges and resolves calls by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..dataflow.computing.evaluator import Filter
from ..dataflow.computing.text import Computed
from ..dataflow.expression import Expression, references, template
from ..dataflow.reference import Reference, ReferenceSyntax, print_path
from ..schema.json import JsonObject, is_list, is_object
from .call import DERIVED, EACH, EXPECT, VALUE, WHEN, WITH

FILTERS = "_filters"
"""The mark of what a call or an answer has left: how many items the filters of its expressions have kept (E7)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One expression: `at` is the path of the parameter, or the meta-property, that was authored as `text`."""

    at: str
    text: str
    references: tuple[Reference, ...]
    is_computed: bool
    """Whether it is more than a reference, or a choice of references."""
    is_worked_out: bool = False
    """Whether it is computed and not just a reference in braces."""

    def to_dict(self) -> JsonObject:
        """The expression as JSON."""
        return {"at": self.at, "text": self.text, "reads": [str(reference) for reference in self.references]}


def readings(call: Mapping[str, Any]) -> tuple[Reading, ...]:
    """The expressions of a call as it was authored: its condition, its items, then its parameters.

    What can't be parsed is left out: the run refuses such a call and says why.
    """
    meta = [key for key in (WHEN, EACH, VALUE, EXPECT) if key in call]
    expressions = [expression for key in meta for expression in readings_in(call[key], key)]
    aside: Any = call.get(WITH)
    for path, text in aside.items() if is_object(aside) else ():
        expressions += readings_in(text, path)
    for key, value in call.items():
        if key[:1] != "_":
            expressions += readings_in(value, key)
    return tuple(expressions)


def readings_in(value: Any, name: str = "") -> Iterator[Reading]:
    """The expressions of a value that stands at `name`."""
    try:
        parsed = template(value)
    except ReferenceSyntax:
        return
    for expression, path in zip(parsed.expressions, parsed.paths, strict=True):
        at = f"{name}{print_path(path)}" if name else print_path(path).lstrip(".")
        yield _reading(expression, at)


def _reading(expression: Expression, at: str) -> Reading:
    is_computed = isinstance(expression, Computed)
    return Reading(
        at=at,
        text=str(expression),
        references=tuple(references(expression)),
        is_computed=is_computed,
        is_worked_out=isinstance(expression, Computed) and not expression.only_refers,
    )


def with_filters(message: JsonObject, filters: Sequence[Filter] | None) -> JsonObject:
    """A message with what filters have kept as a mark, the same filter counted together; itself where there are none.

    The name of a filter is its source, which whoever wrote the expression wrote: nothing of the data.
    """
    if not filters:
        return message
    counts: dict[str, list[int]] = {}
    for entry in filters:
        count = counts.setdefault(entry.source, [0, 0])
        count[0] += entry.kept
        count[1] += entry.of
    return message | {FILTERS: [{"filter": source, "kept": kept, "of": of} for source, (kept, of) in counts.items()]}


def reading_marks(filters: Sequence[Filter] | None, derived: Sequence[str]) -> JsonObject:
    """The marks of a call besides its place: what its filters have kept (E7), and what was derived (S10)."""
    marks = with_filters({}, filters)
    return marks | ({DERIVED: list(derived)} if derived else {})


def derived_of(message: Mapping[str, Any]) -> tuple[str, ...]:
    """The places in the call behind a message that a reader or an expression has made of data, as its mark says."""
    mark: Any = message.get(DERIVED)
    return tuple(path for path in mark if isinstance(path, str)) if is_list(mark) else ()


def filters_of(message: Mapping[str, Any]) -> tuple[Filter, ...]:
    """What the filters behind a message have kept, by its mark; malformed entries are ignored."""
    mark: Any = message.get(FILTERS)
    filters: list[Filter] = []
    for entry in mark if is_list(mark) else ():
        match entry:
            case {"filter": str(source), "kept": int(kept), "of": int(of)}:
                filters.append(Filter(source, kept, of))
            case _:
                pass
    return tuple(filters)

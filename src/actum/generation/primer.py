"""The explanation of the † language for a model: only the parts that the request offers, in few tokens (T10, T16)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from ..protocol.call import EACH, ELSE, EXPECT, THEN, VALUE, WHEN
from ..protocol.call_schema import PARTS

_CALLS = "Calls start"
_RUN = " once what they refer to is there"
_ORDERED = ", ordered ones as listed"
_RESULTS = "Values may be `†calls.0{}.city` of the first call's result or `†results.3`, an earlier ¶result"
_ITEM = "[0]"
_DATA = ", or `†state.x`, data under ¶state"
_SHAPES = "Untyped fields are texts."
_MAPS = " `{*: T}`: `†calls.0['key']`, .items()."
_NO_GUESS = "Refer to results, never guess them."
_TEMPLATES = (
    "`{…}` with a † is Python as in f-strings: comprehensions, text methods, len sum min max sorted unique. "
    "Alone it keeps its type."
)
_OPTIONAL = " A missing `field?` is null."
_ONE = " `{one(x.id for x in †calls.0 if x.late)}` is the only match or fails: never guess a position."
_FLOW: Mapping[str, str] = {
    EACH: "`_each`: a list, a call per `†each`, gives a list.",
    WHEN: "`_when` false: no call, gives null.",
    ELSE: "`_else`: what a failed call gives.",
    VALUE: "`_value` only computes.",
    EXPECT: "`_expect`: unless true, what follows and `output` are withheld.",
    THEN: '{"_then": true}, counted in `†calls`: what follows waits until all before has succeeded.',
}
_OUTPUT = "ends the work, is withheld if a call fails. Null: results must be read first."


@lru_cache
def primer(
    *,
    refers: bool,
    data: bool,
    flow: bool,
    shapes: bool,
    ordered: bool = False,
    lists: bool = False,
    maps: bool = False,
    optional: bool = False,
    parts: frozenset[str] = PARTS,
) -> str:
    """The text for a request that offers references to results (`refers`), to `data`, the `flow`, `shapes` of results.

    `ordered`: some tools keep the order of their calls (T14). `lists`, `maps` and `optional` fields: the described
    results have them. `parts`: the useful parts of the flow.
    """
    order = _ORDERED if ordered else ""
    if not refers:
        return f"{_CALLS}{order}. `output` {_OUTPUT}"
    typed = f" {_SHAPES}{_MAPS if maps else ''}" if shapes else ""
    sources = f"{_RESULTS.format(_ITEM if lists else '')}{_DATA if data else ''}"
    references = f"{_CALLS}{_RUN}{order}. {sources}.{typed}"
    if not flow:
        return f"{references} {_NO_GUESS} `output` {_OUTPUT}"
    return "\n".join(
        (
            references,
            f"{_TEMPLATES}{_OPTIONAL if optional else ''}{_ONE if EACH in parts else ''}",
            " ".join(words for part, words in _FLOW.items() if part in parts),
            f"`output` {_OUTPUT}",
        )
    )

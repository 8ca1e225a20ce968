"""What a model is told of the † language before all else: only what this request offers, in few tokens (T10, T16)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from ..protocol.call import EACH, ELSE, EXPECT, THEN, VALUE, WHEN
from ..protocol.call_schema import PARTS

_CALLS = "Each element of `calls` calls a tool"
_RUN = " once what it refers to is there"
_ORDERED = " (ordered tools as listed)"
_RESULTS = (
    "`†calls.0` is the result of this answer's first element, `†calls.0{}.city` part of it, "
    "`†results.3` an earlier ¶result"
)
_ITEM = "[0]"
_DATA = ", `†state.x` data under ¶state"
_SHAPES = "Tools say what they return; a field without a type is a text."
_MAPS = " `{*: T}`: `†calls.0['key']`, .items()."
_NO_GUESS = "Refer to results, never guess them."
_TEMPLATES = (
    "`{…}` with a † in it is a Python expression: comprehensions, or, key=lambda, text methods, .get(k, x), "
    "len str sum min max sorted unique zip round; a missing `field?` is null, so is `†calls.0.note?`. Alone it keeps "
    "its type; in a text it's filled in: `Paid {†calls.0.n}`. "
    "`{one(x.id for x in †calls.0 if x.name == 'Ann')}` is the only match, or fails: never guess a position."
)
_FLOW: Mapping[str, str] = {
    EACH: "`_each`: a list; a call for each item, `†each`; gives a list.",
    WHEN: "`_when`: if false, the call is skipped and gives null.",
    THEN: '{"_then": true}, counted in `†calls`: what follows waits until all before has succeeded.',
    VALUE: '{"_value": "{…}"} only computes.',
    ELSE: "`_else`: what a failed call gives.",
    EXPECT: '{"_expect": "{…}"}: unless true, what follows and `output` are withheld.',
}
_OUTPUT = "ends the work, and is withheld if a call fails. Null: where you must read results to decide."


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
    parts: frozenset[str] = PARTS,
) -> str:
    """The words for a request that offers references to results, or to data too; the flow; shapes of results.

    `ordered`: some tools keep the order of their calls (T14). `lists` and `maps`: what tools are told to return.
    `parts`: those of the flow that there is a use for.
    """
    order = _ORDERED if ordered else ""
    if not refers:
        return f"{_CALLS}{order}. `output` {_OUTPUT}"
    told = f" {_SHAPES}{_MAPS if maps else ''}" if shapes else ""
    named = f"{_RESULTS.format(_ITEM if lists else '')}{_DATA if data else ''}"
    references = f"{_CALLS}{_RUN}{order}. {named}.{told}"
    if not flow:
        return f"{references} {_NO_GUESS} `output` may refer, too; it {_OUTPUT}"
    return "\n".join(
        (
            references,
            _TEMPLATES,
            " ".join(words for part, words in _FLOW.items() if part in parts),
            f"`output` may refer and compute too; it {_OUTPUT}",
        )
    )

"""What a model is told of the † language before all else: only what this request offers, in few tokens (T10, T16)."""

from __future__ import annotations

from functools import lru_cache

_CALLS = "Each element of `calls` calls a tool"
_RUN = "as soon as what it refers to is there"
_RESULTS = (
    "`†calls.0` is the result of this answer's first element, `†calls.0.city` part of it, "
    "`†results.3` an earlier ¶result"
)
_DATA = ", `†state.x` data under ¶state"
_SHAPES = "Tools say what they return; a field without a type is a text."
_NO_GUESS = "Refer to results instead of guessing them."
_TEMPLATES = (
    "`{…}` with a † in it is a Python expression: comprehensions, if/else, text methods, len sum min max sorted "
    "unique zip round; a missing `field?` is null. Alone in a string it keeps its type, `{†calls.0.price * 2}`; in a "
    "text it's filled in, `Paid {†calls.0.price}`. `{one(x.id for x in †calls.0 if x.name == 'Ann')}` is the only "
    "match, or the call fails: never guess a position."
)
_FLOW = (
    "`_each`: a list; a call for each item, `†each`; gives a list. `_when`: a condition; if false, the call is "
    'skipped and gives null. {"_then": true}, counted too: what follows waits until all before has succeeded. '
    '{"_value": "{…}"} only computes. `_else`: the value of a call or item that fails. '
    '{"_expect": "{…}"}: unless true, what follows and `output` are withheld.'
)
_OUTPUT = "ends the work, and is withheld if a call fails. Null: where you must read results to decide."


@lru_cache
def primer(*, refers: bool, data: bool, flow: bool, shapes: bool) -> str:
    """The words for a request that offers references to results, or to data too; the flow; shapes of results."""
    if not refers:
        return f"{_CALLS}. `output` {_OUTPUT}"
    told = f" {_SHAPES}" if shapes else ""
    references = f"{_CALLS} {_RUN}. {_RESULTS}{_DATA if data else ''}.{told}"
    if not flow:
        return f"{references} {_NO_GUESS} `output` may refer, too; it {_OUTPUT}"
    return "\n".join((references, _TEMPLATES, _FLOW, f"`output` may refer and compute too; it {_OUTPUT}"))

"""What a model is told of the † language before all else: only what this request offers, in few tokens (T10, T16)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Primer:
    """What a request offers, which decides what its model has to know."""

    refers: bool
    """References to results."""
    data: bool
    """References to data."""
    flow: bool
    """Templates, conditions, lists, order, computed values."""
    shapes: bool
    """What tools return is told."""

    @property
    def text(self) -> str:
        """The words."""
        if not self.refers:
            return f"{_CALLS}. {_OUTPUT}"
        references = f"{_CALLS}; {_RUN}. {_RESULTS}{_DATA if self.data else ''}{_SHAPES if self.shapes else ''}."
        if not self.flow:
            return f"{references} {_NO_GUESS} `output` may refer too. {_OUTPUT}"
        return "\n".join((references, _TEMPLATES, _FLOW, f"`output` may refer and compute too. {_OUTPUT}"))


_CALLS = "Each element of `calls` calls a tool"
_RUN = "calls run in parallel, each once the results it refers to are there"
_RESULTS = (
    "`†calls.0` is the result of this answer's first call, `†calls.0.items[2].name` a part of it, "
    "`†results.3` what is shown as ¶result 3"
)
_DATA = ", `†state.x` data under ¶state"
_SHAPES = "; tools tell what they return, a field without a type is a text"
_NO_GUESS = "Refer to results instead of guessing them."
_TEMPLATES = (
    "`{…}` with a † in it is a Python expression: x.key, comprehensions, if/else, arithmetic, f-strings, text methods, "
    "len sum min max sorted unique zip round. Alone in a string it keeps its type, `{†calls.0.price * 2}`; in a text "
    "it is filled in, `Paid {†calls.0.price}`. `{one(x.id for x in †calls.0 if x.name == 'Ann')}` is the only match, "
    "else the call fails. Never guess a position."
)
_FLOW = (
    "`_each`, a list: the call is made for each item, `†each`; its result is the list of theirs. `_when`, a condition: "
    'if false the call is skipped, its result null. {"_then": true}: what follows waits for the success of all before '
    'it. {"_value": "{…}"} only computes.'
)
_OUTPUT = (
    "`output` ends the work; it is withheld if a call fails. Leave it null only where you must read results first."
)

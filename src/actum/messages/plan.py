"""`plan` `{plan, mode?, output?}`: the calls of an answer that carry over into the next tick.

A plan itself is not shown: the run knows which of its calls are still open, and shows those.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..schema.drawn import Drawn
from ..schema.json import JsonObject, encode, is_object
from ..schema.quoting import summary
from .kind import BLOCK_SIGIL, Block, Key, Kind, Volatility, show_nothing


@dataclass(frozen=True, slots=True)
class Plan(Drawn):
    """Calls to be made, and what the answer is once they have been."""

    plan: Sequence[JsonObject]
    mode: Literal["eager", "lazy"] = "eager"
    output: Any = None

    def to_dict(self) -> JsonObject:
        """The message as JSON."""
        message: JsonObject = {"type": "plan", "plan": [dict(call) for call in self.plan]}
        if self.mode != "eager":
            message["mode"] = self.mode
        return message if self.output is None else {**message, "output": self.output}


def open_calls(waiting: Sequence[JsonObject], owed: Sequence[JsonObject]) -> Iterable[Block]:
    """The open calls: some wait for a value, some for their `_output` by the model itself (C4, P2)."""
    if waiting:
        lines = "\n".join(encode(call) for call in waiting)
        yield Block("user", f"{BLOCK_SIGIL}plan, runs by itself when its references resolve\n{lines}", _DERIVED)
    if owed:
        lines = "\n".join(encode(call) for call in owed)
        yield Block("user", f"{BLOCK_SIGIL}owed, make these calls again with their _output\n{lines}", _DERIVED)


def _complaint(message: JsonObject) -> str | None:
    for number, call in enumerate(message["plan"]):
        if not is_object(call):
            return f"'plan' must hold calls, which are objects; element {number} is {summary(call)}"
    return None


_DERIVED = Volatility.DERIVED

KINDS = [
    Kind(
        type="plan",
        about="Calls to be made.",
        keys={
            "plan": Key(
                types=("array",),
                items={"$ref": "#/$defs/call"},
                is_required=True,
                about="The calls; those that are done have left a message behind the plan.",
            ),
            "mode": Key(choices=("eager", "lazy"), about="Whether the calls run, or are only planned."),
            "output": Key(about="The answer once the plan has run; it may refer to results."),
        },
        judge=_complaint,
        value=Plan,
        show=show_nothing,
    )
]

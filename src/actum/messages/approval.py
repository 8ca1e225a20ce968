"""`approval` and `suspended`: what waits for a decision, and what was decided. A model is shown neither (L6, L8)."""

from __future__ import annotations

from .kind import Key, Kind, show_nothing

_OF = Key(types=("string",), is_required=True, about="The place of the call, for example 3.0.")
_CALL = Key(types=("object",), is_required=True, about="The call that it is about.")

# Without a value: no Activity may return one, so that no call can approve another.
KINDS = [
    Kind(
        type="approval",
        about="What was decided about a call.",
        keys={
            "of": _OF,
            "call": _CALL,
            "decision": Key(choices=("held", "approve", "deny"), is_required=True, about="What was decided."),
            "reason": Key(types=("string",), about="Why it was denied."),
            "as": Key(types=("object",), about="The call that runs in its place."),
            "shown": Key(
                types=("object",),
                about="What was asked about: the call with its values, its context, what it came from.",
                members={
                    "call": Key(types=("object",), is_required=True, about="The call with its values."),
                    "context": Key(types=("array",), is_required=True, about="What would cross."),
                    "tool": Key(types=("string",), about="Digests of how the tool was told, its code, its delegate."),
                    "from": Key(types=("object",), about="As what its parameters were authored, by their paths."),
                },
            ),
            "takes": Key(types=("object",), about="The schema of the parameters that the tool of the call takes."),
            "wants": Key(choices=("result",), about="Where the run waits for the call's result, not for a decision."),
            "given": Key(types=("object",), about="The result of the call, as `value`: it is not made here."),
        },
        show=show_nothing,
    ),
    Kind(
        type="suspended",
        about="The context of a call's delegate when the run was cut.",
        keys={
            "of": _OF,
            "call": _CALL,
            "context": Key(
                types=("array",),
                items={"$ref": "#/$defs/message"},
                is_required=True,
                about="The messages of the delegate.",
            ),
        },
        show=show_nothing,
    ),
]

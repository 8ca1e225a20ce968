"""`actum why`: where the values of a kept run came from (X0, E7)."""

from __future__ import annotations

from collections.abc import Iterator

from ... import inspection
from ...dataflow.reference import clip
from ...inspection.wording import short
from ...protocol.approvals import pending
from ...protocol.message import RESULT
from ...protocol.provenance import UNKNOWN
from ...schema.json import encode
from ...schema.quoting import printable
from ..keeping import idea_at
from ..options import AnyRuns
from ..render.terminal import say, say_below, say_json

_RESULT = f"†{RESULT}"
_LONGEST = 200
"""How many characters of an expression are shown."""


async def actum_why(
    run: str,
    reference: str | None = None,
    /,
    *,
    instance: str | None = None,
    json: bool = False,
    store: AnyRuns = None,
) -> None:
    """Say where a value of a kept run came from: whether code or a model made it, and of what.

    Of the output it also says which calls are not done, and what became of each: it failed, its result was unusable, it
    is unknown whether it had its effect, or it was not made.

    Parameters
    ----------
    run
        The run's file, its id where it was submitted, or the address that it was saved at.
    reference
        The value, for example state.report or calls.0; the run's output if none is named.
    instance
        The instance that the value is seen from.
    json
        Print one JSON list: each origin once, `of` being indices of messages.
    """
    kept = await idea_at(run, store)
    origins = inspection.why(kept, reference, instance=instance)
    if json:
        entries = [entry for origin in origins for entry in origin.to_list()]
        say_json(entries)
        return
    if reference is None and [origin.by for origin in origins] == [UNKNOWN]:
        say("the run has no output yet")
        origins = ()
    for origin in origins:
        for depth, source, is_new in origin.walk():
            say_below(depth, _describe(source, is_new=is_new))
            for line in _computed_lines(source) if is_new else ():
                say_below(depth + 1, f"· {line}")
    awaited = {call.of for call in pending(kept.context)}
    for call in inspection.calls_of(kept) if reference is None else ():
        if call.state != "done":
            waits = ": it waits for a decision" if str(call.place) in awaited else ""
            detail = f": {call.error.message}" if call.error is not None else waits
            say(printable(f"call {call.place} ({call.tool}) {call.state}{detail}"))


def _computed_lines(origin: inspection.Origin) -> Iterator[str]:
    """How a value was computed: its expressions, and how many items their filters kept."""
    for expression in origin.expressions:
        read = ", ".join(dict.fromkeys(map(str, expression.references)))
        mark = ", derived" if expression.at in origin.derived else ""
        yield f"{expression.at or 'all of it'}: {clip(expression.text, _LONGEST)} read {read}{mark}"
    for kept in origin.filters:
        yield f"kept {kept.kept} of {kept.of}: {clip(kept.source, _LONGEST)}"


def _describe(origin: inspection.Origin, *, is_new: bool) -> str:
    where = f"message {origin.message}" if origin.message is not None else "the run"
    text = f"{_name(origin)} = {short(origin.value)}  by {origin.by}, {where}{', derived' * ('' in origin.derived)}"
    text += f", instead of: {printable(clip(origin.failed))}" if origin.failed else ""
    if origin.call is not None:
        text += f", from {encode(origin.call)}"
    if origin.plan and origin.call is not None:
        text += f", as plan {origin.plan} wrote it"
    elif origin.answer is not None:
        text += f", as answer {origin.answer + 1} wrote it"
    if origin.scopes:
        text += f", given {', '.join(origin.scopes)}"
    return text if is_new else f"{_name(origin)}  (as above)"


def _name(origin: inspection.Origin) -> str:
    """A value's path, or the place of the call that left it if it has no path."""
    return f"call {origin.place}" if origin.reference == _RESULT and origin.place else origin.reference

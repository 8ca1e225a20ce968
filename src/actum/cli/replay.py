"""`actum replay`, `actum why`: what a kept run did, shown again, and where its values came from (X0, X5)."""

from __future__ import annotations

import json as standard_json
from collections.abc import AsyncGenerator
from typing import Annotated

from cyclopts import Parameter

from ..app.idea import Idea
from ..app.replay import Replayed, is_alike, replayed, replayed_output
from ..errors import ActumError
from ..generation.model import ModelRequest, Usage
from ..ideas.ticks import about_of, answers_of, ticks_of
from ..protocol.provenance import Origin, Provenance
from ..schema.json import encode
from ..schema.lowering import DIALECTS, Dialect
from .lines import printable, short
from .loading import ready

_Json = Annotated[bool, Parameter(name="--json", negative="")]


async def replay(
    run: str,
    /,
    *,
    activities: Annotated[list[str] | None, Parameter(negative="")] = None,
) -> int:
    """Go through a kept run again: no model is asked, no call is carried out, nothing is changed.

    Each request is made anew and compared with what was sent, byte for byte; so is the output.

    Parameters
    ----------
    run
        The run's file, or the address that it was saved at.
    activities
        A module or file with Activities, beside those that the Idea names.
    """
    idea = Idea.load(run)
    known = about_of(idea.meta, run)
    ticks = ticks_of(known, run)
    dialect = DIALECTS.get(str(known.get("dialect")))
    agent = ready(idea, run, model=_Unasked(dialect), activities=activities or []).agent()
    differs = 0
    async for one in replayed(agent, idea.context, idea.schema, ticks):
        differs += not one.is_same
        _show(one)
    came_to = known.get("output")
    try:
        again = await replayed_output(agent, idea.context, idea.schema, ticks) if came_to is not None else None
    except ActumError as error:
        print(printable(f"output      can't be made again: {error.message}"))
        return 1
    is_same = is_alike(again, came_to)
    print(printable(f"output      {_judged(is_same)}  {short(came_to)}"))
    return 0 if is_same and not differs else 1


def why(
    run: str,
    reference: str | None = None,
    /,
    *,
    instance: str | None = None,
    json: _Json = False,
) -> int:
    """Say where a value of a kept run came from: from code or a model, and of what, back to what was given.

    Parameters
    ----------
    run
        The run's file, or the address that it was saved at.
    reference
        The value, such as †state.report; the run's output where none is named.
    instance
        The instance that the value is seen from.
    json
        As one JSON list: each origin once, `of` being indices of messages.
    """
    idea = Idea.load(run)
    known = about_of(idea.meta, run)
    found = Provenance(idea.context, answers_of(ticks_of(known, run)), known.get("makers", {}))
    origins = (found.output(known.get("output")),) if reference is None else found.of(reference, instance)
    if json:
        listed = [one for origin in origins for one in origin.to_list()]
        print(standard_json.dumps(listed, ensure_ascii=False))
        return 0
    for origin in origins:
        for depth, one, is_new in origin.walk():
            print(printable("  " * depth + _described(one, is_new=is_new)))
    return 0


class _Unasked:
    """In the place of the model that a run was made with: its requests are made, and sent to nobody."""

    name = "unasked"

    def __init__(self, dialect: Dialect | None) -> None:
        self.dialect = dialect

    def stream(self, request: ModelRequest) -> AsyncGenerator[str | Usage]:
        """Refuse to be asked."""
        raise ActumError("a replay asks no model")


def _show(one: Replayed) -> None:
    print(printable(f"request {one.number:<3} {_judged(one.is_same)}  of {one.tick.at} messages"))
    if one.tick.answer is None:
        print("  it was cut before its answer ended")
    for call in one.tick.calls:
        print(printable(f"  call      {short(call)}"))
    for message in one.left:
        if "_call" in message:
            print(
                printable(
                    f"  result    {short(message.get(message['type'], message))}  of {message['_call'].get('_tool')}"
                )
            )
        elif message["type"] == "error":
            print(printable(f"  error     {message['error']}"))
    if one.tick.output is not None:
        print(printable(f"  output    {short(one.tick.output)}"))


def _judged(is_same: bool) -> str:
    return "same bytes" if is_same else "OTHER BYTES"


def _described(origin: Origin, *, is_new: bool) -> str:
    where = f"message {origin.message}" if origin.message is not None else "the run"
    text = f"{origin.reference} = {short(origin.value)}  by {origin.by}, {where}"
    if origin.call is not None:
        text += f", from {encode(origin.call)}"
    if origin.answer is not None:
        text += f", as answer {origin.answer + 1} wrote it"
    if origin.scopes:
        text += f", given {', '.join(origin.scopes)}"
    return text if is_new else f"{origin.reference}  (as above)"

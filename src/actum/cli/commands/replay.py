"""`actum replay`: a kept run made again and compared (X5)."""

from __future__ import annotations

from ... import kept
from ...inspection.wording import call_name, short
from ...protocol.message import is_skip
from ..keeping import idea_at
from ..options import AnyRuns, Modules
from ..render.terminal import say, tell_left_out


async def actum_replay(run: str, /, *, activities: Modules = None, store: AnyRuns = None) -> int:
    """Make a kept run's requests and output again and compare them byte for byte; no model is asked, no call is made.

    Parameters
    ----------
    run
        The run's file, its id where it was submitted, or the address that it was saved at.
    """
    replay = await kept.replay(await idea_at(run, store), activities=activities or [])
    tell_left_out(replay.left_out)
    for request in replay.requests:
        _show(request)
    if replay.error is not None:
        say(f"output      can't be made again: {replay.error.message}")
    else:
        say(f"output      {_verdict(replay.is_same_output)}  {short(replay.output)}")
    return 0 if replay.is_same else 1


def _show(request: kept.Replayed) -> None:
    say(f"request {request.number:<3} {_verdict(request.is_same)}  of {request.tick.at} messages")
    if request.tick.answer is None:
        say("  it was cut before its answer ended")
    for call in request.tick.calls:
        say(f"  call      {short(call)}")
    for message in request.left:
        if "_call" in message:
            value = "skipped" if is_skip(message) else short(message.get(message["type"], message))
            say(f"  result    {value}  of {call_name(message['_call'])}")
        elif message["type"] == "error":
            say(f"  error     {message['error']}")
    if request.tick.output is not None:
        say(f"  output    {short(request.tick.output)}")


def _verdict(is_same: bool) -> str:
    return "same bytes" if is_same else "OTHER BYTES"

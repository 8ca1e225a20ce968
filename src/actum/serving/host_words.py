"""Texts for hosts: the progress of a run, the calls that are held, and the errors of a plan."""

from __future__ import annotations

from typing import Any

from ..runs.handle import Run
from ..schema.json import JsonObject, is_object
from .stops import RunFailed, RunHeld

_MOST = 10


def progress_text(entry: JsonObject) -> str | None:
    """What an entry of a run's record reports, in words: the call of a tool, or a request to the model."""
    call: Any = entry.get("call")
    message: Any = entry.get("message")
    if is_object(call) and "_tool" in call:
        return str(call["_tool"])
    if is_object(message) and is_object(message.get("_call")):
        return f"{message['_call'].get('_tool')} done"
    return "asking" if "tick" in entry else None


def held_text(run: Run, stop: RunHeld, handle: str, place: str | None, again: str) -> str:
    """What is held, and how to decide; without the values of calls, since a model reads this."""
    tools = sorted({str(item.call.get("_tool")) for item in stop.pending.values()})
    names = ", ".join(tools[:_MOST]) or ", ".join(stop.waiting[:_MOST])
    if place is None:
        decide = (
            "this server keeps its runs in memory, so only a host that shows forms can decide (or serve with --store)"
        )
    else:
        decide = (
            f"the user decides with `actum approve {run.id} --store {place}` or `actum deny`, and sees with "
            f"`actum waiting {run.id} --store {place}` what the calls are"
        )
    first = f"Held for a decision of the user, and not made: {names}. No model can decide: {decide}."
    return f"{first} Then call `{again}` with run {handle!r}."


def failure_text(stop: RunFailed) -> str:
    """Why a plan failed: every error with its call, and the calls that stay done."""
    lines = [f"call {_index(place)} ({tool}): {error}" for place, (tool, error) in stop.failed.items()]
    lines = lines or [stop.message]
    whole = {_index(place): tool for place, tool in stop.done.items() if tool and "." not in _index(place)}
    if whole:
        done = ", ".join(f"{index} ({tool})" for index, tool in whole.items())
        lines.append(f"Done, and not undone: calls {done}. Write a plan of what is left.")
    return "\n".join(lines)


def _index(place: str) -> str:
    """The index of a call in the plan, and of its item in an `_each`."""
    return place.partition(".")[2] or place

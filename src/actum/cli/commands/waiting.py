"""`actum waiting`: the calls of a run that wait for a decision (L6)."""

from __future__ import annotations

from ...protocol.call import Call
from ...schema.json import encode
from ..keeping import RunName, run_at
from ..options import AnyRuns
from ..render.asked import message_shown, source_lines
from ..render.terminal import say, say_json


async def actum_waiting(run: RunName, /, *, json: bool = False, store: AnyRuns = None) -> None:
    """List the calls of a run that wait for a decision, including those of its delegates.

    Parameters
    ----------
    json
        Print one JSON list.
    """
    async with run_at(run, store) as handle:
        calls, idea = await handle.pending(), await handle.idea()
    if json:
        rows = [
            {"of": call.of, "call": call.call, "delegates": list(call.delegates), "from": dict(call.sources)}
            for call in calls
        ]
        say_json(rows)
        return
    for call in calls:
        within = f" in {' → '.join(call.delegates)}" if call.delegates else ""
        say(f"{call.of}  {encode(call.call)}{within}")
        for line in source_lines(Call(call.call), call.sources, call.derived):
            say(f"    {line}")
        for message in call.crossing:
            say(f"    is given {encode(message_shown(message, idea.context.origin, idea.roots))}")

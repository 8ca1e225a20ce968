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
    async with run_at(run, store) as held:
        found, idea = await held.pending(), await held.idea()
    if json:
        listed = [
            {"of": one.of, "call": one.call, "delegates": list(one.delegates), "from": dict(one.sources)}
            for one in found
        ]
        say_json(listed)
        return
    for one in found:
        within = f" in {' → '.join(one.delegates)}" if one.delegates else ""
        say(f"{one.of}  {encode(one.call)}{within}")
        for line in source_lines(Call(one.call), one.sources, one.derived):
            say(f"    {line}")
        for message in one.crossing:
            say(f"    is given {encode(message_shown(message, idea.context.origin, idea.roots))}")

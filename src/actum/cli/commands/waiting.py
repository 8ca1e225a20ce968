"""`actum waiting`: the calls of a run that wait for a decision (L6)."""

from __future__ import annotations

from pathlib import Path

from ...app import kept
from ...app.idea import Idea
from ...protocol.call import Call
from ...schema.json import encode
from ..options import JsonFlag
from ..render.along import described
from ..render.asked import made_of
from ..render.telling import say, say_json


def waiting(run: str, /, *, json: JsonFlag = False) -> int:
    """List the calls of a run that wait for a decision, including those of its delegates.

    Parameters
    ----------
    run
        The run's file.
    json
        Print one JSON list.
    """
    found, idea = kept.waiting(run), Idea.load(Path(run))
    if json:
        listed = [
            {"of": one.of, "call": one.call, "delegates": list(one.delegates), "from": dict(one.sources)}
            for one in found
        ]
        say_json(listed)
        return 0
    for one in found:
        within = f" in {' → '.join(one.delegates)}" if one.delegates else ""
        say(f"{one.of}  {encode(one.call)}{within}")
        for line in made_of(Call(one.call), one.sources, one.derived):
            say(f"    {line}")
        for message in one.crossing:
            say(f"    is given {encode(described(message, idea.context.origin, idea.roots))}")
    return 0

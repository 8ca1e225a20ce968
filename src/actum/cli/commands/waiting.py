"""`actum waiting`: the calls of a run that wait for a decision (L6)."""

from __future__ import annotations

import json as standard_json

from ...app import kept
from ...protocol.call import Call
from ...schema.json import encode
from ..options import JsonFlag
from ..render.asked import made_of
from ..render.lines import printable


def waiting(run: str, /, *, json: JsonFlag = False) -> int:
    """List the calls of a run that wait for a decision, including those of its delegates.

    Parameters
    ----------
    run
        The run's file.
    json
        Print one JSON list.
    """
    found = kept.waiting(run)
    if json:
        listed = [
            {"of": one.of, "call": one.call, "delegates": list(one.delegates), "from": dict(one.sources)}
            for one in found
        ]
        print(standard_json.dumps(listed, ensure_ascii=False))
        return 0
    for one in found:
        within = f" in {' → '.join(one.delegates)}" if one.delegates else ""
        print(printable(f"{one.of}  {encode(one.call)}{within}"))
        for line in made_of(Call(one.call), one.sources, one.derived):
            print(f"    {line}")
        for message in one.crossing:
            print(printable(f"    is given {encode(message)}"))
    return 0

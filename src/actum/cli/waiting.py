"""The calls of a submitted run that a command decides on."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import IdeaError
from ..runs.runs import Runs


async def chosen(runs: Runs, run: str, call: str | None) -> Sequence[str]:
    """The calls that are meant: the one that is named, else all that wait.

    Raises:
        IdeaError: none waits.
    """
    if call is not None:
        return [call]
    found = [one.of for one in await (await runs.get(run)).pending()]
    if not found:
        raise IdeaError(f"{run}: no call waits for a decision")
    return found

"""Where the values of a kept run came from (X0)."""

from __future__ import annotations

from pathlib import Path

from ..app.idea import Idea
from ..ideas.ticks import about_of, answers_of, ticks_of
from ..protocol.provenance import Origin, Provenance


def why(run: Idea | str | Path, reference: str | None = None, *, instance: str | None = None) -> tuple[Origin, ...]:
    """The origins of a value of a kept run: made by code or by a model, and of what, back to what was given.

    `run` is the run's file, the address that it was saved at, or the run as an Idea. `reference` names the value, such
    as `†state.report`; without it, the run's output is meant. `instance` is the instance that it is seen from. Where
    several calls added to the value, the last of them comes first.

    Raises:
        IdeaError: no run is kept there.
        MessageError: the text is not a reference, or nothing is there.
    """
    idea = run if isinstance(run, Idea) else Idea.load(run)
    name = str(idea.file or "the run") if isinstance(run, Idea) else str(run)
    known = about_of(idea.meta, name)
    found = Provenance(idea.context, answers_of(ticks_of(known, name)), known.get("makers", {}))
    return (found.output(known.get("output")),) if reference is None else found.of(reference, instance)

"""Where the values of a kept run came from, and what its calls came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..app.idea import Idea
from ..ideas.ticks import about_of, answers_of, ticks_of
from ..protocol.marks import Authored
from ..protocol.provenance import Origin, Provenance
from ..protocol.solution import CallAccount, LiveCalls, accounts


def why(run: Idea | str | Path, reference: str | None = None, *, instance: str | None = None) -> tuple[Origin, ...]:
    """The origins of a value of a kept run: code or a model that made it, and of what, back to what was given.

    `run` is the run's file, the address that it was saved at, or the run as an Idea. `reference` names the value, for
    example `†state.report`, also as `$state.report` or `state.report`; without it, the run's output is meant.
    `instance` is the instance that it is seen from. Where several calls added to the value, the last comes first.

    Raises:
        IdeaError: no run is kept there.
        MessageError: the text is not a reference, or nothing is there.
    """
    idea, about, answers = _read(run)
    provenance = Provenance(idea.context, answers, about.get("makers", {}))
    if reference is None:
        return (provenance.output(about.get("output")),)
    return provenance.of(f"†{reference.lstrip('†$')}", instance)


def calls_of(run: Idea | str | Path) -> list[CallAccount]:
    """What each call of a kept run came to, as `Result.calls` says it of a run that has just ended.

    Raises:
        IdeaError: no run is kept there.
    """
    idea, about, answers = _read(run)
    return accounts(idea.context, answers, about.get("makers", {}), LiveCalls())


def _read(run: Idea | str | Path) -> tuple[Idea, Mapping[str, Any], Sequence[Authored]]:
    """A run, the record of it, and the answers of its model."""
    idea = run if isinstance(run, Idea) else Idea.load(run)
    name = str(idea.file or "the run") if isinstance(run, Idea) else str(run)
    about = about_of(idea.meta, name)
    return idea, about, answers_of(ticks_of(about, name))

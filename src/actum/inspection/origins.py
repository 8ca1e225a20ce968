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
    """The origins of a value of a kept run: made by code or by a model, and of what, back to what was given.

    `run` is the run's file, the address that it was saved at, or the run as an Idea. `reference` names the value, for
    example `†state.report`, also as `$state.report` or `state.report`; without it, the run's output is meant.
    `instance` is the instance that it is seen from. Where several calls added to the value, the last comes first.

    Raises:
        IdeaError: no run is kept there.
        MessageError: the text is not a reference, or nothing is there.
    """
    idea, about, answers = _known(run)
    found = Provenance(idea.context, answers, about.get("makers", {}))
    if reference is None:
        return (found.output(about.get("output")),)
    return found.of(f"†{reference.lstrip('†$')}", instance)


def calls_of(run: Idea | str | Path) -> list[CallAccount]:
    """What each call of a kept run came to, as `Result.calls` says it of a run that has just ended.

    Raises:
        IdeaError: no run is kept there.
    """
    idea, about, answers = _known(run)
    return accounts(idea.context, answers, about.get("makers", {}), LiveCalls())


def _known(run: Idea | str | Path) -> tuple[Idea, Mapping[str, Any], Sequence[Authored]]:
    """A run, what is known of it, and the answers that it was given."""
    idea = run if isinstance(run, Idea) else Idea.load(run)
    name = str(idea.file or "the run") if isinstance(run, Idea) else str(run)
    about = about_of(idea.meta, name)
    return idea, about, answers_of(ticks_of(about, name))

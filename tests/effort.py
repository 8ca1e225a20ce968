"""How much the tests try, decided in one place: little by default, more in CI, everything in `make chaos`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, TypeAlias, TypeVar, cast, get_args

import pytest
from hypothesis import core, seed, settings

T = TypeVar("T")
Effort: TypeAlias = Literal["little", "more", "all"]

_OF: Final[Mapping[Effort, int]] = {"little": 50, "more": 5, "all": 1}
"""One of so many trials is made."""


def _chosen() -> Effort:
    named = os.environ.get("ACTUM_EFFORT") or ("more" if os.environ.get("CI") else "little")
    if named not in get_args(Effort):
        raise ValueError(f"ACTUM_EFFORT is one of {', '.join(get_args(Effort))}, not {named!r}")
    return cast("Effort", named)


EFFORT: Final = _chosen()
thorough = pytest.mark.skipif(EFFORT == "little", reason="takes long: ACTUM_EFFORT=more, as in CI, runs it")
"""Marks a test that takes long and repeats much of what others show."""


def trials(most: int, *, least: int = 20) -> int:
    """How many times a test tries what it draws: `most` where everything is tried, at least `least` anywhere."""
    return max(min(most, least), most // _OF[EFFORT])


def cases(*, little: int, more: int, most: int) -> int:
    """How many cases a test draws whose price is known: in `make test`, in CI, in `make chaos`."""
    return {"little": little, "more": more, "all": most}[EFFORT]


def in_parts(
    drawing: Callable[[Callable[..., None]], Callable[[], None]], *, parts: int, examples: int
) -> Callable[[Callable[..., None]], Callable[[int], None]]:
    """Splits a test of what `given` draws into parts, which processes try beside each other. Each part draws others;
    with `--hypothesis-seed` alone, all would draw the same."""

    def split(test: Callable[..., None]) -> Callable[[int], None]:
        @pytest.mark.parametrize("part", range(parts))
        def part_test(part: int) -> None:
            drawn = settings(max_examples=-(-examples // parts), deadline=None)(drawing(test))
            chosen = core.global_force_seed
            if EFFORT != "all" or chosen is not None:
                drawn = seed(part if chosen is None else f"{chosen}-{part}")(drawn)
            drawn()

        part_test.__doc__ = test.__doc__
        return part_test

    return split


def spread(cases: Sequence[T], *, least: int) -> Sequence[T]:
    """The cases that a test tries: all where everything is tried, else at least `least`, spread evenly."""
    return cases[:: max(1, len(cases) // trials(len(cases), least=least))] if cases else cases

"""derive ∘ generate: what five runs of a random plan are refined to does on fresh worlds as it does, or is left.

It may be wrong only where a text is filled in (class 5), and then in less than one of a thousand (refine.md 10).
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from ..effort import cases
from .generated import trial

PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
async def test_a_refined_plan_does_as_the_plan_that_was_run_or_is_left(tmp_path: Path, part: int) -> None:
    counts: Counter[str] = Counter()
    spread: Counter[str] = Counter()
    for seed in range(part, PARTS * cases(little=2, more=10, most=1250), PARTS):
        kinds = (1, 2, 3, 4, 6) if part % 2 else (1, 2, 3, 4, 5, 6)
        result = await trial(seed, tmp_path, kinds, fresh=cases(little=5, more=10, most=20))
        assert not result.wrong or 5 in result.used, (seed, result.plan, result.wrong)
        assert not any(code.startswith("not proved") for code in result.counts), (seed, result.counts)
        counts += result.counts
        if result.size >= 10:  # of fewer values, examples often can't tell two terms apart
            spread += result.counts
    assert counts["wrong"] * 1000 <= counts["right"], counts
    assert counts["right"], counts
    if spread["right"] > 100:
        assert spread["left"] * 10 <= spread["right"] + spread["left"], spread

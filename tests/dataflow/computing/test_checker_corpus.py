"""The check of expressions before they run, over the plans of 92 tasks: the right ones pass, wrong ones don't (E5)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from ...plans.mistakes import with_mistakes
from .plan_check import PlanCheck, plans


def is_refused(plan: dict[str, Any]) -> bool:
    try:
        PlanCheck(plan).run()
    except ValueError:
        return True
    return False


@pytest.mark.parametrize("plan", plans(), ids=lambda plan: f"{plan['world']}-{plan['task']}")
def test_a_plan_that_works_is_not_refused(plan: dict[str, Any]) -> None:
    PlanCheck(plan).run()


def test_nearly_all_mistakes_are_found_before_anything_runs() -> None:
    counts, missed = Counter[str](), Counter[str]()
    for plan in plans():
        for mistake, wrong in with_mistakes(plan):
            counts[mistake] += 1
            missed[mistake] += not is_refused(wrong)
    assert min(counts.values()) >= 4
    assert sum(counts.values()) >= 600
    # No check of types can tell a call from another one of the same type, or a reader of one file from one of many.
    assert missed.pop("other_call") < counts["other_call"] * 0.3
    assert missed.total() <= 1, missed

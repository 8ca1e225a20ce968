"""What small numbers allow to say, held against scipy (V26), and how large what many come to is (V32)."""

from __future__ import annotations

import random
from importlib import import_module
from typing import Any

import pytest

from actum.evals.checks import Verdict
from actum.evals.report import Judgement, Report
from actum.evals.statistics import Agreement, bootstrapped, holm, sign_test, wilson, worse_test
from actum.studio.eval_file import eval_page

from ..effort import thorough


@pytest.mark.rule("V26")
def test_wilson_of_97_in_100_is_what_the_books_say() -> None:
    interval = wilson(97, 100)
    assert round(interval.low, 3) == 0.915
    assert round(interval.high, 3) == 0.99
    assert (wilson(0, 0).low, wilson(0, 0).high) == (0.0, 1.0)
    assert wilson(0, 5).low == 0.0
    assert wilson(5, 5).high == pytest.approx(1.0)


@pytest.mark.rule("V26")
@pytest.mark.parametrize(
    ("better", "worse", "p"), [(0, 0, 1.0), (3, 0, 0.25), (0, 1, 1.0), (5, 5, 1.0), (0, 5, 0.0625)]
)
def test_the_sign_test_is_exact(better: int, worse: int, p: float) -> None:
    assert sign_test(better, worse) == pytest.approx(p)


@pytest.mark.rule("V29")
def test_one_check_needs_five_cases_that_became_worse() -> None:
    assert worse_test(0, 5) == pytest.approx(0.03125)
    assert worse_test(0, 4) == pytest.approx(0.0625)


@pytest.mark.rule("V26")
@thorough
def test_a_thousand_tables_are_as_scipy_has_them() -> None:
    stats: Any = import_module("scipy.stats")
    chance = random.Random(1)
    for _ in range(1000):
        better, worse = chance.randrange(30), chance.randrange(30)
        if better + worse:
            two_sided = stats.binomtest(worse, better + worse)
            assert sign_test(better, worse) == pytest.approx(two_sided.pvalue)
            one_sided = stats.binomtest(worse, better + worse, alternative="greater")
            assert worse_test(better, worse) == pytest.approx(one_sided.pvalue)
        count = chance.randrange(1, 200)
        passed = chance.randrange(count + 1)
        interval = stats.binomtest(passed, count).proportion_ci(method="wilson")
        assert (wilson(passed, count).low, wilson(passed, count).high) == pytest.approx((interval.low, interval.high))


@pytest.mark.rule("V26")
def test_holm_adjusts_the_smallest_most_and_never_falls() -> None:
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03}) == pytest.approx({"a": 0.03, "c": 0.06, "b": 0.06})
    assert holm({}) == {}


@pytest.mark.rule("V26")
def test_a_bootstrap_is_the_same_for_one_seed_and_holds_the_mean() -> None:
    values = [0.0, 1.0, 1.0, 0.5, 1.0, 0.0, 1.0]
    interval = bootstrapped(tuple(values), seed=3)
    assert interval == bootstrapped(tuple(values), seed=3)
    assert interval.low < sum(values) / len(values) < interval.high
    assert bootstrapped((), seed=0).low == 0.0
    assert bootstrapped((0.5, 0.5), seed=0).low == bootstrapped((0.5, 0.5), seed=0).high == 0.5


def test_kappa_of_cohens_own_kind() -> None:
    agreement = Agreement(both_pass=20, both_fail=15, only_judge=10, only_people=5)
    assert agreement.of == 50
    assert agreement.share == pytest.approx(0.7)
    assert agreement.kappa == pytest.approx(0.4)
    assert Agreement(both_pass=30).kappa == 0.0


@pytest.mark.rule("V32")
def test_a_page_of_1_200_results_that_nearly_all_changed_has_at_most_2_mb() -> None:
    cells = [f"v{version}.json·model-{model}" for version in range(4) for model in range(3)]
    verdict = Verdict(state="fail", why="note: A text of some length stands here, another was expected")
    rows = [
        Judgement(
            case=f"c-{n}", identity=f"{n:064x}", cell=cell, repeat=1, check="expect", verdict=verdict, run="r.json"
        )
        for n in range(100)
        for cell in cells
    ]
    lines = ["− weather(city=Lisbon, days=3)", "+ weather(city=Lisbon, days=30)", "output.mean: 4 → 3"]
    changes = {f"{cells[0]} → {cell}: c-{n}": lines for n in range(100) for cell in cells[1:]}
    page = eval_page(Report(rows=rows, changes=changes), "desk.eval.yaml", str)
    assert all(f"c-{n}" in page and cells[-1] in page for n in range(100))
    assert len(page.encode()) < 2_000_000

"""What a run has spent of its limits: what is refused at which bound, and in which words (L5)."""

from __future__ import annotations

from typing import Any

import pytest

from actum import Limits, errors
from actum.dataflow.computing.allowance import Meter
from actum.dataflow.computing.operands import ComputingError
from actum.execution.budget import Budget, Spent, check_price
from actum.protocol.usage import Usage

pytestmark = pytest.mark.rule("L5")


def spent(budget: Budget) -> dict[str, Any]:
    """What is counted of a budget."""
    return {name: getattr(budget, name) for name in ("requests", "calls", "bytes", "tokens", "usd")}


@pytest.mark.parametrize(
    ("limits", "kept", "count", "message"),
    [
        ({"requests": 2}, 0, 2, "the run has made its 2 requests without an output"),
        ({"requests": 2}, 1, 1, "of the run's 2 requests only the last is left, for its output"),
        ({"requests": 0}, 1, 0, "the run has made its 0 requests without an output"),
    ],
)
def test_a_request_is_refused_at_the_bound(limits: dict[str, Any], kept: int, count: int, message: str) -> None:
    budget = Budget(Limits(**limits))
    for _ in range(count):
        budget.ask(reserved=kept)
    with pytest.raises(errors.LimitExceeded) as caught:
        budget.ask(reserved=kept)
    assert (str(caught.value), caught.value.limit, budget.requests) == (message, "requests", count)


def test_a_call_is_refused_at_the_bound() -> None:
    budget = Budget(Limits(calls=2))
    for _ in range(2):
        budget.call()
    for refused in (budget.call, budget.check_calls):
        with pytest.raises(errors.LimitExceeded) as caught:
            refused()
        assert (str(caught.value), caught.value.limit) == ("the run has started its 2 calls", "calls")
    assert budget.calls == 2


@pytest.mark.parametrize(
    ("limits", "cost", "message", "limit"),
    [
        ({"tokens": 10}, Usage(requests=1, input_tokens=7, output_tokens=3), "10 of 10 tokens are spent", "tokens"),
        ({"usd": 0.5}, Usage(requests=1, usd=0.5), "0.5000 of 0.5000 USD are spent", "usd"),
    ],
)
def test_what_is_spent_lets_nobody_ask(limits: dict[str, Any], cost: Usage, message: str, limit: str) -> None:
    budget = Budget(Limits(**limits))
    budget.ask()
    budget.pay(cost)
    with pytest.raises(errors.LimitExceeded) as caught:
        budget.ask()
    assert (str(caught.value), caught.value.limit) == (message, limit)
    below = Budget(Limits(**{limit: getattr(budget, limit) * 1.5 if limit == "usd" else 11}))
    below.pay(cost)
    below.ask()
    assert below.requests == 1


def test_values_are_counted_before_they_are_made_and_past_the_bound_nothing_goes_on() -> None:
    budget = Budget(Limits(bytes=1_000))
    budget.take(1_000)
    budget.check()
    for size in (1, 0):
        with pytest.raises(errors.LimitExceeded) as caught:
            budget.take(size)
        message = "the values of the run would be more than 1,000 bytes, written out"
        assert (str(caught.value), caught.value.limit) == (message, "bytes")
    with pytest.raises(errors.LimitExceeded):
        budget.check()
    assert budget.bytes == 1_001


def test_a_run_whose_time_is_over_has_passed_it_for_good() -> None:
    budget = Budget.resume(Limits(seconds=5), Spent(seconds=5))
    assert budget.seconds_left == 0.0
    for checked in (budget.check, lambda: budget.take(1)):
        with pytest.raises(errors.LimitExceeded) as caught:
            checked()
        assert (str(caught.value), caught.value.limit) == ("the run has taken its 5 seconds", "seconds")
    assert Budget(Limits()).seconds_left is None


def test_what_a_part_has_spent_elsewhere_is_counted_but_for_its_time() -> None:
    budget = Budget(Limits(requests=10, calls=10, tokens=100, usd=2, bytes=1_000, depth=3))
    usage = Usage(requests=2, input_tokens=5, output_tokens=5, usd=0.25)
    part = Spent(requests=2, calls=3, bytes=40, seconds=1e6, usage=usage, tokens=12, usd=0.5)
    for _ in range(2):
        budget.charge(part)
    assert spent(budget) == {"requests": 4, "calls": 6, "bytes": 80, "tokens": 24, "usd": 1.0}
    assert budget.usage == usage + usage
    left = budget.left
    assert (left.requests, left.calls, left.tokens, left.usd, left.bytes) == (6, 4, 76, 1.0, 920)
    assert (left.depth, left.seconds) == (3, None)
    budget.charge(Spent(requests=100, calls=100, tokens=1_000, usd=100.0, bytes=10_000))
    left = budget.left
    assert (left.requests, left.calls, left.tokens, left.usd, left.bytes) == (0, 0, 0, 0, 0)
    assert Budget(Limits(requests=None, bytes=None)).left == Limits(requests=None, bytes=None)


def test_more_is_known_of_a_cost_by_its_usage_or_by_what_is_told() -> None:
    budget = Budget(Limits())
    budget.charge(Spent(usage=Usage(requests=1, input_tokens=9, usd=0.5), tokens=1, usd=0.1))
    budget.charge(Spent(usage=Usage(requests=1), tokens=2, usd=0.25))
    assert (budget.tokens, budget.usd) == (11, 0.75)


@pytest.mark.parametrize(
    ("requests", "before", "notices"),
    [
        (None, 5, []),
        (1, 0, ["This is the only request: answer `output` now; it may refer to the calls."]),
        (3, 2, ["This is the last request: answer `output` now; no further calls can be made."]),
        (3, 1, ["2 requests are left, this one included."]),
        (3, 0, []),
    ],
)
def test_what_the_model_is_told_of_the_requests_that_are_left(
    requests: int | None, before: int, notices: list[str]
) -> None:
    budget = Budget(Limits(requests=requests))
    assert list(budget.notices(before)) == notices
    assert budget.is_last(before) == (len(notices) == 1 and "are left" not in notices[0])


def test_a_model_whose_price_is_not_known_is_named_where_money_is_limited() -> None:
    class Priceless:
        has_price = False

        def __init__(self, name: str | None) -> None:
            if name is not None:
                self.name = name

        def __str__(self) -> str:
            return "a model of mine"

    check_price(Limits(), [Priceless("m:1")])
    check_price(Limits(usd=1), [object()])
    for model, name in ((Priceless("m:1"), "m:1"), (Priceless(None), "a model of mine")):
        with pytest.raises(errors.ModelError) as caught:
            check_price(Limits(usd=1), [object(), model])
        why = f"the price of {name} is not known, so Limits(usd=…) can't be held: give load(…, price=Price(…))"
        assert (str(caught.value), caught.value.code) == (why, "model_price")


def test_what_has_been_spent_is_read_from_json_as_it_was_written() -> None:
    written = {"requests": 2, "calls": 3, "bytes": 4, "seconds": 1.5, "tokens": 6, "usd": 0.5, "usage": {"requests": 2}}
    assert Spent.of(written) == Spent(
        requests=2, calls=3, bytes=4, seconds=1.5, tokens=6, usd=0.5, usage=Usage(requests=2)
    )
    odd: dict[str, Any] = {
        "requests": "2",
        "calls": -3,
        "bytes": None,
        "seconds": "x",
        "tokens": True,
        "usd": [],
        "usage": 5,
    }
    assert Spent.of(odd) == Spent()
    budget = Budget.resume(Limits(), Spent.of(written))
    assert spent(budget) == {"requests": 2, "calls": 3, "bytes": 4, "tokens": 6, "usd": 0.5}


@pytest.mark.rule("E4")
def test_all_expressions_of_a_run_spend_from_one_total() -> None:
    budget = Budget(Limits())
    budget.computing.left = 5
    first = Meter(budget.allowance())
    first.spend(3)
    first.settle()
    with pytest.raises(ComputingError, match=r"^the run's computed values take too many steps in all: compute less$"):
        Meter(budget.allowance()).spend(3)

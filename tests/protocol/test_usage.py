"""What requests cost, whoever tells it: what can't be a count or a price is not known (L5)."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from actum import Agent, Limits, Tools, errors, models
from actum.execution.budget import Budget, Spent
from actum.protocol.usage import Usage

pytestmark = pytest.mark.rule("L5")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1, True, "5", [], 10**400, 1e300])
def test_what_can_not_be_is_not_known(value: Any) -> None:
    figures = {
        "requests": value,
        "input_tokens": value,
        "cached_tokens": value,
        "usd": value,
        "saved_usd": value,
        "fallbacks": value,
    }
    for usage in (Usage.of(figures), Usage(**figures)):
        saved = value if value == -1 else None
        assert usage == Usage(requests=0, saved_usd=saved)


@pytest.mark.parametrize("figures", [None, 5, [], "x", {"more": 1}, {"requests": None}])
def test_nothing_is_known_of_what_says_nothing(figures: Any) -> None:
    assert Usage.of(figures) == Usage()


ONE = Usage(requests=1, input_tokens=5, output_tokens=2, usd=0.5)
TWO = Usage(requests=2, input_tokens=1, usd=0.25)


@pytest.mark.parametrize(
    ("usage", "other", "both"),
    [
        (ONE, Usage(), ONE),
        (Usage(), ONE, ONE),
        (ONE, ONE, Usage(requests=2, input_tokens=10, output_tokens=4, usd=1.0)),
        (ONE, TWO, Usage(requests=3, input_tokens=6, usd=0.75)),
    ],
)
def test_of_a_sum_only_that_is_known_which_is_known_of_both(usage: Usage, other: Usage, both: Usage) -> None:
    assert usage + other == both


@pytest.mark.parametrize(
    ("whole", "part", "rest"),
    [
        (ONE, Usage(), ONE),
        (ONE, ONE, Usage()),
        (Usage(requests=2, input_tokens=10, output_tokens=4, usd=1.0), ONE, ONE),
        (Usage(requests=3, input_tokens=6, usd=0.75), TWO, Usage(requests=1, input_tokens=5, usd=0.5)),
    ],
)
def test_what_is_left_without_a_part(whole: Usage, part: Usage, rest: Usage) -> None:
    assert whole - part == rest


def test_tokens_together_are_known_only_where_both_are() -> None:
    assert (ONE.tokens, TWO.tokens, TWO.known_tokens, Usage().known_tokens) == (7, None, 1, 0)


class Telling(models.Scripted):
    """A model that tells a cost of its own for each answer."""

    def __init__(self, *costs: Any) -> None:
        more = [{"calls": [{"_value": number}], "output": None} for number in range(len(costs))]
        super().__init__([*more, {"calls": [], "output": "end"}])
        self._costs = costs

    async def stream(self, request: models.ModelRequest) -> AsyncGenerator[str | models.Reasoning | Usage]:
        cost = self._costs[min(len(self.requests), len(self._costs) - 1)]
        async for piece in super().stream(request):
            if isinstance(piece, str):
                yield piece
        yield Usage(requests=1, input_tokens=cost, output_tokens=0, usd=cost)


@pytest.mark.parametrize("odd", [math.nan, -5, None, math.inf])
@pytest.mark.parametrize("limits", [Limits(usd=4), Limits(tokens=4)], ids=["usd", "tokens"])
async def test_a_cost_that_is_none_switches_no_limit_off(limits: Limits, odd: Any) -> None:
    model = Telling(1, odd, *[1] * 8)
    with pytest.raises(errors.LimitExceeded, match="are spent") as caught:
        await Agent(model, tools=Tools(), limits=limits).run("x")
    assert len(model.requests) == 5
    usage = caught.value.result.usage
    assert (usage.usd, usage.tokens) == (None, None), "unknown stays unknown"


def test_what_is_known_is_counted_wherever_the_run_goes_on() -> None:
    first = Budget(Limits(usd=1, tokens=100))
    first.pay(Usage(requests=1, input_tokens=60, output_tokens=None, usd=0.75))
    first.pay(Usage(requests=1))
    assert first.left.usd == 0.25
    assert first.left.tokens == 40
    spent: Any = {"usage": {}, "requests": 2, "tokens": 60, "usd": 0.75}
    second = Budget(first.limits)
    second.charge(Spent.of(spent))
    assert (second.left.usd, second.left.tokens, second.requests) == (0.25, 40, 2)
    assert Spent.of({"requests": -3, "calls": "x", "usd": math.nan, "usage": 5}) == Spent()

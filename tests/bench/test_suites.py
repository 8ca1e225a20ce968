"""What the kit does with public suites, without one of them: wiring, programs, the answers of a suite, the page."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from bench.fit import gold, page
from bench.fit.comparing import SOLVED, judged
from bench.fit.corpus import Plan
from bench.fit.exchange import Exchange
from bench.fit.scripting import program, rounds
from bench.fit.suites import NOT_RUN, SUITES, Worlds
from bench.fit.tasks import Name
from bench.fit.trial import Outcome, carried_out
from bench.fit.wiring import Made, counted, wired

from actum.models import Model, ModelRequest, Scripted

from . import shop

CUSTOMER = Made("find", {"email": "ann@example.com"}, {"id": "c_17", "name": "Ann", "orders": ["#100", "#200"]})
ORDER = Made("order", {"id": "#200"}, {"id": "#200", "price": 40.5, "left": 3, "paid_by": "card_9"})
REFUND = Made("refund", {"order": "#200", "by": "card_9", "amount": 40.5, "left": 3, "why": "late"}, "done")


def test_a_value_that_an_earlier_call_has_brought_is_referred_to_where_it_stands() -> None:
    assert wired([CUSTOMER, ORDER, REFUND]) == [
        {"_tool": "find", "email": "ann@example.com"},
        {"_tool": "order", "id": "†calls.0.orders[1]"},
        {
            "_tool": "refund",
            "order": "†calls.0.orders[1]",
            "by": "†calls.1.paid_by",
            "amount": "†calls.1.price",
            "left": 3,
            "why": "late",
        },
    ]


def test_what_a_model_wrote_once_itself_is_no_value_that_came_back() -> None:
    echo = Made("cancel", {"id": "#100", "why": "too late"}, {"why": "too late"})
    assert wired([echo, Made("cancel", {"id": "#200", "why": "too late"}, None)])[1]["why"] == "too late"


def test_a_text_that_begins_as_a_reference_stays_a_text() -> None:
    assert wired([Made("say", {"text": "†calls.0"}, None)]) == [{"_tool": "say", "text": "††calls.0"}]


def test_arguments_are_told_apart_by_who_has_brought_and_who_has_written_them() -> None:
    counts = counted([CUSTOMER, ORDER, REFUND], "Refund #200", ['{"order": "#200"}'])
    assert (counts.given, counts.brought, counts.wrote, counts.only_there) == (7, 4, 2, 2)
    again = counted([CUSTOMER, ORDER, REFUND], "Refund the last order", [])
    assert (again.wrote, again.only_there) == (0, 4)


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"id": "†calls.0.orders[1]"}, "id=r0['orders'][1]"),
        ({"id": '†calls.0["odd key"]'}, "id=r0['odd key']"),
        ({"text": "Paid: {†calls.0.n}!"}, "text='Paid: ' + str(r0['n']) + '!'"),
        ({"n": "{10 * †calls.0.n}"}, "n=10 * r0['n']"),
        ({"n": '{10 * †calls.0["odd key"]}'}, "n=10 * r0['odd key']"),
        ({"x": ["††a", 3, None, True]}, "x=['†a', 3, None, True]"),
        ({"from": "USD", "to": "EUR"}, "to='EUR', **{'from': 'USD'}"),
    ],
)
def test_a_program_says_the_same_as_a_plan(parameters: dict[str, Any], code: str) -> None:
    plan = Plan("shop", 0, [{"_tool": "a"}, {"_tool": "b", "z": "†calls.0.z", **parameters}], "Done.")
    assert program(plan, rounds(plan.calls)).splitlines()[1] == f"r1 = await b(z=r0['z'], {code})"


def test_ordered_calls_follow_each_other_in_rounds() -> None:
    calls = [{"_tool": "read"}, {"_tool": "write", "x": "†calls.0"}, {"_tool": "write"}, {"_tool": "read"}]
    assert rounds(calls) == [0, 1, 0, 0]
    assert rounds(calls, {"write"}) == [0, 1, 2, 0]


LAMP = "{one(o.id for o in †calls.0 if o.item == 'lamp')}"
PLANS = {
    0: Plan("shop", 0, [{"_tool": "get_orders"}, {"_tool": "refund", "id": "†calls.0[0].id"}], "Done."),
    1: Plan("shop", 1, [{"_tool": "get_orders"}], "lamp"),
}


async def test_the_answers_of_a_suite_are_carried_out_in_each_way_and_what_is_not_solved_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gold, "WAYS", ("actum", "tools"))
    worlds = Worlds({"shop": [0, 1]}, shop.opening, shop.opening, lambda name: PLANS[name.number])
    out = io.StringIO()
    results = await gold.measured(worlds, [Name("shop", 0), Name("shop", 1)], out)
    row = results.rows["shop"]
    assert (row.tasks, row.calls) == (2, 3)
    assert row.solved == {"actum": 1, "tools": 1}
    assert row.requests == {"actum": 2, "tools": 5}
    assert row.bytes["tools"] > 0
    assert list(results.unsolved) == ["shop 1"]
    assert "shop 1, actum" in out.getvalue()
    assert gold.unexpected(results, {}) == [f"shop 1, {way}: {why}" for way, why in results.unsolved["shop 1"].items()]
    assert gold.unexpected(results, {"unsolved": {"shop 1": {"actum": "", "tools": ""}}}) == []


class Talking(shop.Shop):
    """The shop with a simulated user, who asks, and is content with the first answer."""

    @property
    def prompt(self) -> str:
        return ""

    async def reply(self, text: str, model: Model) -> str | None:
        request = ModelRequest(messages=({"role": "user", "content": text},), schema={})
        words = "".join([piece async for piece in model.stream(request) if isinstance(piece, str)])
        return None if words == "bye" else words


ROUNDS: list[Any] = [
    {"tool_calls": [{"name": "get_orders", "arguments": {}}]},
    {"tool_calls": [{"name": "refund", "arguments": {"id": 1}}]},
    {"text": "Done."},
]


@pytest.mark.parametrize(
    ("way", "answers"),
    [("actum", [PLANS[0].answer]), ("tools", ROUNDS)],
)
async def test_a_simulated_user_asks_the_same_model_and_is_counted_apart(way: Any, answers: list[Any]) -> None:
    model = Scripted(["Refund the lamp.", *map(json.dumps, answers), "bye"])
    outcome = await carried_out(way, Name("shop", 0), Talking(0), Exchange(None), model)
    assert outcome is not None
    assert (outcome.solved, outcome.output) == (True, "Done.")
    assert (outcome.requests, outcome.user_requests) == (len(answers), 2)
    assert "Hi!" in model.requests[0].messages[0]["content"]


async def test_plans_need_a_lane_that_keeps_them(tmp_path: Path) -> None:
    name = Name("shop", 0)
    kept = await carried_out(
        "plans", name, shop.opening(name), Exchange(tmp_path / "shop-0"), Scripted([PLANS[0].answer])
    )
    assert kept is not None
    assert (kept.solved, kept.requests, kept.calls) == (True, 1, ["get_orders", "refund"])
    assert (tmp_path / "plans.db").exists()
    with pytest.raises(ExceptionGroup, match="unhandled") as raised:
        await carried_out("plans", name, shop.opening(name), Exchange(None), Scripted([]))
    assert "need a lane" in str(raised.value.exceptions[0])


def outcome(way: Any, task: int, *, solved: bool) -> Outcome:
    """An outcome of which only the verdict counts."""
    return Outcome(
        world="shop", task=task, loop=way, solved=solved, output="", ended="", requests=1, reader_requests=0,
        references=0, expressions=0, failed=0, malformed=0, tokens_in=4, tokens_out=4, reader_tokens_in=0,
        reader_tokens_out=0, calls=[],
    )  # fmt: skip


def test_a_lane_is_an_eval_whose_cells_are_the_ways() -> None:
    report = judged(
        {
            "actum": [outcome("actum", task, solved=task != 2) for task in range(3)],
            "tools": [outcome("tools", task, solved=task == 0) for task in range(3)],
        }
    )
    assert str(report.named("actum").rate(SOLVED)) == "2 of 3"
    compared = report.compare("actum", "tools")[SOLVED]
    assert (compared.better, compared.worse, compared.became_worse) == (0, 1, ("shop 1",))


def test_every_suite_is_pinned_by_hash_or_by_version_and_names_its_licence() -> None:
    for name, suite in SUITES.items():
        pinned = (page.ROOT / "bench" / "requirements" / f"{suite.environment}.txt").read_text(encoding="utf-8")
        package, version = suite.package.split()
        assert f"{package}=={version}" in pinned, name
        assert suite.licence
    assert all(NOT_RUN.values())

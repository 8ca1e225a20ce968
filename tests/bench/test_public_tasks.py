"""A small stream of the gallery's tickets, with plans and by templates beside them (refine.md, section 10)."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from bench.families import gallery
from bench.public_tasks import PARTS, counts_of, main
from bench.stream import figures
from bench.templates import Template

from actum import Agent, Tools, models


@pytest.fixture
async def counts() -> dict[str, Any]:
    stream = await main("gallery", 4, 7, 1)
    return {name: figures(its) for name, its in stream.counts.items()} | {"all": figures(stream.total)}


async def test_what_recurs_is_answered_by_plans_and_letters_are_not(counts: dict[str, Any]) -> None:
    assert (counts["all"]["tasks"], counts["all"]["families with a plan"], counts["all"]["wrong hits"]) == (28, 3, 0)
    for name in ("order", "late", "visit"):
        assert counts[name]["hits"] == 4, name
        assert counts[name]["with plans"] < counts[name]["requests a task: ordinary loop"] == 3
    assert counts["other"]["hits"] == 0
    assert counts["other"]["with plans"] == counts["other"]["requests a task: ordinary loop"] == 1


async def test_a_template_takes_its_first_run_and_a_request_for_each_task_after_it(counts: dict[str, Any]) -> None:
    assert counts["late"]["templates, requests a task: at least"] == round((3 + 6) / 7, 2)
    outcomes = ("templates filled in by values alone: same calls", "other calls", "failed calls")
    assert sum(counts["all"][outcome] for outcome in outcomes) == 28 - 4


async def test_a_template_refers_to_the_input_and_to_results_and_keeps_what_neither_holds() -> None:
    tools = Tools()

    @tools.tool(effects="none")
    def find(email: str) -> dict[str, str]:
        """Find a customer."""
        return {"id": f"id of {email}"}

    @tools.tool(effects="none")
    def orders(customer: str, most: int) -> list[str]:
        """Their orders."""
        return []

    answers: list[Any] = [
        {"calls": [{"_tool": "find", "email": "ana@x.com"}], "output": None},
        {"calls": [{"_tool": "orders", "customer": "id of ana@x.com", "most": 5}], "output": "none"},
    ]
    given = {"email": "ana@x.com"}
    request: list[Any] = [{"type": "input", "schema": {}}, "Which orders are there?"]
    result = await Agent(models.Scripted(answers), tools=tools).run(request, {"type": "string"}, input=given)
    _, first, second = Template.of(given, result).plan["plan"]
    assert first == {"_tool": "find", "email": "†calls.0.email"}
    assert second == {"_tool": "orders", "customer": "†calls.1.id", "most": 5}


def test_the_parts_are_forty_families_and_counts_are_added() -> None:
    assert sum(part.families for part in PARTS.values()) == 40
    assert counts_of({"families": {"a": {"tasks": 2, "hits": 1}, "b": {"tasks": 3}}}) == {"tasks": 5, "hits": 1}


def test_the_desk_has_four_kinds_of_tickets() -> None:
    assert [family.name for family in gallery.families(4, Random(1))] == ["order", "late", "visit", "other"]

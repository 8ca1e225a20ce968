"""The programs of the gallery: what they come to without a model, and that their pictures are of these runs."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from actum import Context, models
from actum.messages import Image

ROOT = Path(__file__).parents[2]

with pytest.MonkeyPatch.context() as patch:
    patch.setattr(sys, "path", [str(ROOT / "docs" / "gallery"), *sys.path])
    pictures: Any = importlib.import_module("gallery_runs")  # not a name that an example has for a module of its own


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHON", sys.executable)
    return tmp_path


@pytest.mark.parametrize("name", sorted(pictures.RUNS))
async def test_a_picture_is_of_the_run_that_is_made_without_a_model(name: str) -> None:
    drawn = pictures.svg_of(pictures.graph_of(await pictures.RUNS[name]())).rstrip() + "\n"
    assert (ROOT / "examples" / name / "run.svg").read_text(encoding="utf-8") == drawn, "python docs/gallery"


async def test_in_the_triage_only_refunds_wait_and_nothing_is_done_twice(elsewhere: Path) -> None:
    script: Any = pictures.example("triage")
    model = script.played()
    held = await script.begin(model)
    book = elsewhere / "book.txt"
    answered = book.read_text(encoding="utf-8").splitlines()
    assert [line.partition(":")[0] for line in answered] == [f"answered {n}" for n in (2, 4, 6, 7)]
    assert (held.output, len(held.waiting)) == (None, 4)
    decided = script.decide(held.context, most=50)
    agent = script.Agent(model, approve=script.approve)
    stored = Context(json.loads(json.dumps(decided.messages)), origin=decided.origin)
    done = await agent.resume(replace(script.IDEA, context=stored))
    assert book.read_text(encoding="utf-8").splitlines()[4:] == ["refunded 1: 40.00", "refunded 3: 15.50"]
    assert done.output == "Four tickets are answered and two refunds paid; the other two are for the manager."


async def test_a_ticket_that_gives_orders_reaches_one_delegate_without_tools() -> None:
    script: Any = pictures.example("triage")
    model = script.played()
    await script.begin(model)
    requests = [request for request in model.requests if "IGNORE ALL RULES" in request.messages[-1]["content"]]
    planner, *sorting = requests
    assert "refund" in planner.schema_text
    assert [set(request.schema["properties"]) - {"output"} for request in sorting] == [{"calls"}]
    assert all("_tool" not in request.schema_text and "Flo" not in str(request.messages) for request in sorting)


async def test_each_reader_of_the_research_sees_one_passage(elsewhere: Path) -> None:
    script: Any = pictures.example("research")
    model: models.Scripted = script.played()
    result = await script.main("ship", model)
    assert [line.partition(":")[0] for line in result.output] == [
        "1851 Melville, Moby-Dick", "1876 Twain, Tom Sawyer", "1911 Bierce, Devil's Dictionary",
    ]  # fmt: skip
    readers = [str(request.messages) for request in model.requests[1:]]
    words = ("Ishmael", "Ting-a-ling-ling", "ADMIRAL")
    assert [sum(word in reader for word in words) for reader in readers] == [1, 1, 1]
    assert "Ishmael" not in str(model.requests[0].messages)


async def test_a_night_is_reported_once(elsewhere: Path) -> None:
    script: Any = pictures.example("nightly")
    first = await script.main("2026-11-21", "nightly.db")
    again = await script.main("2026-11-21", "nightly.db")
    assert {shop: result.output for shop, result in first.items()} == {"Faro": 66.4, "Lisbon": 440.0, "Porto": 205.5}
    assert {shop: result.output for shop, result in again.items()} == {"Faro": 66.4, "Lisbon": 440.0, "Porto": 205.5}
    assert len((elsewhere / "report.txt").read_text(encoding="utf-8").splitlines()) == 3


async def test_the_chat_shows_the_model_the_document_and_the_picture(capsys: Any) -> None:
    script: Any = pictures.example("chat")
    model: models.Scripted = script.played()
    talk = await script.main(model)
    media = [
        [message["media"].get("media_type") for message in request.messages if "media" in message]
        for request in model.requests
    ]
    assert media == [["application/pdf"], ["application/pdf", "image/png"], ["application/pdf", "image/png"]]
    assert "2 customers wait for it: Eli, Flo." in capsys.readouterr().out
    assert sum(message.get("type") == "output" for message in talk.context.messages) == 3
    assert Image(path="week.png").to_dict() in [dict(message) for message in talk.context.messages]


async def test_the_desk_that_learns_asks_its_model_for_letters_only() -> None:
    script: Any = pictures.example("learning")
    figures = await script.main(days=18)
    assert [(round(requests * 10), hits) for requests, hits in figures] == [(28, 0), (4, 8), *[(1, 9)] * 15, (10, 9)]

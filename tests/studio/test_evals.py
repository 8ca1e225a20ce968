"""The Studio's tab Evals (evals.md V1, V16, V32): what evals have found, and labels of what their judges said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from actum import Idea, models, tools
from actum.evals import Eval
from actum.evals.judges import JudgeIdea
from actum.evals.suite import Suite
from actum.generation.model import ModelRequest
from actum.schema.json import sha256_of

from ..evals.desk import PLAN, called, desk, keep
from .rooms import room
from .test_pages import page, send

pytestmark = pytest.mark.usefixtures("empty_registry", "desk_only")
WHY = "<script>alert(1)</script> it is cold"


@pytest.fixture
def desk_only(registered: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tools are those of the desk, in the current folder."""
    monkeypatch.setattr("actum.app.loading.DEFAULT", tools)
    monkeypatch.chdir(tmp_path)


async def saved(folder: Path) -> Eval:
    """An eval of two cases with a judge, saved in `out/desk`."""
    desk(folder)
    for name in ("ana", "bo"):
        await keep(folder, name, f"{name}@example.com")
    schema = {"type": "object", "properties": {"pass": {"type": "boolean"}, "why": {"type": "string"}}}
    takes: dict[str, Any] = {"type": "input", "schema": {"properties": {"output": {}}, "required": ["output"]}}
    Idea(context=[takes], schema=schema, config={"model": "ollama:judge"}).save(folder / "tone.json")
    cases = ["runs/*.json"]
    suite = Eval("desk.json", cases=cases, checks=["†output.mean > 0", {"judge": "tone.json"}], folder=folder)
    await judged_by(suite, answer).run(models=[model("m", PLAN)], save=folder / "out" / "desk")
    (folder / "called.txt").unlink()
    return suite


def answer(request: ModelRequest) -> Any:
    is_warm = any("Lisbon" in message["content"] for message in request.messages)
    return {"output": {"pass": is_warm, "why": "warm" if is_warm else WHY}}


def model(name: str, *answers: Any) -> models.Scripted:
    return models.Scripted([*answers], name=name, repeat_last=True)


def judged_by(suite: Eval, verdict: Any) -> Eval:
    from dataclasses import replace

    from actum.evals.checks import Columns

    judge = model("j", verdict)
    checks = [replace(check, model=judge) if isinstance(check, JudgeIdea) else check for check in suite.checks]
    changed: Suite = replace(suite.suite, columns=Columns(checks=checks))
    return Eval._of(changed)  # pyright: ignore[reportPrivateUsage]


async def test_evals_are_listed_and_shown_without_running_anything(tmp_path: Path) -> None:
    await saved(tmp_path)
    async with room(tmp_path) as client:
        assert 'href="/studio/evals">Evals</a>' in await page(client, "")
        assert 'href="/studio/evals/out/desk"' in await page(client, "evals")
        text = await page(client, "evals/out/desk")
        assert "2 of 2" in text
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert(1)&lt;/script&gt; it is cold" in text
        await page(client, "evals/runs", 404)
        await page(client, "evals/..%2F..%2Fetc", 404)
    assert called(tmp_path) == []


async def test_people_agree_with_a_judge_or_not_and_it_counts_from_then_on(tmp_path: Path) -> None:
    suite = await saved(tmp_path)
    outputs = {name: Idea.load(f"runs/{name}.json").meta["run"]["output"] for name in ("ana", "bo")}
    digests = {name: sha256_of(output) for name, output in outputs.items()}
    async with room(tmp_path) as client:
        for name, label in (("ana", "agree"), ("bo", "disagree")):
            await send(client, "evals/out/desk", {"check": "tone", "output": digests[name], "label": label})
        assert "labelled as pass" in await page(client, "evals/out/desk")
        for wrong in (
            {"check": "tone", "output": "0" * 64, "label": "agree"},
            {"check": "output.mean", "output": digests["ana"], "label": "agree"},
            {"check": "../../tone", "output": digests["ana"], "label": "agree"},
            {"check": "tone", "output": digests["ana"], "label": "perhaps"},
        ):
            await send(client, "evals/out/desk", wrong, 404)
        stranger = await client.post("/studio/evals/out/desk", data={}, headers={"origin": "https://evil.example"})
        assert stranger.status_code in {400, 403}
    labels = (tmp_path / "out" / "desk" / "tone.labels.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in labels] == [
        {"case": "ana", "output": digests["ana"], "pass": True},
        {"case": "bo", "output": digests["bo"], "pass": True},
    ]
    report = await judged_by(suite, answer).rescore(tmp_path / "out" / "desk")
    assert any("as people in 50% of 2 labels (0 passed and 1 failed against them)" in note for note in report.notes)

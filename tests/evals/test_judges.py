"""Judges: Ideas that score outputs, and how far they agree with people (evals.md V15, V16)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from actum import Idea, errors, models
from actum.evals import Eval
from actum.evals.judges import JudgeIdea
from actum.evals.statistics import Agreement
from actum.generation.model import ModelRequest
from actum.schema.json import sha256_of

from .desk import lines

JUDGE_INPUT = {
    "type": "input",
    "schema": {"type": "object", "properties": {"output": {}, "rubric": {"type": "string"}}, "required": ["output"]},
}


pytestmark = pytest.mark.usefixtures("empty_registry")


@pytest.fixture
def folder(folder: Path) -> Path:
    (folder / "judges").mkdir()
    schema = {"type": "object", "properties": {"score": {"type": "number"}, "why": {"type": "string"}}}
    Idea(context=[JUDGE_INPUT], schema=schema, config={"model": "ollama:judge"}).save("judges/tone.json")
    return folder


def scored(request: ModelRequest) -> Any:
    is_lisbon = any("Lisbon" in message["content"] for message in request.messages)
    output = {"score": 0.9 if is_lisbon else 0.2, "why": "warm" if is_lisbon else "cold"}
    return {"calls": [], "output": output}


def suite(folder: Path, **more: Any) -> Eval:
    return Eval(
        "desk.json", cases=["runs/*.json"], checks=[{"judge": {"idea": "judges/tone.json", **more}}], folder=folder
    )


def with_model(desk_eval: Eval, model: models.Scripted) -> Eval:
    """The eval with a judge that a script stands for."""
    from dataclasses import replace

    from actum.evals.checks import Columns

    checks = [replace(check, model=model) if isinstance(check, JudgeIdea) else check for check in desk_eval.checks]
    return Eval._of(replace(desk_eval.suite, columns=Columns(checks=checks)))  # pyright: ignore[reportPrivateUsage]


@pytest.mark.rule("V15", "V17", "V23")
async def test_a_judge_is_asked_only_where_that_is_said_and_never_twice(folder: Path) -> None:
    model = models.Scripted([scored], name="j", repeat_last=True)
    judged = with_model(suite(folder, at_least=0.8), model)
    silent = await judged.run(save=folder / "out")
    assert [row.state for row in silent.rows] == ["unknown", "unknown"]
    assert "--judge" in silent.rows[0].verdict.why
    report = await judged.run(save=folder / "out", judge=True)
    assert [(row.case, row.state, row.verdict.score, row.verdict.why) for row in report.rows] == [
        ("ana", "pass", 0.9, "warm"),
        ("bo", "fail", 0.2, "cold"),
    ]
    again = await judged.run(save=folder / "out")
    assert [row.state for row in again.rows] == ["pass", "fail"]
    assert len(model.requests) == 2


@pytest.mark.rule("V16")
async def test_a_judge_without_labels_is_advisory_and_in_no_gate(folder: Path) -> None:
    judged = with_model(suite(folder), models.Scripted([scored], name="j", repeat_last=True))
    report = await judged.run(judge=True)
    assert not any(row.is_gated for row in report.rows)
    assert report.notes == ["tone: advisory, since no output that it judged has a label"]


@pytest.mark.rule("V16")
async def test_agreement_with_people_is_told(folder: Path) -> None:
    outputs = [Idea.load(f"runs/{name}.json").meta["run"]["output"] for name in ("ana", "bo")]
    lines(
        folder / "labels.jsonl",
        *({"case": "x", "output": sha256_of(output), "pass": True} for output in outputs),
    )
    judged = with_model(suite(folder, labels="labels.jsonl"), models.Scripted([scored], name="j", repeat_last=True))
    report = await judged.run(judge=True)
    assert report.notes == [
        "tone: as people in 50% of 2 labels (0 passed and 1 failed against them), κ 0.00: advisory, in no gate"
    ]


@pytest.mark.rule("V16")
def test_thirty_labels_ten_of_each_kind_and_kappa_make_a_judge_count() -> None:
    judge = JudgeIdea(name="tone", idea=Idea(context=[]))
    assert judge.counts(Agreement(both_pass=15, both_fail=15))
    assert not judge.counts(Agreement(both_pass=14, both_fail=15))
    assert not judge.counts(Agreement(both_pass=25, both_fail=9))
    assert not judge.counts(Agreement(both_pass=10, both_fail=10, only_judge=5, only_people=5))


@pytest.mark.rule("V15")
def test_what_is_no_judge_is_refused(folder: Path) -> None:
    judge = json.loads((folder / "judges/tone.json").read_text(encoding="utf-8"))
    judge["schema"] = {"type": "object", "properties": {"mark": {}}}
    (folder / "judges/tone.json").write_text(json.dumps(judge), encoding="utf-8")
    with pytest.raises(errors.EvalError, match=r'judges/tone\.json: its output has neither "score" nor "pass"'):
        suite(folder)

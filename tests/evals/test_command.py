"""`actum eval` and the plugin of pytest, as their users run them (evals.md V1-V3, V29-V32)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .. import warm
from .desk import PLAN, RETYPED, called, with_two_runs

FILE = """
idea: desk.json
cases: [runs/*.json]
expect: recorded
checks:
  - †output.mean == †expect.mean
  - name: from
    calls: {want: [{weather: {city: {from: find_customer.city}}}]}
"""


pytestmark = pytest.mark.usefixtures("empty_registry")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with_two_runs(tmp_path, RETYPED)
    (tmp_path / "desk.eval.yaml").write_text(FILE, encoding="utf-8")
    return tmp_path


def actum(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return warm.run([sys.executable, "-m", "actum", *arguments], cwd=cwd)


@pytest.mark.rule("V1", "V2", "V31", "V32")
def test_kept_runs_are_judged_in_a_table_a_page_and_for_ci(folder: Path) -> None:
    done = actum("eval", "desk.eval.yaml", "--html", "out.html", "--junit", "out.xml", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:4] == [
        "                       desk.json·kept",
        "expect                 2 of 2",
        "output.mean            2 of 2",
        "from                   1 of 2",
    ]
    assert "bo in desk.json·kept, from: weather: city was retyped" in done.stdout
    assert "<testsuites>" in (folder / "out.xml").read_text(encoding="utf-8")
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert "city was retyped" in page
    assert "<script" not in page
    assert called(folder) == []


@pytest.mark.rule("V3", "V10")
def test_exit_codes_say_what_a_gate_and_a_must_found(folder: Path) -> None:
    (folder / "must.yaml").write_text(
        f"{FILE}  - must: †output.mean == 21.5\n  - must: †output.mean < 0", encoding="utf-8"
    )
    assert actum("eval", "must.yaml", cwd=folder).returncode == 1
    wrong = actum("eval", "desk.eval.yaml", "--against", "desk.json·a", cwd=folder)
    assert (wrong.returncode, "there is no cell 'desk.json·a'" in wrong.stderr, wrong.stdout) == (2, True, "")
    for file in ("--junit", "--html"):
        lost = actum("eval", "desk.eval.yaml", file, "runs", cwd=folder)
        assert (lost.returncode, "runs: Is a directory" in lost.stderr, "expect" in lost.stdout) == (2, True, True)
    for checks, why in (("[]", "it has no checks"), ("[†output.mean > 0]", "its cases bring no runs: --versions or")):
        text = f"idea: desk.json\ncases: [{{input: {{email: ana@example.com}}}}]\nchecks: {checks}\n"
        (folder / "none.yaml").write_text(text, encoding="utf-8")
        none = actum("eval", "none.yaml", cwd=folder)
        assert (none.returncode, f"nothing was judged: {why}" in none.stderr) == (3, True), none.stderr
    (folder / "bad.yaml").write_text("idea: desk.json\ncases: [none.json]\nchecks: [1]", encoding="utf-8")
    bad = actum("eval", "bad.yaml", cwd=folder)
    assert bad.returncode == 2
    assert [line.split(": ", 2)[2] for line in bad.stderr.splitlines()] == [
        "bad.yaml: cases[0]: there is no file none.json",
        "bad.yaml: checks[0]: a check is an expression, or an object such as {schema: {…}}",
    ]


@pytest.mark.rule("V17", "V27", "V31")
def test_models_are_asked_once_and_their_runs_judged_again(folder: Path) -> None:
    recorded = folder / "answers.jsonl"
    answer = json.dumps(PLAN)
    requests = [
        {"name": "m", "request": json.loads(line), "deltas": [answer], "usage": {"requests": 1}}
        for line in _requests(folder)
    ]
    recorded.write_text("".join(f"{json.dumps(recording)}\n" for recording in requests), encoding="utf-8")
    arguments = ["eval", "desk.eval.yaml", "--models", "replay:answers.jsonl", "--save", "out"]
    first = actum(*arguments, "--json", cwd=folder)
    assert first.returncode == 0, first.stderr
    states = {(row["case"], row["check"]): row["verdict"] for row in map(json.loads, first.stdout.splitlines())}
    assert states["ana", "expect"] == "pass"
    assert states["bo", "expect"] == "unknown"  # the plan asks for Oslo, and Lisbon is on record
    recorded.unlink()
    recorded.touch()
    again = actum("eval", "desk.eval.yaml", "--rescore", "out", cwd=folder)
    assert again.returncode == 0, again.stderr
    assert "1 of 1 (1 ?)" in again.stdout
    gate = actum(*arguments[:2], "--rescore", "out", "--against", "out", cwd=folder)
    assert gate.returncode == 3
    assert "undecided: expect: nobody knows of 1 of 2 pairs" in gate.stderr


def _requests(folder: Path) -> list[str]:
    """The requests of the desk's two cases, as a recording has them."""
    from actum import Agent, Idea, models
    from actum.app.loading import Code, ready

    requests: list[str] = []
    for email in ("ana@example.com", "bo@example.com"):
        idea = Idea.load(folder / "desk.json")
        path = folder / "asked.jsonl"
        agent: Agent = ready(
            idea, "desk.json", model=models.Recording(models.Scripted([PLAN]), path), code=Code.to_run()
        ).agent()
        agent.run_sync(idea.context, idea.schema, input={"email": email})
        requests += [json.dumps(json.loads(line)["request"]) for line in path.read_text(encoding="utf-8").splitlines()]
        path.unlink()
    (folder / "called.txt").unlink()
    return requests


@pytest.mark.rule("V1")
def test_a_plugin_of_pytest_makes_each_case_a_test(folder: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "actum.evals.collecting",
        "-p",
        "no:cacheprovider",
        "desk.eval.yaml",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "from: fail: weather: city was retyped" in done.stdout


@pytest.mark.rule("V7")
def test_cases_are_kept_as_files_without_secrets_and_what_is_dropped(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESK_API_KEY", "For Lisbon")
    cases = "[{runs: runs, drop: [input.email], where: '†output.mean > 0'}]"
    (folder / "kept.eval.yaml").write_text(FILE.replace("[runs/*.json]", cases), encoding="utf-8")
    done = actum("eval", "kept.eval.yaml", "--keep-cases", "cases", cwd=folder)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    texts = [path.read_text(encoding="utf-8") for path in sorted((folder / "cases").glob("*.json"))]
    assert len(texts) == 2
    assert not any("@example.com" in text or "For Lisbon" in text for text in texts)
    (folder / "again.eval.yaml").write_text(FILE.replace("runs/*", "cases/*"), encoding="utf-8")
    again = actum("eval", "again.eval.yaml", cwd=folder)
    assert "expect                 2 of 2" in again.stdout, again.stderr


@pytest.mark.rule("V30")
def test_a_gate_says_first_what_is_not_compared(folder: Path) -> None:
    recorded = folder / "answers.jsonl"
    recordings = [
        {"name": "m", "request": json.loads(line), "deltas": [json.dumps(PLAN)], "usage": {"requests": 1}}
        for line in _requests(folder)
    ]
    recorded.write_text("".join(f"{json.dumps(recording)}\n" for recording in recordings), encoding="utf-8")
    arguments = ["eval", "desk.eval.yaml", "--models", "replay:answers.jsonl", "--save", "out", "--html", "page.html"]
    first = actum(*arguments, cwd=folder)
    assert first.returncode == 0, first.stderr
    assert first.stderr.startswith(
        "actum: 2 runs a cell, at most 2; about 2 requests by what the cases' runs have used"
    )
    assert "1 of 1 (1 ?): 1–2 of 2" in first.stdout
    assert 'href="out/runs/desk.json' in (folder / "page.html").read_text(encoding="utf-8")
    changed = FILE.replace("†output.mean == †expect.mean", "†output.mean >= †expect.mean").replace("*", "ana")
    (folder / "desk.eval.yaml").write_text(changed, encoding="utf-8")
    gate = actum("eval", "desk.eval.yaml", "--rescore", "out", "--against", "out", cwd=folder)
    assert gate.stderr.splitlines()[0] == "actum: 1 cases and 1 checks differ, and are not compared"

"""What is wrong with an eval and its files is told before anything is asked, all at once, each in its words (10)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actum import HOLD, Idea, errors, kept, models
from actum.app.loading import Code, ready
from actum.cli.commands.pin import actum_pin
from actum.evals import Eval

from ..effort import trials
from .desk import desk, keep, lines

pytestmark = pytest.mark.usefixtures("empty_registry")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    desk(tmp_path)
    actum_pin("desk_tools.py")
    return tmp_path


def problems(file: Path, text: str) -> tuple[str, ...]:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(errors.EvalError) as raised:
        Eval.load(file)
    return raised.value.problems


async def held(folder: Path) -> None:
    """A run that waits for a decision."""

    async def hold(*_: object) -> Any:
        return HOLD

    idea = Idea.load("desk.json")
    plan = {"calls": [{"_tool": "refund", "order": "o-1"}], "output": {"note": "†calls.0", "mean": 1}}
    agent = ready(idea, "desk.json", model=models.Scripted([plan]), code=Code.to_run()).agent(hold)
    await kept.start(folder / "runs" / "desk-9.json", idea, lambda _: agent, input={"email": "a"})


@pytest.mark.rule("V4", "V10")
def test_each_refusal_has_its_words_and_all_are_told_at_once(folder: Path) -> None:
    asyncio.run(keep(folder, "bill-3", "ana@example.com"))
    (folder / "bill.json").write_text((folder / "desk.json").read_text(encoding="utf-8"), encoding="utf-8")
    run = json.loads((folder / "runs" / "bill-3.json").read_text(encoding="utf-8"))
    run["config"]["origin"] = str(folder / "bill.json")
    (folder / "runs" / "bill-3.json").write_text(json.dumps(run), encoding="utf-8")
    asyncio.run(held(folder))
    (folder / "judges").mkdir()
    judge: dict[str, Any] = {
        "context": [],
        "schema": {"type": "object", "properties": {"mark": {}}},
        "config": {"model": "ollama:x"},
    }
    (folder / "judges" / "tone.json").write_text(json.dumps(judge), encoding="utf-8")
    lines(folder / "cases.jsonl", *[{"input": {"email": str(number)}} for number in range(16)], {"input": {"email": 7}})
    refusals = problems(
        folder / "desk.eval.yaml",
        """
idea: desk.json
cases: [cases.jsonl, {input: {email: a}, expected: 1}, runs/bill-3.json, runs/desk-9.json]
checks:
  - output.mean == †expect.mean
  - †output.mean > 0
  - calls: {want: [wether]}
  - judge: {idea: judges/tone.json}
""",
    )
    for expected in (
        'desk.eval.yaml: cases[1]: there is no key "expected"; did you mean "expect"?',
        'cases.jsonl:17: input.email: 7 is not of type "string"',
        'runs/bill-3.json: a run of "bill.json", not of "desk.json"; `take: input` takes its input alone',
        "runs/desk-9.json: it waits for a decision: only a run with an output or an error is a case",
        'desk.eval.yaml: checks[2].calls.want[0]: there is no tool "wether"; did you mean "weather"?',
        'judges/tone.json: its output has neither "score" nor "pass"',
    ):
        assert expected in refusals
    named = "desk.eval.yaml: checks[0]: nothing here is named output: a text needs quotes, a result its †"
    assert any(refusal.startswith(named) for refusal in refusals)
    assert len(refusals) == 7


def line(**more: Any) -> str:
    """A case of a JSONL file."""
    return json.dumps({"input": {"email": "a"}, **more}) + "\n"


@pytest.mark.rule("V4", "V6")
@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("c.jsonl", line() + '{"input"\n', "c.jsonl:2: "),
        ("c.jsonl", line() + "[1]\n", "c.jsonl:2: a case is an object"),
        ("c.jsonl", line(record=[{"weather": {}}]), "c.jsonl:1: record[0]: a recorded call is"),
        ("c.jsonl", line(record=[{"wether": {}, "gives": 1}]), 'c.jsonl:1: record[0]: there is no tool "wether"'),
        ("c.jsonl", line(messages=[{"type": "odd"}]), "c.jsonl:1: messages: "),
        ("c.jsonl", line(calls={"most": {"weather": -1}}), "c.jsonl:1: calls.most: this says"),
        ("c.jsonl", line(effects=[{"wether": {}}]), 'c.jsonl:1: effects[0]: there is no tool "wether"'),
        ("c.csv", "input.email\na\nb,c\n", "c.csv:3: it has more cells"),
        ("c.csv", 'input.email,name\n"a\nb",x\n,y\n', 'c.csv:4: input: "email" is a required property'),
        ("c.csv", "input,input.email\n{},a\n", "c.csv:2: input.email: another column says what it is a part of"),
        ("c.csv", "inputs.email\na\n", 'c.csv:2: there is no key "inputs"; did you mean "input"?'),
        ("c.yaml", "- input: {email: 7}\n", "c.yaml:1: input.email: 7 is not"),
        ("c.yaml", "- [\n", "c.yaml"),
        ("c.yaml", "cases:\n- input:\n    email: a\n- 3\n", "c.yaml:4: a case is an object"),
        ("c.jsonl", "", "cases[0]: c.jsonl holds no case"),
        ("c.csv", "input.email\n", "cases[0]: c.csv holds no case"),
        ("c.yaml", "[]\n", "cases[0]: c.yaml holds no case"),
        ("c.jsonl", line(expect={"mean": "21"}), "c.jsonl:1: expect.mean: a text where a number is needed"),
        ("c.yaml", "- {input: {email: a}, expect: {maen: 1}}\n", "c.yaml:1: expect.maen: no 'maen' (did you mean"),
        ("c.csv", "input.email,input.email\na,b\n", "c.csv:1: it names 'input.email' twice"),
        ("c.csv", "input.email,expect.mean\na,warm\n", "c.csv:2: expect.mean: a text where a number is needed"),
        ("c.jsonl", line() + line(run="desk.json"), "c.jsonl:2: no run is kept there"),
        ("c.jsonl", line(tags=[1]), "c.jsonl:1: tags: this is a list of words"),
        ("c.jsonl", line(calls={}), "c.jsonl:1: calls: calls says one of want"),
        (
            "c.jsonl",
            line(calls={"want": [{"weather": {"city": {"from": "find.city"}}}]}),
            'from: there is no tool "find"',
        ),
        ("c.json", "[]", "c.json:1:1: an Idea must be a JSON object"),
        (
            "c.jsonl",
            line() + line(effects=[{"refund": {"ordr": 1}}]),
            "c.jsonl:2: effects[0].refund: there is no parameter",
        ),
        (
            "c.jsonl",
            line(calls={"never": [{"weather": {"town": "Lisbon"}}]}),
            'c.jsonl:1: calls.never[0].weather: there is no parameter "town"; it has city, days',
        ),
        (
            "c.jsonl",
            line(record=[{"weather": {"city": 1}, "gives": 1}]),
            'record[0].weather: city: 1 is not of type "string"',
        ),
        (
            "c.jsonl",
            line(expect={"mean": 1, "all": [{"low": 2}]}, within={"maen": 1, "all[0].low": "5%", "note": 1}),
            'c.jsonl:1: within: there is no number expected at "maen"; did you mean "mean"?',
        ),
        ("c.csv", "input.email,within.mean\na,5%\n", 'no number expected at "mean"; there are none'),
        ("c.jsonl", b"{}\n\xff", "c.jsonl: not UTF-8 in line 2, at byte 3"),
        ("c.yaml", "- &x {}\n- *x\n", "c.yaml: aliases (*name) are not accepted at line 2, column 3"),
        ("c.yaml", "- a: !!set {b}\n", "at line 1, column 6"),
    ],
)
def test_a_malformed_case_is_told_with_its_line(folder: Path, file: str, text: str | bytes, complaint: str) -> None:
    (folder / file).write_bytes(text if isinstance(text, bytes) else text.encode())
    refusals = problems(folder / "desk.eval.yaml", f"idea: desk.json\ncases: [{file}]\n")
    assert any(complaint in refusal for refusal in refusals), refusals


@pytest.mark.rule("V6")
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("c.jsonl", line() + line().replace('"a"', '"b"')),
        ("c.csv", "input.email,expect.mean\na,2\nb,\n"),
        ("c.yaml", "- input: {email: a}\n- input: {email: b}\n"),
    ],
)
def test_lines_may_end_as_they_do_elsewhere_and_begin_with_a_mark(folder: Path, file: str, text: str, end: str) -> None:
    (folder / file).write_bytes(f"\ufeff{text.replace(chr(10), end)}".encode())
    assert [case.input for case in Eval("desk.json", cases=[file], folder=folder).cases] == [
        {"email": "a"},
        {"email": "b"},
    ]


@pytest.mark.rule("V10")
@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ("unknown: -3", 'unknown: this is a share, 0.1 or "10%"'),
        ("unknown: 500%", 'unknown: this is a share, 0.1 or "10%"'),
        ("worse: -1", "worse: this is a whole number from 0 on"),
        ("parallel: 2.0", "parallel: this is a whole number from 1 on"),
        ("expect: yes please", 'expect: this is "recorded": what the runs came to'),
        ("take: nothing", 'take: this is "input": of the runs their input alone'),
        ("budget: {usd: -1}", "budget.usd: this is a number that is not negative"),
        ("tools: {live: everything}", "tools.live: this is none, reads or all"),
        ("checks: [{limits: {requests: -1}}]", "checks[0].limits.requests: this is a number that is not negative"),
        ("checks: [{python: 'leaves.py:x'}]", "checks[0].python: 'leaves.py' can't be imported: SystemExit: 3"),
        ("checks: [{judge: {idea: desk.json, kappa: 2}}]", "checks[0].judge.kappa: this is a share, such as 0.8"),
        ("attacks: [{name: a}]", "attacks[0].wins: this has to be said"),
    ],
)
def test_a_value_that_means_nothing_is_told(folder: Path, entry: str, complaint: str) -> None:
    (folder / "leaves.py").write_text("raise SystemExit(3)", encoding="utf-8")
    refusals = problems(folder / "desk.eval.yaml", f"idea: desk.json\ncases: [{{input: {{email: a}}}}]\n{entry}\n")
    assert f"desk.eval.yaml: {complaint}" in refusals


@pytest.mark.rule("V10")
def test_of_a_check_all_that_is_wrong_is_told_at_once(folder: Path) -> None:
    check = "{that: '†output.mean >', must: 1, at_least: x, nmae: y}"
    refusals = problems(
        folder / "desk.eval.yaml", f"idea: desk.json\ncases: [{{input: {{email: a}}}}]\nchecks: [{check}]\n"
    )
    assert [refusal.removeprefix("desk.eval.yaml: checks[0]")[:12] for refusal in refusals] == [
        ": there is n",
        ".must: `must",
        ".at_least: t",
        ".that: this ",
    ]


WORDS = [
    *("input", "email", "expect", "calls", "want", "most", "within", "run", "record", "gives", "weather", "messages"),
    *("effects", "if", "from", "live", "plant", "into", "wins", "idea", "must", "judge", "schema", "limits", "usd"),
]
KEYS = ["checks", "tools", "budget", "attacks", "parallel", "unknown", "alpha", "worse", "seed", "expect", "take"]
TEXTS = st.sampled_from(["", "email", "weather", "†output", "{x", "recorded"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=trials(2_000), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=3), JSON)
def test_whatever_an_eval_says_it_is_read_or_refused(folder: Path, more: dict[str, Any], case: Any) -> None:
    problems = list[str]()
    try:
        Eval("desk.json", cases=[case, {"input": {"email": "a"}}], folder=folder, **more)
    except errors.EvalError as error:
        problems += error.problems
    assert all(problem.startswith("the eval") for problem in problems)

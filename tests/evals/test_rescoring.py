"""Kept runs judged again: no model is asked and no tool is called (evals.md V2, V4-V14, V17)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from actum import errors
from actum.cli.commands.pin import actum_pin
from actum.evals import Case, Eval, JudgedRun, Verdict, check

from .desk import RETYPED, called, lines, with_two_runs

pytestmark = pytest.mark.usefixtures("empty_registry")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with_two_runs(tmp_path, RETYPED)
    return tmp_path


def suite(folder: Path, *checks: Any, **more: Any) -> Eval:
    return Eval("desk.json", cases=["runs/*.json"], checks=[*checks], folder=folder, **more)


async def verdicts(folder: Path, *checks: Any, **more: Any) -> dict[str, dict[str, str]]:
    report = await suite(folder, *checks, **more).run()
    assert called(folder) == []
    states: dict[str, dict[str, str]] = {}
    for row in report.rows:
        states.setdefault(row.check, {})[row.case] = row.state
    return states


@pytest.mark.rule("V2", "V9")
async def test_expressions_read_the_output_the_input_and_the_calls(folder: Path) -> None:
    states = await verdicts(
        folder,
        "†output.mean == 21.5",
        "{'Oslo' in †output.note or †input.email == 'ana@example.com'}",
        "len(†called) == 2 and †called[1].args.city == 'Lisbon'",
        "†usage.requests == 1",
    )
    assert states == {
        "output.mean": {"ana": "pass", "bo": "pass"},  # it asked for the weather of Lisbon
        "output.note": {"ana": "pass", "bo": "pass"},
        "called": {"ana": "pass", "bo": "pass"},
        "usage.requests": {"ana": "pass", "bo": "pass"},
    }


@pytest.mark.rule("V9")
async def test_only_true_passes_and_what_cannot_be_computed_is_broken(folder: Path) -> None:
    report = await suite(folder, "†output.mean", "†state.x == 1", "†called[9].tool == 'a'").run()
    assert {row.state for row in report.rows} == {"broken"}
    assert "neither true nor false" in report.rows[0].verdict.why


@pytest.mark.rule("V12")
async def test_a_reference_is_told_from_the_same_value_retyped(folder: Path) -> None:
    retyped = {"calls": {"want": [{"weather": {"city": {"from": "find_customer.city"}}}]}}
    report = await suite(folder, retyped).run()
    ana, bo = report.rows
    assert ana.state == "pass"
    assert bo.verdict.why == 'weather: city was retyped, "Lisbon": a reference to find_customer.city was wanted'


@pytest.mark.rule("V12")
async def test_calls_that_are_wanted_forbidden_ordered_and_counted(folder: Path) -> None:
    states = await verdicts(
        folder,
        {"name": "want", "calls": {"want": [{"weather": {"days": {"if": "{†value <= 3}"}}}]}},
        {"name": "never", "calls": {"never": [{"weather": {"city": "Lisbon"}}]}},
        {"name": "only", "calls": {"only": ["find_customer"]}},
        {"name": "order", "calls": {"order": ["find_customer", "weather"]}},
        {"name": "back", "calls": {"order": ["weather", "find_customer"]}},
        {"name": "most", "calls": {"most": {"weather": 0}}},
    )
    assert {name: set(by_case.values()) for name, by_case in states.items()} == {
        "want": {"pass"}, "never": {"fail"}, "only": {"fail"}, "order": {"pass"}, "back": {"fail"}, "most": {"fail"}
    }  # fmt: skip


@pytest.mark.rule("V11", "V13")
async def test_limits_schemas_and_functions(folder: Path) -> None:
    @check
    def names_city(case: Case, run: JudgedRun) -> bool:
        return run.output["note"].endswith(run.called[0]["value"]["city"])

    @check(at_least=0.5)
    async def score(case: Case, run: JudgedRun) -> float:
        return 0.9 if case.name == "ana" else 0.1

    @check
    def raises(case: Case, run: JudgedRun) -> bool:
        raise KeyError("gone")

    @check
    def own(case: Case, run: JudgedRun) -> Verdict:
        return Verdict(state="unknown", why="who knows")

    states = await verdicts(
        folder,
        {"limits": {"requests": 1, "usd": 1}},
        {"schema": {"required": ["mean"]}},
        names_city,
        score,
        raises,
        own,
    )
    assert states == {
        "limits": {"ana": "unknown", "bo": "unknown"},  # an unknown price is never zero
        "schema": {"ana": "pass", "bo": "pass"},
        "names_city": {"ana": "pass", "bo": "pass"},
        "score": {"ana": "pass", "bo": "fail"},
        "raises": {"ana": "broken", "bo": "broken"},
        "own": {"ana": "unknown", "bo": "unknown"},
    }


@pytest.mark.rule("V8")
async def test_what_a_case_expects_with_tolerances_and_effects(folder: Path) -> None:
    lines(
        folder / "cases.jsonl",
        {"name": "near", "run": "runs/ana.json", "expect": {"mean": 21}, "within": {"mean": "3%"}, "effects": []},
        {"name": "far", "run": "runs/ana.json", "expect": {"mean": 21}, "within": {"mean": 0.1}},
        {"name": "huge", "run": "runs/ana.json", "expect": {"mean": 10**400}, "within": {"mean": "2%"}},
        {"name": "paid", "run": "runs/ana.json", "effects": [{"refund": {"order": "o-7"}}]},
        {"name": "recorded", "run": "runs/bo.json", "expect": "recorded"},
    )
    unpinned = await Eval("desk.json", cases=["cases.jsonl"], folder=folder).run()
    assert [row.state for row in unpinned.rows if row.check == "effects"] == ["unknown", "unknown"]
    actum_pin("desk_tools.py")
    report = await Eval("desk.json", cases=["cases.jsonl"], checks=["†expect.mean > 0"], folder=folder).run()
    rows = {(row.case, row.check): (row.state, row.verdict.why) for row in report.rows}
    assert rows == {
        ("near", "expect"): ("pass", ""),
        ("near", "effects"): ("pass", ""),
        ("near", "expect.mean"): ("pass", ""),
        ("far", "expect"): ("fail", "mean: 21.5, 21 was expected"),
        ("far", "expect.mean"): ("pass", ""),
        ("huge", "expect"): ("fail", f"mean: 21.5, 1{'0' * 38}… was expected"),
        ("huge", "expect.mean"): ("pass", ""),
        ("paid", "effects"): ("fail", "refund(order) wasn't called"),  # and nothing is made of an absent †expect
        ("recorded", "expect"): ("pass", ""),
        ("recorded", "expect.mean"): ("pass", ""),
    }


@pytest.mark.rule("V6")
async def test_cases_from_a_table_have_the_types_of_the_schemas(folder: Path) -> None:
    (folder / "cases.csv").write_text(
        "name,input.email,expect.mean,expect.note\na,ana@example.com,21.5,\nb,bo@example.com,,7\n", encoding="utf-8"
    )
    read = Eval("desk.json", cases=["cases.csv"], folder=folder).cases
    assert [(case.name, case.input, case.expect) for case in read] == [
        ("a", {"email": "ana@example.com"}, {"mean": 21.5}),
        ("b", {"email": "bo@example.com"}, {"note": "7"}),
    ]


@pytest.mark.rule("V14")
async def test_a_must_that_is_missed_is_told_apart(folder: Path) -> None:
    report = await suite(folder, {"must": "†output.note == 'For Oslo'"}).run()
    assert [row.case for row in report.missed_musts] == ["ana"]


@pytest.mark.rule("V1")
async def test_one_case_is_a_test_with_the_difference_as_its_message(folder: Path) -> None:
    single = suite(folder, "†output.mean == 3")
    with pytest.raises(AssertionError, match=r"output\.mean: fail: †output\.mean is 21\.5"):
        (await single.once(single.cases[0])).assert_passed()


@pytest.mark.rule("V4", "V10")
def test_everything_that_is_wrong_is_told_at_once_with_its_place(folder: Path) -> None:
    lines(
        folder / "cases.jsonl",
        {"input": {"email": "ana@example.com"}, "expected": 1},
        {"input": {"email": 7}},
        {"run": "runs/none.json"},
    )
    (folder / "desk.eval.yaml").write_text(
        """
idea: desk.json
cases: [cases.jsonl, other-*.json, {input: {email: a}, within: {mean: many}}]
checks:
  - output.mean == 3
  - †output.mean == 'warm'
  - calls: {want: [wether]}
  - limits: {dollars: 3}
  - that: †calls.0.mean == 3
  - schema: {type: 3}
  - python: checks.py:polite
budget: {euro: 1}
oracle: x
""",
        encoding="utf-8",
    )
    with pytest.raises(errors.EvalError) as raised:
        Eval.load(folder / "desk.eval.yaml")
    problems = raised.value.problems
    assert [problem for problem in problems if problem.startswith("desk.eval.yaml: there is no key")] == [
        'desk.eval.yaml: there is no key "oracle"; it has idea, cases, checks, attacks, tools, budget, seed, '
        "worse, expect, take, parallel, unknown, alpha"
    ]
    for part in (
        'cases.jsonl:1: there is no key "expected"; did you mean "expect"?',
        'cases.jsonl:2: input.email: 7 is not of type "string"',
        "cases.jsonl:3: run: ",
        "desk.eval.yaml: cases[1]: there is no file other-*.json",
        "desk.eval.yaml: cases[2].within.mean: a tolerance is a number",
        "desk.eval.yaml: checks[0]: nothing here is named output: a text needs quotes, a result its †",
        "desk.eval.yaml: checks[1]: never equal: a number and a text",
        'desk.eval.yaml: checks[3].limits: there is no key "dollars"',
        "desk.eval.yaml: checks[4].that: there is no †calls here",
        "desk.eval.yaml: checks[5].schema: ",
        "desk.eval.yaml: checks[6].python: ",
        'desk.eval.yaml: budget: there is no key "euro"',
    ):
        assert any(part in problem for problem in problems), (part, problems)


@pytest.mark.rule("V5")
async def test_a_run_that_waits_or_of_another_idea_is_no_case(folder: Path) -> None:
    other = folder / "other.json"
    other.write_text((folder / "desk.json").read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(
        errors.EvalError, match=r'runs/ana.json: a run of "desk.json", not of "other.json"; `take: input`'
    ):
        Eval("other.json", cases=["runs/ana.json"], folder=folder)
    case = Eval("other.json", cases=["runs/ana.json"], take="input", folder=folder).cases[0]
    assert case.input == {"email": "ana@example.com"}
    assert case.run is None

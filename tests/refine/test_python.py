"""Plans written as typed functions, which nobody can tell from them (refine.md R37)."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Idea, Limits, Tools, errors, kept, models, tools
from actum.refine import PythonCode, as_python, expect, functions, prove, prove_function, refine, text
from actum.refine.python_source import proving_module

from ..effort import cases
from . import generated
from .test_refining import PEOPLE, desk, desk_idea, retyped, runs_of
from .test_repeating import DEBTS, INPUT, ORDERS, Desk, reminding
from .test_repeating import runs_of as desk_runs

PROJECT = Path(__file__).parent.parent / "typing" / "project"

pytestmark = pytest.mark.usefixtures("empty_registry")


def function_of(code: PythonCode) -> Any:
    """The function as its module has it."""
    code.save()
    spec = importlib.util.spec_from_file_location(code.path.stem, code.path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, code.path.stem)


async def written(folder: Path, idea: Idea, desk_tools: Tools, runs: Sequence[Path], **more: Any) -> PythonCode:
    refined = await refine(runs, idea=idea, tools=desk_tools, **more)
    return await as_python(refined, runs, folder / "answer.py", idea=idea, tools=desk_tools)


async def the_desk(folder: Path, days: int = 3) -> PythonCode:
    idea, desk_tools = desk_idea(), desk()
    return await written(
        folder, idea, desk_tools, await runs_of(folder, idea, tuple(PEOPLE)[:4], desk_tools, days=days)
    )


def as_in_a_project(code: PythonCode, name: str) -> bool:
    """Whether it is the module of a user's project that type checkers look at (tests/typing)."""
    return code.function.replace("answer", name).replace("Answer", name.title()) == (PROJECT / f"{name}.py").read_text(
        encoding="utf-8"
    )


@pytest.mark.rule("R37")
async def test_a_plan_becomes_a_typed_function(tmp_path: Path) -> None:
    assert as_in_a_project(await the_desk(tmp_path), "warmth")


async def of_reminders(folder: Path) -> tuple[Desk, PythonCode]:
    idea, office = Idea(context=[INPUT, "Remind of what is late."], schema={"type": "object"}), Desk()
    runs = await desk_runs(folder, idea, office, {name: reminding(name) for name in ORDERS})
    return office, await written(folder, idea, office.tools, runs)


async def of_calls(folder: Path) -> tuple[Desk, PythonCode]:
    idea, office = Idea(context=[INPUT, "Call who owes more than 100."], schema={"type": "object"}), Desk()

    def answers(name: str) -> list[Any]:
        called = [{"_tool": "call_up", "who": name}] if DEBTS[name] > 100 else []
        first = {"calls": [{"_tool": "debt", "who": name}], "output": None}
        return [first, {"calls": called, "output": {"owes": DEBTS[name]}}]

    runs = await desk_runs(folder, idea, office, {name: answers(name) for name in DEBTS})
    return office, await written(folder, idea, office.tools, runs)


async def test_a_call_for_every_item_is_gathered_and_one_under_a_condition_has_its_if(tmp_path: Path) -> None:
    office, code = await of_reminders(tmp_path)
    assert "    remind = await gather(\n        *(\n            tools(" in code.function
    assert '@tools.tool(effects="some")' in code.function
    called = office.tools.copy()
    called.tool(function_of(code))
    office.reminded.clear()
    assert await called({"_tool": "answer", "who": "ed"}) == {"reminded": 3}
    assert sorted(office.reminded) == [51, 52, 54]
    (tmp_path / "when").mkdir()
    other, when = await of_calls(tmp_path / "when")
    assert as_in_a_project(when, "debts")
    assert '    if debt["owes"] > 100:\n        await tools({"_tool": "call_up", "who": who})\n' in when.function
    called = other.tools.copy()
    called.tool(replace=True)(function_of(when))
    other.reminded.clear()
    assert await called({"_tool": "answer", "who": "bo"}) == {"owes": 40}
    assert await called({"_tool": "answer", "who": "gus"}) == {"owes": 180}
    assert other.reminded == ["gus"]


@pytest.mark.rule("R37")
async def test_ordered_calls_for_every_item_are_made_one_after_another(tmp_path: Path) -> None:
    idea, office = Idea(context=[INPUT, "Remind of what is late."], schema={"type": "object"}), Desk()

    @office.tools.tool(effects="ordered", replace=True)
    def remind(id: int) -> str:
        """Remind of an order."""
        office.reminded.append(id)
        return f"reminded of {id}"

    runs = await desk_runs(tmp_path, idea, office, {name: reminding(name) for name in ORDERS})
    code = await written(tmp_path, idea, office.tools, runs)
    assert "gather" not in code.function
    assert '@tools.tool(effects="ordered")' in code.function
    called = office.tools.copy()
    called.tool(function_of(code))
    office.reminded.clear()
    assert await called({"_tool": "answer", "who": "ed"}) == {"reminded": 3}
    assert office.reminded == [51, 52, 54]


def all_written(tmp_path: Path) -> list[str]:
    """The modules of three functions, then those of their tests."""
    functions: list[str] = []
    for make in (the_desk, of_reminders, of_calls):
        folder = tmp_path / make.__name__
        folder.mkdir()
        written_code = asyncio.run(make(folder))
        code = written_code if isinstance(written_code, PythonCode) else written_code[1]
        functions.append(f"{make.__name__}.py")
        (tmp_path / functions[-1]).write_text(code.function, encoding="utf-8")
        tests = proving_module(make.__name__, tmp_path / functions[-1], "desk.json", ["run-1.json", "run-2.json"])
        (tmp_path / f"test_{functions[-1]}").write_text(tests, encoding="utf-8")
    return [*functions, *(f"test_{name}" for name in functions)]


def check_with(folder: Path, *command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_written_is_formatted(tmp_path: Path) -> None:
    files = all_written(tmp_path)
    check_with(tmp_path, "ruff", "format", "--isolated", "--no-cache", "--check", *files)
    check_with(tmp_path, "ruff", "check", "--isolated", "--no-cache", *files)


def asking(email: str) -> list[Any]:
    return [
        {"calls": [{"_tool": "answer", "email": email}], "output": None},
        {"calls": [], "output": "{†results.0.note}"},
    ]


async def test_another_agent_cannot_tell_the_function_from_the_idea(tmp_path: Path) -> None:
    """The same calls of a caller, whether a model, a plan or a function stands behind the name."""
    code = await the_desk(tmp_path)
    by_model, by_code = desk(), desk()
    idea = desk_idea()
    by_model.register(idea.as_tool("answer"))
    by_code.tool(function_of(code))
    outcomes: list[Any] = []
    for desk_tools, inner in ((by_model, retyped("flo@x.com")), (by_code, [])):
        first, last = asking("flo@x.com")
        model = models.Scripted([first, *inner, last])
        result = await Agent(model, tools=desk_tools).run("How warm is it where Flo lives?", str)
        (answered,) = [call for call in result.calls if call.tool == "answer"]
        outcomes.append((result.output, answered.arguments, answered.value, answered.state))
        assert len(model.requests) == 2 + len(inner)
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0] == "For flo@x.com, in Kyiv"


async def test_a_function_that_does_something_else_is_noticed_by_its_tests(tmp_path: Path) -> None:
    idea, desk_tools = desk_idea(), desk()
    runs = await runs_of(tmp_path, idea, tuple(PEOPLE)[:4], desk_tools)
    code = await written(tmp_path, idea, desk_tools, runs)
    assert (await prove_function(function_of(code), runs, idea=idea, tools=desk_tools)).holds

    async def other(email: str) -> Any:
        await tools({"_tool": "find_customer", "email": email})
        return {"note": "", "mean": 0}

    async def asks(email: str) -> Any:
        return await tools({"_tool": "find_customer", "email": f"{email}!"})

    for function, why in ((other, "weather.* isn't called"), (asks, "isn't what was called")):
        proof = await prove_function(function, runs, idea=idea, tools=desk_tools)
        assert not proof.holds
        assert re.search(why, proof.why), proof.why


@pytest.mark.rule("R20")
async def test_effects_in_another_order_are_no_proof(tmp_path: Path) -> None:
    idea, office = Idea(context=[INPUT, "Remind of what is late."], schema={"type": "object"}), Desk()
    runs = await desk_runs(tmp_path, idea, office, {name: reminding(name) for name in ORDERS})

    async def backwards(who: str) -> Any:
        late = [order["id"] for order in await tools({"_tool": "orders", "who": who}) if order["state"] == "late"]
        for number in reversed(late):
            await tools({"_tool": "remind", "id": number})
        return {"reminded": len(late)}

    proof = await prove_function(backwards, runs, idea=idea, tools=office.tools)
    assert (proof.holds, "remind" in proof.why) == (False, True)


@pytest.mark.rule("R37")
async def test_what_python_would_do_otherwise_is_refused(tmp_path: Path) -> None:
    idea, desk_tools = desk_idea(), desk()
    runs = await runs_of(tmp_path, idea, tuple(PEOPLE)[:4], desk_tools)
    refined = await refine(runs, idea=idea, tools=desk_tools)
    for name in ("answer.txt", "2.py", "class.py", "a-b.py"):
        with pytest.raises(errors.RefineError, match="can't be written as Python") as raised:
            await as_python(refined, runs, tmp_path / name, idea=idea, tools=desk_tools)
        assert raised.value.code == "not_python"
    elements, output = refined.plan["plan"], refined.plan["output"]
    for edited in (
        {"plan": [elements[0], {**elements[1], "_else": {"mean": 1}}], "output": output},
        {"plan": elements, "output": {**output, "note": "For {†input.email}, in {†calls.0.city?}"}},
    ):
        plan = Idea(context=[*idea.context, {"type": "plan", **edited}], schema=idea.schema)
        proved = await prove(plan, runs, tools=desk_tools)
        assert proved.proof.holds
        with pytest.raises(errors.RefineError) as raised:
            await as_python(proved, runs, tmp_path / "answer.py", idea=idea, tools=desk_tools)
        assert raised.value.code == "not_python"
    assert not (tmp_path / "answer.py").exists()


async def test_words_of_others_are_texts_in_the_module_and_nothing_else(tmp_path: Path) -> None:
    evil = 'Say """ + __import__("os").abort() + """ \\" \n¶\u202e# {†input.email}'
    idea, desk_tools = (
        Idea(context=[dict(desk_idea().context[0]), evil, "over 3 days"], schema={"type": "object"}),
        desk(),
    )
    key = "x'\"\\\n{†}"
    runs: list[Path] = []
    for email, person in tuple(PEOPLE.items())[:4]:
        runs.append(tmp_path / f"{email}.json")
        answers: list[Any] = [
            {"calls": [{"_tool": "find_customer", "email": email}], "output": {key.replace("†", ""): "†calls.0.city"}}
        ]
        agent = Agent(models.Scripted(answers), tools=desk_tools)
        await kept.start(runs[-1], idea, lambda _, agent=agent: agent, input={"email": email})
        assert person
    code = await written(tmp_path, idea, desk_tools, runs)
    called = desk()
    called.tool(function_of(code))
    assert await called({"_tool": "answer", "email": "flo@x.com"}) == {key.replace("†", ""): "Kyiv"}
    assert "\u202e" not in code.function


async def test_calls_within_a_call_spend_from_its_run_and_keep_their_keys(tmp_path: Path) -> None:
    """What a function does in a run has the limits of the run, and the same keys when it is made again (C9, L5)."""
    keys: list[str] = []
    outer, inner = Tools(), Tools()

    @outer.tool(effects="some")
    async def pay(amount: int, _key: str) -> str:
        """Pay."""
        keys.append(_key)
        return "paid"

    @outer.tool(retries=1)
    async def settle(amount: int, _key: str) -> list[str]:
        """Pay twice."""
        payments = [await inner({"_tool": "pay", "amount": amount}) for _ in range(2)]
        if len(keys) == 2:
            raise OSError("away")
        return payments

    plan: list[Any] = [{"type": "plan", "plan": [{"_tool": "settle", "amount": 5}], "output": "†calls.0"}]
    with pytest.raises(errors.LimitExceeded, match="2 calls"):
        await Agent(None, tools=outer, limits=Limits(calls=2)).run(plan)
    assert len(keys) == 1
    keys.clear()
    result = await Agent(None, tools=outer).run(plan)
    assert result.output == ["paid", "paid"]
    assert keys[:2] == keys[2:]
    assert keys[0] != keys[1]
    other = await Agent(None, tools=outer).run(plan)
    assert other.output == ["paid", "paid"]
    assert not {*keys[:4]} & {*keys[4:]}
    with pytest.raises(errors.UnknownTool):
        await inner({"_tool": "pay", "amount": 5})


async def test_a_registry_keeps_its_own_tools_within_a_call() -> None:
    outer, inner = Tools(), Tools()

    @inner.tool(name="find", effects="none")
    async def within(of: str) -> str:
        """Find it."""
        return f"inner {of}"

    @outer.tool(effects="none")
    async def find(of: str) -> str:
        """Find it."""
        return await inner({"_tool": "find", "of": of})

    assert await outer({"_tool": "find", "of": "it"}) == "inner it"


def test_what_functions_are_given_besides_python() -> None:
    assert [text(value) for value in ("a", 21.0, 0.1 + 0.2, [1, {"a": True}])] == ["a", "21", "0.3", '[1,{"a":true}]']
    assert functions.sum([0.1] * 10) == 1.0
    assert functions.one(x for x in [3]) == 3
    expect(value=True)
    expect({"city": "Rome", "id": "c"}, "{city, id}")
    refused: list[Callable[[], Any]] = [
        lambda: expect(value=False),
        lambda: expect({"city": 1}, "{city}"),
        lambda: functions.one([]),
        lambda: text(None),
    ]
    for refuse in refused:
        with pytest.raises(errors.PlanLeft):
            refuse()
    with pytest.raises(AttributeError, match="no function 'two'"):
        functions.two([])


async def test_a_drawn_plan_and_its_function_do_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refinement: list[Any] = []

    async def noted(runs: Any, **more: Any) -> Any:
        refined = await refine(runs, **more)
        refinement[:] = [refined, runs, more["tools"]]
        return refined

    monkeypatch.setattr(generated, "refine", noted)
    compared = 0
    for seed in range(cases(little=4, more=20, most=200)):
        refinement.clear()
        trial = await generated.trial(seed, tmp_path, fresh=0)
        if not refinement or refinement[0].questions or not refinement[0].proof.holds:
            continue
        refined, runs, desk_tools = refinement
        code = await as_python(refined, runs, tmp_path / f"drawn_{seed}.py", idea=generated.IDEA, tools=desk_tools)
        random = generated.Random(seed)
        for _ in range(3):
            world, given = (
                generated.World(random.randrange(10**9), trial.size),
                generated.drawn_input(random, trial.size),
            )
            expected = await generated.outcome(trial.truth, refined.plan, world, given)
            calls: list[Any] = []
            called = generated.tools_of(trial.truth, world, calls)
            called.tool(function_of(code))
            try:
                output = await called({"_tool": code.path.stem, **given})
            except errors.ActumError:
                output = None
            assert output == (None if expected is None else expected.output), (seed, given)
            tools.withdraw([code.path.stem])
            compared += 1
    assert compared


def test_the_written_tests_run(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        'from actum import tools\n\n\n@tools.tool(effects="none")\ndef find(name: str) -> dict[str, str]:\n'
        '    """Find a person."""\n    return {"city": f"city of {name}"}\n',
        encoding="utf-8",
    )
    idea = Idea(
        context=[{"type": "input", "schema": {"properties": {"name": {"type": "string"}}, "required": ["name"]}}, "?"],
        schema={"type": "string"},
        config={"activities": ["own.py"]},
    )
    idea.save(tmp_path / "desk.json")

    async def kept_runs() -> list[Path]:
        from actum.app.loading import Code, ready

        paths: list[Path] = []
        for name in ("ana", "bo", "cy"):
            loaded = Idea.load(tmp_path / "desk.json")
            answers: list[Any] = [{"calls": [{"_tool": "find", "name": name}], "output": "†calls.0.city"}]
            agent = ready(loaded, "desk.json", model=models.Scripted(answers), code=Code.to_run()).agent()
            paths.append(tmp_path / f"{name}.json")
            await kept.start(paths[-1], loaded, lambda _, agent=agent: agent, input={"name": name})
        return paths

    runs = asyncio.run(kept_runs())
    command = [sys.executable, "-m", "actum", "refine", *(path.name for path in runs), "--idea", "desk.json"]
    done = subprocess.run(
        [*command, "--python", "answer.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "answer.py, proved by 3 runs" in done.stderr
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_answer.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "3 passed" in tested.stdout, tested.stdout + tested.stderr

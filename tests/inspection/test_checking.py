"""`inspection.check`: what is wrong with an Idea and its local delegates, each with its file and line, nothing run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Context, Idea, Tools, errors, inspection
from actum.cli.dispatch import run_command
from actum.inspection import Problem
from actum.schema.json import JsonObject as Json

pytestmark = pytest.mark.rule("D17")
STEP: Json = {"properties": {"n": {}, "_output": {"type": "integer"}}, "required": ["n"]}


def step(n: Any, path: str | None = None) -> Json:
    return {"_tool": "step", "n": n, "_output": 1} | ({"_outputPath": path} if path else {})


def write(folder: Path, name: str = "idea.json", *, tools: Json | None = None, **parts: Any) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    context = [{"type": "tool", "tool": {"step": STEP, **(tools or {})}}, *parts.pop("context", [])]
    path.write_text(json.dumps({"context": context, "schema": {}, **parts}, indent=1), encoding="utf-8")
    return path


def plan(*calls: Any, output: Any = None) -> Json:
    return {"type": "plan", "plan": list(calls)} | ({} if output is None else {"output": output})


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def problems_of(path: Path) -> list[tuple[str, tuple[str | int, ...], str]]:
    problems = inspection.check(path).problems
    return [(problem.file.rpartition("/")[2], problem.path, problem.error.code) for problem in problems]


CALLS: dict[str, tuple[list[Any], Any, list[tuple[tuple[Any, ...], str]]]] = {
    "a sound chain": ([step(1), step("†calls.0")], "†calls.1", []),
    "an unknown tool": ([{"_tool": "stp"}], None, [((0,), "unknown_tool")]),
    "a cycle by number": ([step("†calls.1"), step("†calls.0")], None, [((0,), "cyclic_plan")]),
    "a cycle by path": (
        [step("†state.b", "†state.a"), step("†state.a", "†state.b")],
        None,
        [((0,), "cyclic_plan")],
    ),
    "a call that reads itself": ([step("†calls.0")], None, [((0,), "cyclic_plan")]),
    "a call that reads only its own path": ([step("†state.a", "†state.a")], None, [((0,), "unresolved_reference")]),
    "a cycle with a way out": ([step("†calls.1 <|> †state.x"), step("†calls.0")], None, []),
    "an index that no call has": ([step("†calls.9")], None, [((0,), "unresolved_reference")]),
    "one in the output": ([step(1)], {"a": "†calls.9"}, [(("output",), "unresolved_reference")]),
    "an alternative that is there": ([step("†state.no <|> †state.x")], None, []),
    "no alternative that is there": ([step("†state.no <|> †state.nor")], None, [((0,), "unresolved_reference")]),
    "all of which one is not there": ([step("†state.x *> †state.no")], None, [((0,), "unresolved_reference")]),
    "a gate": ([step("†state.approvals.go")], None, []),
}


@pytest.mark.rule("C2", "C7", "P1")
@pytest.mark.parametrize("form", ["plan", "solution", "calls"])
@pytest.mark.parametrize("case", CALLS)
def test_the_calls_of_a_plan_and_of_a_saved_solution_are_judged_alike(here: Path, case: str, form: str) -> None:
    calls, output, expected = CALLS[case]
    state = {"type": "state", "x": 1}
    top: tuple[str | int, ...]
    last: tuple[str | int, ...]
    if form == "plan":
        path = write(here, context=[state, plan(*calls, output=output)])
        top, last = ("context", 2, "plan"), ("context", 2)
    elif form == "solution":
        path = write(here, context=[state], solution={"calls": calls, "output": output})
        top, last = ("solution", "calls"), ("solution",)
    else:
        path = write(here, context=[state], solution=calls)
        top, last = ("solution",), ("solution",)
        expected = [problem for problem in expected if problem[0] != ("output",)]
    placed = [((*(last if place == ("output",) else top), *place), code) for place, code in expected]
    assert [(place, code) for _, place, code in problems_of(path)] == placed


@pytest.mark.rule("M1")
def test_an_element_that_is_no_object_is_told_and_looked_at_no_further(here: Path) -> None:
    delegated: Json = {"type": "tool", "tool": {"ask": {"properties": {"_output": {}}, "_delegate": "inner.json"}}}
    write(here, "inner.json", context=[plan(output=1)])
    path = write(here, context=[delegated, plan(5)])
    assert problems_of(path) == [("idea.json", ("context", 2), "message")]
    with pytest.raises(errors.IdeaError, match=r"message 2: 'plan' must hold calls, .* element 0 is"):
        Idea.load(path)
    path = write(here, context=[], solution={"calls": [5], "output": None})
    assert problems_of(path) == [("idea.json", ("solution", "calls", 0), "invalid_parameters")]
    with pytest.raises(errors.ActumError, match="element 0 is"):
        inspection.graph_of(Context(), Idea.load(path).solution)


@pytest.mark.rule("D12")
def test_a_delegate_that_its_own_server_carries_out_is_no_problem_and_what_crosses_is_known(here: Path) -> None:
    def served(address: str) -> Path:
        meta: Json = {"_output": {}, "_delegate": {"const": address}, "_scopes": {"const": ["state.style"]}}
        context = [{"type": "tool", "tool": {"review": {"properties": meta}}}, {"type": "state", "style": "terse"}]
        return write(here, context=context)

    path = served("actum+https://agents.example.org/reviewer")
    assert problems_of(path) == []
    agent = Agent(None, tools=Tools())
    isolation = asyncio.run(inspection.isolation(agent, Idea.load(path).context, "review"))
    assert ([message["type"] for message in isolation.crossing], isolation.own) == (["state"], None)
    assert [code for *_, code in problems_of(served("actum+https://"))] == ["delegate_forbidden"]
    assert [code for *_, code in problems_of(served("actum+http://agents.example.org/x"))] == ["delegate_forbidden"]


@pytest.mark.rule("P1")
def test_a_cycle_is_told_in_the_order_of_waiting_and_each_one_once(here: Path) -> None:
    calls = [step("†calls.2"), step("†calls.0"), step("†calls.1"), step("†calls.4"), step("†calls.3")]
    messages = [problem.error.message for problem in inspection.check(write(here, context=[plan(*calls)])).problems]
    assert messages == [
        "these calls wait for each other: call 0 (step) → call 2 (step) → call 1 (step) → call 0 (step)",
        "these calls wait for each other: call 3 (step) → call 4 (step) → call 3 (step)",
    ]


def test_a_long_plan_is_looked_at_in_one_pass(here: Path) -> None:
    calls = [step(1, "†state.p0"), *(step(f"†state.p{n - 1}", f"†state.p{n}") for n in range(1, 3_000))]
    path = write(here, context=[plan(*calls, output="†state.p2999")])
    assert problems_of(path) == []
    graph = inspection.graph_of(Idea.load(path).context)
    assert len(graph.layers()) == 3_001


WRONG: dict[str, tuple[Json, tuple[str | int, ...], str]] = {
    "solution": ({"solution": 5}, ("solution",), "invalid_parameters"),
    "calls": ({"solution": {"calls": 5}}, ("solution", "calls"), "invalid_parameters"),
    "meta": ({"meta": 5}, ("meta",), "invalid_parameters"),
    "config": ({"config": 5}, ("config",), "invalid_parameters"),
    "a setting": ({"config": {"retrys": 5}}, ("config", "config", "retrys"), "idea"),
    "a tool that is not registered": ({"config": {"tools": ["nobody"]}}, ("context", "config", "tools"), "schema"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_a_run_would_refuse_of_the_other_parts_is_told(here: Path, case: str) -> None:
    parts, place, code = WRONG[case]
    assert problems_of(write(here, **parts)) == [("idea.json", place, code)]


def delegating(reference: Any, **more: Any) -> Json:
    return {"ask": {"_delegate": reference, "properties": {"n": {}}, **more}}


ASK = ("context", 0, "tool", "ask")


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ("absent.json", "delegate_not_found"),
        ("../../absent.json", "delegate_forbidden"),
        ("ftp://example.org/x.json", "delegate_forbidden"),
        ("idea:nobody", "delegate_not_found"),
        ("text.json", "delegate"),
        ("anonymous", None),
        ("https://example.org/x.json", None),
    ],
)
def test_a_delegate_that_a_run_could_not_load_is_told_at_its_tool(here: Path, reference: str, code: str | None) -> None:
    (here / "text.json").write_text("no JSON", encoding="utf-8")
    assert problems_of(write(here, tools=delegating(reference))) == ([("idea.json", ASK, code)] if code else [])


def test_each_delegate_that_a_tool_offers_is_looked_at(here: Path) -> None:
    write(here, "there.json")
    tools = {"ask": {"properties": {"_delegate": {"enum": ["there.json", "absent.json"]}}}}
    assert problems_of(write(here, tools=tools)) == [("idea.json", ASK, "delegate_not_found")]


def test_the_faults_of_a_delegate_are_told_with_its_own_file_and_line(here: Path) -> None:
    write(here, "team/helper.json", context=[plan({"_tool": "nobody"})], tools=delegating("deeper.json"))
    write(here, "team/deeper.json", context=[{"type": "no such type"}])
    checked = inspection.check(write(here, tools=delegating("team/helper.json")))
    problems = [(problem.file, problem.path, problem.error.code) for problem in checked.problems]
    assert problems == [
        ("team/helper.json", ("context", 1, "plan", 0), "unknown_tool"),
        ("team/deeper.json", ("context", 1), "message"),
    ]
    lines = (here / "team/helper.json").read_text(encoding="utf-8").splitlines()
    assert '"nobody"' in lines[checked.problems[0].line]
    assert checked.forms == ()


def test_an_idea_that_delegates_to_itself_is_told_with_the_circle(here: Path) -> None:
    (problem,) = inspection.check(write(here, tools=delegating("idea.json"))).problems
    assert (problem.path, problem.error.code) == (ASK, "delegate_depth_exceeded")
    write(here, "other.json", tools=delegating("idea.json"))
    (problem,) = inspection.check(write(here, tools=delegating("other.json"))).problems
    assert problem.file == "other.json"
    assert problem.error.message.endswith("idea.json → other.json → " + str(here / "idea.json"))


def test_delegates_deeper_than_a_run_allows_are_told_and_not_followed(here: Path) -> None:
    for number in range(6):
        write(here, f"d{number}.json", tools=delegating(f"d{number + 1}.json"))
    path = write(here, tools=delegating("d0.json"), config={"max_depth": 2})
    assert problems_of(path) == [("d1.json", ASK, "delegate_depth_exceeded")]


@pytest.mark.rule("D5", "S3")
def test_the_plan_of_a_delegate_may_read_its_input_and_what_crosses_and_nothing_else(here: Path) -> None:
    calls = [step("†input.n"), step("†state.part.x"), step("†state.other")]
    write(here, "helper.json", context=[plan(*calls)])
    tools = delegating("helper.json", _scopes=["state.part"])
    path = write(here, tools=tools, context=[{"type": "state", "part": 1, "other": 2}])
    assert problems_of(path) == [("helper.json", ("context", 1, "plan", 2), "unresolved_reference")]


def test_a_delegate_that_many_tools_name_is_looked_at_once(here: Path) -> None:
    write(here, "helper.json", context=[plan({"_tool": "nobody"})])
    tools = {f"ask{number}": {"_delegate": "helper.json"} for number in range(50)}
    assert problems_of(write(here, tools=tools)) == [("helper.json", ("context", 1, "plan", 0), "unknown_tool")]


@pytest.mark.parametrize("case", ["below the current folder", "elsewhere", "elsewhere, with a root", "a narrow root"])
def test_check_refuses_what_a_run_refuses_of_a_path_that_leads_up(
    here: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    write(here, "shared/helper.json", context=[plan(output=7)])
    calls = plan({"_tool": "ask", "n": 1}, output="†calls.0")
    path = write(here, "ideas/idea.json", tools=delegating("../shared/helper.json"), context=[calls])
    (here / "other").mkdir()
    roots: list[str] = []
    is_refused = False
    match case:
        case "elsewhere":
            monkeypatch.chdir(here / "other")
            is_refused = True
        case "elsewhere, with a root":
            monkeypatch.chdir(here / "other")
            roots = [str(here)]
        case "a narrow root":
            roots, is_refused = ["ideas"], True
        case _:
            pass
    problems = inspection.check(path, roots=roots).problems
    assert [problem.error.code for problem in problems] == (["delegate_forbidden"] if is_refused else [])
    options = [option for root in roots for option in ("--root", root)]
    assert run_command(["run", str(path), "-q", *options]) == (1 if is_refused else 0)
    assert run_command(["check", str(path), *options]) == (2 if is_refused else 0)


async def test_an_idea_run_from_python_has_the_same_roots(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here, "shared/helper.json", context=[plan(output=7)])
    calls = plan({"_tool": "ask", "n": 1}, output="†calls.0")
    path = write(here, "ideas/idea.json", tools=delegating("../shared/helper.json"), context=[calls])
    assert (await Idea.load(path).run()).output == 7
    monkeypatch.chdir(here / "shared")
    with pytest.raises(errors.PlanFailed, match="leads out of the folders"):
        await Idea.load(path).run()


def test_a_problem_is_json_with_its_file(here: Path) -> None:
    (problem,) = inspection.check(write(here, context=[plan({"_tool": "nobody"})])).problems
    assert isinstance(problem, Problem)
    assert problem.to_dict() | {"message": ""} == {
        "file": str(here / "idea.json"),
        "line": problem.line,
        "column": problem.column,
        "code": "unknown_tool",
        "message": "",
        "tool": "nobody",
    }


def test_a_file_that_is_no_json_is_an_error_and_not_a_problem(here: Path) -> None:
    (here / "bad.json").write_text("{", encoding="utf-8")
    with pytest.raises(errors.IdeaError, match="line 1"):
        inspection.check(here / "bad.json")


def test_a_sound_idea_has_a_form_for_each_provider(here: Path) -> None:
    checked = inspection.check(write(here))
    assert [form.provider for form in checked.forms] == list(inspection.PROVIDERS)
    assert all(form.rung for form in checked.forms)


@pytest.mark.parametrize(
    ("config", "where", "message"),
    [
        ({"model": "nope:xx"}, ["config", "model"], "no provider is known for the model 'nope:xx'"),
        ({"model": "gpt"}, ["config", "model"], "no provider is known for the model 'gpt'"),
        ({"model": "replay:missing.jsonl"}, ["config", "model"], "there is no recording 'missing.jsonl'"),
        ({"readers": True, "reader": "nope:xx"}, ["config", "reader"], "no provider is known"),
    ],
)
def test_a_model_that_no_machine_could_ask_is_a_problem(config: Json, where: list[str], message: str) -> None:
    (problem,) = inspection.check(write(Path(), config=config)).problems
    assert (list(problem.path), problem.line > 1) == (where, True)
    assert message in problem.error.message


def test_a_key_that_this_machine_has_not_is_no_problem_of_the_idea(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert inspection.check(write(Path(), config={"model": "openai:gpt-5.2"})).problems == ()


@pytest.mark.rule("W10", "W11")
@pytest.mark.parametrize(
    ("model", "settings", "note", "problem"),
    [
        ("anthropic:claude-haiku-5-5", {"seed": 7, "max_tokens": 9}, "isn't sent the setting 'seed'", None),
        ("openai-responses:gpt-5.2", {"stop": ["x"], "timeout": 9}, "isn't sent the setting 'stop'", None),
        ("openai:gpt-5.2", {"seed": 7, "stop": ["x"], "timeout": 9}, None, None),
        ("anthropic:claude-x", {"thinking": "high", "temperature": 0.5}, None, "takes 'thinking' or 'temperature'"),
    ],
)
def test_what_a_provider_makes_of_settings_is_told(
    tmp_path: Path, model: str, settings: Json, note: str | None, problem: str | None
) -> None:
    checked = inspection.check(write(tmp_path, config={"model": model, "settings": settings}))
    assert [str(note) in line for line in checked.notes] == ([True] if note else []), checked.notes
    assert [str(problem) in fault.error.message for fault in checked.problems] == ([True] if problem else [])


@pytest.mark.rule("W10")
def test_what_each_kind_of_provider_calls_a_setting_is_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(write(tmp_path))
    assert run_command(["check", path, "--all-providers"]) == 0
    (row,) = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip().startswith("max_tokens")]
    assert row == ["max_tokens", "max_tokens", "max_output_tokens", "max_tokens", "maxOutputTokens", "max_tokens"]
    assert run_command(["check", path, "--all-providers", "--json"]) == 0
    table = json.loads(capsys.readouterr().out)["settings"]
    assert table["seed"] == {"chat": "seed", "responses": None, "anthropic": None, "google": "seed", "inferred": None}


@pytest.mark.rule("W31")
def test_about_how_many_tokens_a_request_has_is_told_where_that_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(write(tmp_path))
    assert run_command(["check", path, "--size"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    (head,) = [row[2:] for row in rows if row[:2] == ["tokens,", "about"]]
    assert head == [*inspection.PROVIDERS]
    (whole,) = [row[2:] for row in rows if row[:2] == ["in", "all"]]
    assert run_command(["check", path, "--size", "--json"]) == 0
    tokens = json.loads(capsys.readouterr().out)["tokens"]
    assert [*map(str, tokens["in all"].values())] == whole
    for provider in head:
        parts = [row[provider] for part, row in tokens.items() if part != "in all" and "saves" not in part]
        assert sum(parts) == tokens["in all"][provider] > 0
    assert run_command(["check", path, "--json"]) == 0
    assert "tokens" not in json.loads(capsys.readouterr().out)


NAMED = "from actum import tools\n\n@tools.tool\ndef ask(q: str) -> str:\n    '''Ask.'''\n    return q\n"


@pytest.mark.rule("D13")
def test_an_activity_that_is_passed_over_is_noted_once_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "acts.py").write_text(NAMED, encoding="utf-8")
    assert run_command(["pin", str(tmp_path / "acts.py")]) == 0
    write(tmp_path, "inner.json", tools={"ask": {"_output": {}}})
    ask: Json = {"properties": {"q": {}}, "_delegate": "inner.json"}
    config: Json = {"activities": ["acts.py"]}
    passed = "tool 'ask': its delegate carries it out, not the Activity of its name"
    kept = "tool 'ask': the Activity of its name doesn't serve a delegate's own tool"
    for more, words in (({}, [passed, kept]), ({"_activity": "ask"}, [kept]), ({"_activity": ""}, [kept])):
        path = write(tmp_path, tools={"ask": {**ask, **more}}, config=config)
        checked = inspection.check(path)
        assert checked.problems == ()
        assert [any(note.partition(": ")[2].startswith(word) for note in checked.notes) for word in words] == [
            True
        ] * len(words)
        assert len(checked.notes) == len(words)
        assert all(note.split(":")[0].endswith(".json") and note.split(":")[1].isdigit() for note in checked.notes)
    planned = write(tmp_path, context=[plan({"_tool": "ask", "q": 1, "_delegate": "inner.json"})], config=config)
    assert [note.partition(": ")[2].startswith(passed) for note in inspection.check(planned).notes] == [True]
    idea: Json = {"context": [{"type": "tool", "tool": {"ask": {"_output": {}}}}], "schema": {}, "config": config}
    (tmp_path / "inner.json").write_text(json.dumps(idea), encoding="utf-8")
    explicit = write(tmp_path, tools={"ask": {**ask, "_activity": "ask"}}, config=config)
    assert inspection.check(explicit).notes == ()


def test_a_tool_that_a_module_without_pins_may_hold_is_no_problem_and_one_that_none_holds_is(tmp_path: Path) -> None:
    (tmp_path / "acts.py").write_text(NAMED, encoding="utf-8")
    path = write(tmp_path, context=[plan({"_tool": "ask", "q": 1})], config={"activities": ["acts.py"]})
    checked = inspection.check(path)
    assert checked.problems == ()
    assert checked.served is None, "whether it only reads isn't known"
    assert [note.partition(": ")[2] for note in checked.notes] == ["the tool 'ask' isn't known here"]
    assert run_command(["pin", str(tmp_path / "acts.py")]) == 0
    assert inspection.check(path).notes == ()
    (tmp_path / "inner.json").write_text(json.dumps({"context": [plan({"_tool": "ask"})]}), encoding="utf-8")
    (tmp_path / "acts.py.pins").unlink()
    delegated = write(tmp_path, tools={"d": {"_delegate": "inner.json"}}, config={"activities": ["acts.py"]})
    (problem,) = inspection.check(delegated).problems
    assert problem.error.message == "tool 'ask': no tool 'ask' is offered; no tools are offered", "that isn't given it"
    assert run_command(["pin", str(tmp_path / "acts.py")]) == 0
    wrong = write(tmp_path, context=[plan({"_tool": "aks", "q": 1})], config={"activities": ["acts.py"]})
    assert [problem.error.code for problem in inspection.check(wrong).problems] == ["unknown_tool"]


def test_a_tool_without_a_docstring_is_noted_and_the_verdict_comes_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "acts.py").write_text(NAMED.replace("    '''Ask.'''\n", ""), encoding="utf-8")
    assert run_command(["pin", str(tmp_path / "acts.py")]) == 0
    path = write(tmp_path, context=[plan({"_tool": "ask", "q": "a"})], config={"activities": ["acts.py"]})
    capsys.readouterr()
    assert run_command(["check", path.name]) == 0
    verdict, note, *_ = capsys.readouterr().out.splitlines()
    assert verdict == "idea.json: no problems, 1 note"
    assert note.endswith("the tool 'ask' has no description: give its function a docstring (note)")
    write(tmp_path, config={"activities": ["acts.py"], "limits": {"request": 5}})
    assert run_command(["check", path.name]) == 2
    verdict, problem, _ = capsys.readouterr().out.splitlines()
    assert verdict == "idea.json: 1 problem, 1 note"
    assert problem.count("idea.json") == 1, "the file is named once"


FIXED: Json = {"properties": {"_output": {}, "_outputPath": {"const": "†state.drafts.last"}}}
SCOPES: dict[str, tuple[list[str], str]] = {
    "what is there": (["state.article.title", "state", "input", "text", "result", "error", "meta", "profile"], ""),
    "what a call writes": (["state.drafts", "state.drafts.last.title", "state.drafts.last"], ""),
    "what a schema declares": (["state.later"], ""),
    "what an instance has": (["state.own"], ""),
    "a kind": (["stat"], "the context has no 'stat'; did you mean 'state'?"),
    "a part of a kind": (["profil.name"], "the context has no 'profil' to take a part of; did you mean 'profile'?"),
    "a part of no data": (["text.first"], "the context has no 'text' to take a part of; it has "),
    "a path": (["state.artcle"], "nothing fills †state.artcle; †state has near it article"),
}


@pytest.mark.rule("T17", "S11")
@pytest.mark.parametrize("how", ["fixed", "offered", "planned"])
@pytest.mark.parametrize("case", SCOPES)
def test_a_scope_that_names_nothing_that_can_exist_is_told_with_the_nearest_name(
    here: Path, case: str, how: str
) -> None:
    scopes, message = SCOPES[case]
    form = {"fixed": {"const": scopes}, "offered": {"type": "array", "items": {"enum": scopes}}}.get(how)
    see: Json = {"properties": {"_scopes": form} if form else {}}
    calls = [plan(_call("see", _scopes=scopes))] if how == "planned" else []
    context: list[Json] = [
        {"type": "tool", "tool": {"see": see, "draft": FIXED}},
        {"type": "state", "article": {"title": "T"}, "schema": {"type": "object", "properties": {"later": {}}}},
        {"type": "state", "own": 1, "_instance": "①"},
        {"type": "data", "kind": "profile", "data": {"name": "Ann"}},
        *calls,
    ]
    idea: Json = {"context": context, "config": {"tools": []}}  # what other tests have registered may write anything
    (here / "idea.json").write_text(json.dumps(idea), encoding="utf-8")
    problems = inspection.check(here / "idea.json").problems
    at = ("context", 4, "plan", 0) if calls else ("context", 0, "tool", "see")
    assert [(problem.path[: len(at)], problem.error.code) for problem in problems] == [(at, "scope_denied")] * bool(
        message
    )
    assert all(message in problem.error.message for problem in problems)


@pytest.mark.rule("T17", "S1")
def test_a_scope_may_name_what_a_model_may_write_and_what_a_caller_lets_through(here: Path) -> None:
    see: Json = {"see": {"_scopes": ["state.draft"]}}
    path = write(here, tools=see, context=[{"type": "state", "x": 1}])
    assert problems_of(path) == [], "the result of 'step' may be written there"
    inner: Json = {"context": [{"type": "tool", "tool": {"see": {"_scopes": ["profile"]}}}]}
    (here / "inner.json").write_text(json.dumps(inner), encoding="utf-8")
    assert problems_of(here / "inner.json") == [("inner.json", ("context", 0, "tool", "see"), "scope_denied")]
    profile: Json = {"type": "data", "kind": "profile", "data": {"name": "Ann"}}
    assert problems_of(write(here, tools=delegating("inner.json", _scopes=["profile"]), context=[profile])) == []


def _call(tool: str, **parts: Any) -> Json:
    return {"_tool": tool, **parts}

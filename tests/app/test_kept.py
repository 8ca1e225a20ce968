"""`actum.kept` and `actum.inspection` as a program calls them: all that the command line does, as typed values."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Call, Context, Idea, Limits, Tools, errors, events, inspection, kept, models
from actum.generation.offer import offered
from actum.ideas.library import Change
from actum.schema.json import JsonObject as Json

TOOL: Json = {"properties": {"n": {"type": "integer"}, "_output": {"type": "integer"}}, "required": ["n"]}


def tools(doubled: list[int] | None = None) -> Tools:
    registry = Tools()
    registry.register("double", TOOL)

    @registry.activity("double")
    async def double(n: int) -> int:
        if doubled is not None:
            doubled.append(n)
        return 2 * n

    assert callable(double)
    return registry


def idea(*calls: Json, output: Any = None, context: list[Json] | None = None) -> Idea:
    plan: list[Json] = [{"type": "plan", "plan": list(calls), "output": output}] if calls else []
    return Idea(context=Context([*(context or []), *plan]), schema={})


CALLS: list[Json] = [{"_tool": "double", "n": 2}, {"_tool": "double", "n": "†calls.0"}]


@pytest.mark.rule("L8")
async def test_a_run_is_started_kept_listed_and_never_overwritten(tmp_path: Path) -> None:
    all_events: list[events.AnyEvent] = []
    agent = Agent(None, tools=tools())
    result = await kept.start(tmp_path / "one.json", idea(*CALLS, output="†calls.1"), agent, show=all_events.append)
    assert result.output == 8
    assert isinstance(all_events[-1], events.RunFinished)
    (summary,) = kept.listed(tmp_path)
    assert summary == kept.Summary(path=tmp_path / "one.json", state="finished", output=8)
    with pytest.raises(errors.IdeaError, match="already exists: use `actum resume` to continue it"):
        await kept.start(tmp_path / "one.json", idea(*CALLS), agent)
    with pytest.raises(errors.IdeaError, match="no runs are kept in"):
        kept.listed(tmp_path / "nowhere")
    (tmp_path / "a.json").write_text("{", encoding="utf-8")
    with pytest.raises(errors.IdeaError, match=r"a\.json: "):
        kept.listed(tmp_path)
    passed: list[errors.ActumError] = []
    assert (kept.listed(tmp_path, pass_over=passed.append), len(passed)) == ([summary], 1)


@pytest.mark.rule("L5", "X0")
async def test_a_kept_run_knows_what_all_of_it_has_cost_and_who_made_it_also_after_a_crash(tmp_path: Path) -> None:
    path, crashed = tmp_path / "run.json", tmp_path / "crashed.json"
    usage = models.Usage(requests=1, usd=0.5)
    answers: list[Any] = ["unusable", {"calls": [CALLS[0]], "output": None}, {"calls": [], "output": 5}]

    def crash(event: events.AnyEvent) -> None:
        if isinstance(event, events.RequestStarted) and len(event.context) > 1:
            shutil.copy(path, crashed)
            shutil.copy(f"{path}.log", f"{crashed}.log")

    agent = Agent(models.Scripted(answers, usage=usage), tools=tools())
    await kept.start(path, idea(context=[{"type": "text", "text": "go"}]), agent, show=crash)
    await kept.resume(crashed, Agent(models.Scripted(answers[2:], usage=usage), tools=tools()))
    for file in (path, crashed):
        known = Idea.load(file).meta["run"]
        assert (known["usage"]["requests"], known["usage"]["usd"]) == (3, 1.5)
        assert known["makers"] == {"double": "code"}
        assert inspection.account_of(Idea.load(file), file.name).usage.requests == 3


@pytest.mark.rule("L3", "C15")
async def test_a_kept_run_knows_what_an_answer_had_made_before_it_was_corrected(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    calls: list[Json] = [{"_tool": "double", "n": n} for n in (2, 7, 9)]
    calls.insert(2, {"_tool": "double", "_each": [3, 4], "n": "†each"})
    corrected = {"calls": [{"_tool": "double", "n": 5}, calls[1]], "output": "†calls.0"}
    model = models.Scripted([json.dumps({"calls": calls, "output": None})[:-25], corrected])
    await kept.start(path, idea(context=[{"type": "text", "text": "go"}]), Agent(model, tools=tools()))
    made = [("1.0", 10), ("0.1", 14), ("0.0", 4)]
    assert [(call.place, call.value) for call in inspection.calls_of(path)] == [*made, ("0.2.0", 6), ("0.2.1", 8)]
    (seen,) = inspection.account_of(Idea.load(path), path.name).answers
    assert [(call.place, call.value) for call in seen.calls[:3]] == made
    assert ([call.place for call in seen.calls[3:]], {call.state for call in seen.calls}) == (["0.2"], {"done"})


@pytest.mark.rule("L8")
async def test_a_run_needs_no_agent_where_its_idea_says_all(tmp_path: Path) -> None:
    plan: Json = {"type": "plan", "plan": [], "output": 5}
    (tmp_path / "idea.json").write_text(json.dumps({"context": [plan], "schema": {}}), encoding="utf-8")
    result = await kept.start(tmp_path / "run.json", Idea.load(tmp_path / "idea.json"))
    assert (result.output, (await kept.resume(tmp_path / "run.json")).output) == (5, 5)


@pytest.mark.rule("L6", "L8")
async def test_decisions_are_made_on_a_run_that_waits_and_it_is_resumed(tmp_path: Path) -> None:
    from actum import HOLD
    from actum.protocol.tool import Tool

    async def hold(_call: Call, _tool: Tool, _context: Context) -> Any:
        return HOLD

    doubled: list[int] = []
    path = tmp_path / "one.json"
    await kept.start(path, idea(*CALLS, output="†calls.1"), Agent(None, tools=tools(doubled), approve=hold))
    (waits,) = kept.waiting(path)
    assert (kept.listed(tmp_path)[0].state, kept.listed(tmp_path)[0].calls) == ("waiting", (waits,))
    with pytest.raises(errors.IdeaError, match=r"no call waits for a decision at '7\.7'; waiting: "):
        kept.approve(path, "7.7")
    with pytest.raises(errors.IdeaError, match="doesn't take that"):
        kept.approve(path, waits.of, parameters={"n": "x"})
    assert kept.approve(path, waits.of, parameters={"n": 5}) == [waits]
    assert (kept.waiting(path), kept.listed(tmp_path)[0].state, doubled) == ([], "unfinished", [])
    result = await kept.resume(path, lambda _: Agent(None, tools=tools(doubled)))
    assert (result.output, doubled) == (20, [5, 10])


@pytest.mark.rule("L6")
async def test_a_denial_has_its_reason(tmp_path: Path) -> None:
    from actum import HOLD
    from actum.protocol.tool import Tool

    async def hold(_call: Call, _tool: Tool, _context: Context) -> Any:
        return HOLD

    path = tmp_path / "one.json"
    await kept.start(path, idea(CALLS[0], output="†calls.0"), Agent(None, tools=tools(), approve=hold))
    kept.deny(path, reason="too dear")
    with pytest.raises(errors.ActumError, match="too dear"):
        await kept.resume(path, Agent(None, tools=tools()))


@pytest.mark.rule("C7")
async def test_a_gate_is_opened_with_a_value(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    agent = Agent(None, tools=tools())
    gated = idea({"_tool": "double", "n": "†state.approvals.n"}, output="†calls.0")
    assert (await kept.start(path, gated, agent)).output is None
    (summary,) = kept.listed(tmp_path)
    assert (summary.state, summary.gates) == ("waiting", ("†state.approvals.n",))
    with pytest.raises(errors.IdeaError, match="gate"):
        kept.open_gate(path, "†state.n", 4)
    kept.open_gate(path, "†state.approvals.n", 4)
    assert (await kept.resume(path, agent)).output == 8


ANSWERS: list[Json] = [
    {"calls": [{"_tool": "double", "n": 1, "_outputPath": "†state.a"}], "output": None},
    {"calls": [], "output": "†state.a"},
]


async def kept_run(folder: Path, name: str, answers: list[Json]) -> Path:
    agent = Agent(models.Scripted([dict(answer) for answer in answers]), tools=tools())
    begun = idea(context=[{"type": "input", "mood": "sad"}, {"type": "tool", "tool": {"double": TOOL}}])
    await kept.start(folder / name, begun, agent)
    return folder / name


@pytest.mark.rule("X0", "X5")
async def test_a_run_is_replayed_asked_about_compared_and_forked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actum.app.loading.DEFAULT", tools())
    first = await kept_run(tmp_path, "one.json", ANSWERS)
    replay = await kept.replay(first)
    assert (replay.is_same, replay.output, [request.is_same for request in replay.requests]) == (True, 2, [True, True])
    (origin,) = inspection.why(first, "†state.a")
    assert inspection.why(first, "state.a") == inspection.why(first, "$state.a") == (origin,)
    assert (origin.by, origin.value) == ("code", 2)
    same = await kept_run(tmp_path, "same.json", ANSWERS)
    changed = [{"calls": [{"_tool": "double", "n": 3, "_outputPath": "†state.a"}], "output": None}, ANSWERS[1]]
    other = await kept_run(tmp_path, "other.json", changed)
    texts = [Idea.load(path).text for path in (first, same, other)]
    alike, unlike = inspection.compare(texts[0], texts[1]), inspection.compare(texts[0], texts[2])
    assert isinstance(alike, inspection.Comparison)
    assert isinstance(unlike, inspection.Comparison)
    assert alike.is_same
    differing = [(row.left or row.right) for row in unlike.rows if not row.is_same]
    assert [entry.kind for entry in differing if entry] == ["call", "left", "request", "end"]
    kept.fork(first, tmp_path / "fork.json", at=2, input={"mood": "glad"})
    forked = Idea.load(tmp_path / "fork.json")
    assert (forked.context.data["input"], forked.context.data["state"]) == ({"mood": "glad"}, {"a": 2})
    with pytest.raises(errors.IdeaError, match="made 2 requests: there is no request 3"):
        kept.fork(first, tmp_path / "more.json", at=3)


@pytest.mark.rule("X5")
async def test_a_replay_says_which_request_comes_out_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actum.app.loading.DEFAULT", tools())
    path = await kept_run(tmp_path, "one.json", ANSWERS)
    whole = json.loads(path.read_text(encoding="utf-8"))
    written = next(message for message in whole["context"] if "_call" in message)
    written["state"]["a"] = 3
    path.write_text(json.dumps(whole), encoding="utf-8")
    replay = await kept.replay(path)
    assert ([request.is_same for request in replay.requests], replay.is_same_output) == ([True, False], False)


@pytest.mark.rule("X3")
def test_other_ideas_are_compared_by_what_a_change_breaks() -> None:
    old, new = Idea(context=Context(), schema={"type": "string"}), Idea(context=Context(), schema={})
    change = inspection.compare(old.text, new.text)
    assert isinstance(change, Change)
    assert change.kind == "breaking"


@pytest.mark.rule("P4")
def test_a_plan_has_a_price_before_it_runs() -> None:
    registry = tools()
    registry.register("ask", {"_delegate": "helper.json"})
    registry.register("judge", {"properties": {"_output": {}}})
    calls = [*CALLS, {"_tool": "ask"}, {"_tool": "judge", "_output": None}, {"_tool": "nobody"}]
    context = idea(*calls).context
    price = inspection.price(context, offered(context, registry), Limits(calls=4))
    assert (price.calls, price.steps, price.requests, price.is_over_calls) == (5, 2, 2, True)
    assert price.makers == {"code": 2, "the delegate helper.json": 1, "model": 1, "nobody": 1}


@pytest.mark.rule("D4", "S3")
async def test_what_a_call_would_see_is_known_before_it_is_made() -> None:
    registry = tools()
    registry.register("help", {"_delegate": "Helper", "_scopes": ["state.part"]})
    helper: Json = {"context": [{"type": "system", "message": "You help."}], "schema": {}}
    agent = Agent(None, tools=registry, delegates={"Helper": helper})
    context = Context([{"type": "state", "part": 7, "password": "x"}, {"type": "text", "text": "private"}])
    isolation = await inspection.isolation(agent, context, "help")
    assert (isolation.delegate, isolation.crossing) == ("Helper", ({"type": "state", "part": 7},))
    assert isolation.own == ({"type": "system", "message": "You help."},)
    assert isolation.hidden == (
        inspection.Hidden(kind="state", names=("password",)),
        inspection.Hidden(kind="text", count=1),
    )
    with pytest.raises(errors.UnknownTool):
        await inspection.isolation(agent, context, "hlep")
    with pytest.raises(errors.InvalidParameters, match="no instance '①'"):
        await inspection.isolation(agent, context, "help", "①")


def test_the_graph_of_a_plan_says_who_reads_what_from_whom() -> None:
    calls = [{"_tool": "double", "n": "†input.n", "_outputPath": "†state.a"}, {"_tool": "double", "n": "†state.a"}]
    graph = inspection.graph_of(idea(*calls, output="†calls.1").context)
    names = [(vertex.kind, vertex.name) for vertex in graph.vertices]
    assert names == [("call", "double"), ("call", "double"), ("value", "†input.n"), ("output", "output")]
    assert [(edge.source, edge.target, edge.reference) for edge in graph.edges] == [
        (2, 0, "†input.n"),
        (0, 1, "†state.a"),
        (1, 3, "†calls.1"),
    ]
    assert graph.layers() == [[2], [0], [1], [3]]


def test_the_graph_of_a_cycle_ends() -> None:
    calls = [{"_tool": "double", "n": "†calls.1"}, {"_tool": "double", "n": "†calls.0"}]
    assert inspection.graph_of(idea(*calls).context).layers() == [[0], [1]]

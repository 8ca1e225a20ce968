"""The benchmark is held to what it says: its server, its scenarios, its limits and its report. No peer is needed."""

from __future__ import annotations

import asyncio
import copy
import json
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import bench.__main__ as command
import pytest
from bench.answering import compact
from bench.chart import Bar, Panel, chart
from bench.derived import derived, plan, program, reads
from bench.environments import ROOT
from bench.first_instruction import delays, quantile
from bench.latency import NONE, REALISTIC, Latency, pieces, tokens
from bench.limit import closings, in_code, in_rounds, limit, one_answer
from bench.measures import middle
from bench.runners.actum import prepare
from bench.runners.timing import Task
from bench.scenarios import ALL, BY_NAME, Scenario
from bench.server import Server
from bench.timeline import Strip, lanes, timeline

from actum.schema.json import JsonObject as Json
from bench import first_instruction, report

every_scenario = pytest.mark.parametrize("scenario", ALL, ids=lambda scenario: scenario.name)


async def once(scenario: Scenario, variant: str, latency: Latency = NONE) -> tuple[Any, list[Any], Task]:
    """One run of Actum against the server: what it came to, the server's log and what the tools noted."""
    async with Server(latency).running() as server:
        task = Task(scenario=scenario, url=f"{server.url}/actum/{scenario.name}/v1", variant=variant)
        output = await prepare(task)()
        return output, server.log, task


@every_scenario
@pytest.mark.parametrize("variant", ["", "compatible", "+events"])
async def test_every_scenario_comes_out_as_it_was_worked_out(scenario: Scenario, variant: str) -> None:
    output, log, task = await once(scenario, variant)
    assert output.model_dump() == derived(scenario).output
    helpers = len(scenario.calls) if scenario.helper is not None else 0
    assert len(log) == 1 + helpers, "one request, and one for each sub-agent"
    assert len(task.marks) == len(scenario.calls) - helpers
    if variant:
        assert len({event["number"] for event in task.events if event["depth"] == 0}) in (0, len(scenario.calls))


@every_scenario
def test_rounds_and_programs_say_the_same_as_the_plan(scenario: Scenario) -> None:
    work = derived(scenario)
    assert [call for calls in work.rounds for call in calls].__len__() == len(scenario.calls)
    for number, (_, parameters) in enumerate(scenario.calls):
        assert all(work.levels[read] < work.levels[number] for read in reads(parameters))
    assert "†" not in json.dumps(work.rounds, ensure_ascii=False)
    assert asyncio.run(_ran(scenario)) == work.output


async def _ran(scenario: Scenario) -> Any:
    """The output of a scenario's program, run as code mode would."""
    import ast

    async def called(name: str, **parameters: Any) -> Any:
        return scenario.result((name, parameters))

    names = {name for name, _ in scenario.calls}
    space: Json = {name: partial(called, name) for name in names}
    tree = ast.parse(program(scenario))
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    tree.body.append(ast.Assign(targets=[ast.Name(id="came_to", ctx=ast.Store())], value=last.value))
    code = compile(ast.fix_missing_locations(tree), "program", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    running = eval(code, space)
    if running is not None:
        await running
    return space["came_to"]


@every_scenario
def test_the_limit_is_the_shortest_of_the_ways_and_each_is_at_least_what_must_be_said(scenario: Scenario) -> None:
    ways = [way(scenario, REALISTIC) for way in (one_answer, in_rounds, in_code)]
    assert limit(scenario, REALISTIC) == min(ways)
    answer_seconds = REALISTIC.answer(tokens(compact(derived(scenario).output)))
    assert all(way >= answer_seconds - REALISTIC.token for way in ways)
    assert limit(scenario, NONE) <= scenario.seconds * len(derived(scenario).rounds)


@every_scenario
def test_a_call_is_closed_by_the_token_that_holds_its_brace(scenario: Scenario) -> None:
    text = compact(plan(scenario))
    cut = pieces(text)
    assert "".join(cut) == text
    for number, closing in enumerate(closings(text)):
        before, up_to = "".join(cut[:closing]), "".join(cut[: closing + 1])
        opened = [call["_tool"] for call in plan(scenario)["calls"]][: number + 1]
        assert before.count('"_tool"') <= len(opened) <= up_to.count('"_tool"')
        assert "}" in cut[closing]


async def test_tokens_come_when_the_latency_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server sleeps until moments that it counts from the request's arrival, so that no delays add up."""
    from bench import server as module

    now = [0.0]
    waited: list[float] = []

    async def until(moment: float) -> None:
        waited.append(moment)
        now[0] = max(now[0], moment) + 0.001  # each wake is late

    monkeypatch.setattr(module, "_until", until)
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    latency = Latency(first=0.3, token=0.005)
    _, (entry,), _ = await once(BY_NAME["chain-4"], "", latency)
    assert waited == pytest.approx([entry.arrived + latency.at(index) for index in range(entry.completion)])


@pytest.mark.parametrize("stream", [True, False])
async def test_the_server_speaks_the_wire_that_openais_sdk_reads(stream: bool) -> None:
    openai = pytest.importorskip("openai")
    scenario = BY_NAME["fan-out-8"]
    tool: Json = {"type": "function", "function": {"name": "forecast", "parameters": {}}}
    async with Server().running() as server:
        client = openai.AsyncOpenAI(base_url=f"{server.url}/sdk/{scenario.name}/v1", api_key="x")
        request: Json = {"model": "m", "messages": [{"role": "user", "content": scenario.job}], "tools": [tool]}
        answer = await client.chat.completions.create(**request, stream=stream)
        if stream:
            calls: dict[int, str] = {}
            async for chunk in answer:
                for choice in chunk.choices:
                    for call in choice.delta.tool_calls or ():
                        calls[call.index] = calls.get(call.index, "") + (call.function.arguments or "")
            arguments = list(calls.values())
        else:
            arguments = [call.function.arguments for call in answer.choices[0].message.tool_calls]
        await client.close()
    assert [json.loads(text) for text in arguments] == [parameters for _, parameters in derived(scenario).rounds[0]]


def test_the_first_instruction_is_told_from_the_token_with_the_brace() -> None:
    closed_at = {(1, "Oslo"): 1.0, (1, "Rome"): 2.0, (2, "Oslo"): 3.0}
    assert delays({(1, "Rome"): 2.5, (1, "Oslo"): 1.25}, closed_at) == [0.25, 0.5]
    assert [quantile([1.0, 2.0, 3.0, 4.0], share) for share in (0.5, 0.99)] == [3.0, 4.0]


@pytest.mark.parametrize("way", first_instruction.WAYS)
def test_every_call_of_every_stream_begins_by_the_clock_of_a_core_of_its_own(way: str) -> None:
    lags = first_instruction.late(way, users=2, token=0.02)
    assert len(lags) == 2 * 2 * 8  # two users, whose first and last runs don't count, and eight calls in each
    assert 0 <= lags[0] <= lags[-1] < 0.3  # none waits for the next token of its answer


def test_of_what_was_taken_several_times_each_number_is_the_median() -> None:
    assert middle([{"a": {"b": n}, "c": -n} for n in (3.0, 1.0, 2.0)]) == {"a": {"b": 2.0}, "c": -2.0}


RESULTS = ROOT / "docs" / "performance" / "results.json"


@pytest.fixture
def results() -> report.Results:
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def test_the_page_and_its_pictures_are_what_the_results_come_to(results: report.Results) -> None:
    for written in command.PAGES:
        page = written.read_text(encoding="utf-8")
        assert page == report.filled(page, report.tables(results))
    for name, drawn in report.charts(results).items():
        assert (RESULTS.parent / name).read_text(encoding="utf-8") == drawn
        ET.fromstring(drawn)


def test_a_goal_is_judged_by_what_was_measured(results: report.Results) -> None:
    worse = copy.deepcopy(results)
    ours = worse["figures"]["chain-4"]["actum"]
    ours["cpu"]["median"] *= 100
    ours["wall"]["median"] *= 2
    ours["requests"], ours["prompt"] = 2, 10**6
    worse["core"] = {"import": 1.0, "count": 13}
    worse["scheduling"]["ratio"], worse["first"]["5 ms"]["actum"]["p99"] = 6.0, 0.003
    worse["scheduling"]["growth"]["tools offered"]["ratio"] = 100.0
    failed = {goal.promise.split(" ")[0] for goal in report.goals(worse) if not goal.is_met}
    assert len([goal for goal in report.goals(worse) if not goal.is_met]) >= 9, failed
    assert "**not met**" in report.tables(worse)["goals"]
    best = copy.deepcopy(results)
    for name, systems in best["figures"].items():
        systems["actum"]["cpu"]["median"] = 0.0
        systems["actum"]["wall"]["median"] = best["limits"][name]
    best["scheduling"]["ratio"] = best["core"]["import"] = 0.0
    for ways in best["first"].values():
        ways["actum"]["p99"] = 0.001
    for growth in best["scheduling"]["growth"].values():
        growth["ratio"] = 10.0
    assert all(goal.is_met for goal in report.goals(best) if "token" not in goal.promise)


PARTS = ("scheduling", "core", "figures", "installs", "concurrent", "strips", "first")
WITH_FIGURES = ("figures", "limits", "versions", "latency")


@pytest.mark.parametrize("count", range(len(PARTS)))
def test_a_report_is_made_of_what_was_measured_until_it_was_cut(results: report.Results, count: int) -> None:
    missing = {*PARTS[count:], *(WITH_FIGURES if "figures" in PARTS[count:] else ())}
    cut = {key: value for key, value in results.items() if key not in missing}
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    tables = report.tables(cut)
    assert "*Not measured.*" in report.filled(page, tables)
    whole = report.tables(results)
    assert {name for name, text in tables.items() if text == whole[name]} >= set(PARTS[:count]) & whole.keys()
    for drawn in report.charts(cut).values():
        ET.fromstring(drawn)


def measuring(monkeypatch: pytest.MonkeyPatch, folder: Path, *arguments: str) -> None:
    """`python -m bench` with these arguments, in a folder of its own."""
    monkeypatch.setattr(command, "ROOT", folder)
    monkeypatch.setattr(sys, "argv", ["bench", *arguments])
    command.main()


def test_what_was_measured_is_kept_when_it_is_cut(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, results: report.Results, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(*_: object, quick: bool) -> Iterator[report.Results]:
        assert quick
        yield {key: results[key] for key in ("date", "machine", "systems", "ours", "scheduling", "core")}
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "python_of", Path)
    monkeypatch.setattr(command, "_measured", measured)
    with pytest.raises(SystemExit, match=r"cut; what was measured is kept: out/bench/results\.json; .*--report"):
        measuring(monkeypatch, tmp_path, "--quick")
    measuring(monkeypatch, tmp_path, "--quick", "--report")
    assert "a trivial call" in capsys.readouterr().out
    assert "a trivial call" in (tmp_path / "out" / "bench" / "results.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--quick"], r"make the environments first: python -m bench\.environments actum-core"),
        (["--systems", "actum,actun"], "there is no 'actun'; there are actum, "),
        (["--scenarios", "chain"], "there is no 'chain'; there are one-shot"),
        (["--report"], "nothing was measured yet"),
    ],
)
def test_what_is_missing_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str], message: str
) -> None:
    def only_ours(name: str) -> Path | None:
        return Path("python") if name == "actum" else None

    monkeypatch.setattr(command, "python_of", only_ours)
    with pytest.raises(SystemExit, match=message):
        measuring(monkeypatch, tmp_path, *arguments)


def test_a_page_with_an_unknown_table_is_an_error() -> None:
    with pytest.raises(KeyError):
        report.filled("<!-- bench:nothing -->\n<!-- /bench -->", {})


def test_pictures_are_well_formed_whatever_is_written_in_them() -> None:
    name = '<&"> \u202e'
    drawn = chart(name, [Panel(title=name, bars=[Bar(name=name, value=0.0, is_ours=True)], limit=1.0)], str, name)
    strip = Strip(name=name, total=1.0, requests=[(0.0, 0.1, 0.9)], calls=[(name, 0.2, 0.4), (name, 0.3, 0.5)])
    for picture in (drawn, timeline(name, [strip], 0.5, name)):
        root = ET.fromstring(picture)
        assert name in "".join(root.itertext())


def test_calls_that_overlap_are_drawn_in_lanes() -> None:
    assert lanes([("a", 0.0, 1.0), ("b", 0.5, 2.0), ("c", 1.0, 1.5), ("d", 3.0, 4.0)]) == [0, 1, 0, 0]

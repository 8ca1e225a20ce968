"""What an operator looks at: lines of JSON, figures for Prometheus, and commands for what has failed."""

from __future__ import annotations

import asyncio
import re
import sys
import urllib.request
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from actum import HOLD, Runs, errors, models
from actum import Worker as RunsWorker
from actum.cli.dispatch import run_command
from actum.ideas.course import Course, noted_rows
from actum.runs.metrics import Metrics
from actum.schema.json import decode

from .desks import Desk, Json, chain, plan, serving, until

DESK = '''
from actum import tools


@tools.tool
async def step(of: str) -> str:
    """Take a step."""
    return f"{of}."


@tools.tool
async def fail(of: str) -> str:
    """Fail."""
    raise ValueError(of)
'''


class Worker:
    """A worker that the command has started, with the lines of its stderr."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[str] = []

    async def read(self) -> None:
        """Read what it prints."""
        assert self.process.stderr is not None
        while line := await self.process.stderr.readline():
            self.lines.append(line.decode().rstrip())

    async def line_with(self, part: str) -> str:
        """The first line that contains `part`."""

        async def is_said() -> bool:
            return any(part in line for line in self.lines)

        await until(is_said)
        return next(line for line in self.lines if part in line)

    @property
    def events(self) -> list[Json]:
        parsed: list[Any] = [decode(line) for line in self.lines if line.startswith("{")]
        return parsed


@asynccontextmanager
async def working(place: str, folder: Path, *options: str) -> AsyncGenerator[Worker]:
    (folder / "desk.py").write_text(DESK, encoding="utf-8")
    words = ("--store", place, "--activities", "desk.py", "--drain", "1", *options)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "actum", "worker", *words, stderr=asyncio.subprocess.PIPE, cwd=folder
    )
    worker = Worker(process)
    reading = asyncio.create_task(worker.read())
    try:
        yield worker
    finally:
        process.terminate()
        await asyncio.wait_for(process.wait(), 60)
        await reading


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
async def test_what_becomes_of_runs_is_told_as_lines_of_json_and_to_commands(place: str, tmp_path: Path) -> None:
    output = tmp_path / "heard"
    hook = f'failed={sys.executable} -c \'import sys; open("{output}", "a").write(sys.stdin.read())\''
    async with Runs(place) as runs, working(place, tmp_path, "--log", "json", "--on", hook) as worker:
        good = await runs.submit(plan({"_tool": "step", "of": "a"}, output="†calls.0"), id="good", tenant="acme")
        assert (await good.result(timeout=60)).output == "a."
        bad = await runs.submit(plan({"_tool": "fail", "of": "a"}, output="†calls.0"), id="bad")
        with pytest.raises(errors.RunEnded) as failed:
            await bad.result(timeout=60)

        async def is_heard() -> bool:
            return output.exists() and output.read_text().endswith("\n")

        await until(is_heard)
    events = [(event["event"], event["run"], event.get("state")) for event in worker.events if "run" in event]
    assert events[:3] == [("begun", "good", None), ("ended", "good", "done"), ("begun", "bad", None)]
    (line,) = [decode(text) for text in output.read_text().splitlines()]
    assert isinstance(line, dict)
    assert (line["run"], line["state"], line["code"]) == ("bad", "failed", failed.value.code)
    assert {"time", "level", "message", "idea", "tenant", "queue", "worker", "seconds"} <= line.keys()


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
async def test_figures_are_told_to_prometheus(place: str, tmp_path: Path) -> None:
    parser = pytest.importorskip("prometheus_client.parser")
    async with Runs(place) as runs:
        await runs.submit(plan({"_tool": "step", "of": "a"}), id="waits", tag="crm", tenant="acme")
        async with working(place, tmp_path, "--metrics-port", "0") as worker:
            await (await runs.submit(plan({"_tool": "step", "of": "a"}, output="†calls.0"))).result(timeout=60)
            url = (await worker.line_with("/metrics")).partition("figures: ")[2]

            def read() -> dict[str, dict[tuple[str, ...], float]]:
                with urllib.request.urlopen(url, timeout=30) as answer:
                    text = answer.read().decode()
                samples: dict[str, dict[tuple[str, ...], float]] = {}
                for family in parser.text_string_to_metric_families(text):
                    for sample in family.samples:
                        samples.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
                return samples

            async def is_counted() -> bool:
                figures = await asyncio.to_thread(read)
                return bool(figures.get("actum_runs")) and bool(figures.get("actum_runs_ended_total"))

            await until(is_counted)
            figures = await asyncio.to_thread(read)
    waits = "queued", "crm", "acme"  # by the names of the labels: state, tag, tenant
    assert figures["actum_runs"][waits] == 1.0
    assert figures["actum_runs_oldest_seconds"][waits] > 0
    assert figures["actum_runs_ended_total"] == {("", "done", ""): 1.0}
    assert figures["actum_runs_cut_total"] == {(): 0.0}
    assert figures["actum_runs_calls_total"] == {(): 1.0}
    assert figures["actum_worker_waits"] == {(): 0.0}
    assert figures["actum_worker_lease_seconds"][()] == 4.0
    assert "actum_worker_round_trip_seconds" in figures


async def test_how_long_calls_and_requests_take_is_counted_as_their_record_tells_it() -> None:
    model = models.Scripted(
        ['{"calls": [{"_tool": "step", "of": "a"}, {"_tool": "wait", "of": "b"}], "output": "†calls.1"}']
    )
    desk = Desk()
    async with Runs(":memory:") as runs, serving(runs, desk.agent(model=model)) as worker:
        metrics = Metrics(worker, runs.store)
        async with metrics.collecting():
            run = await runs.submit({"context": [{"type": "text", "text": "go"}], "schema": {"type": "string"}})
            await asyncio.wait_for(desk.begun.wait(), 60)
            desk.hold.set()
            assert (await run.result(timeout=60)).output == "b…"
        course = Course.of({"course": noted_rows([], [entry.data async for entry in run.follow()])})
    durations = {
        figure.name: figure.values[()]
        for figure in metrics.figures()
        if figure.name.endswith("_seconds") and () in figure.values
    }
    for name, rows in ("call", course.calls.values()), ("request", course.requests):
        spans = [row.ended - row.began for row in rows if row.began is not None and row.ended is not None]
        assert len(spans) == {"call": 2, "request": 1}[name]
        assert durations[f"actum_runs_{name}_seconds"] == pytest.approx(sum(spans))
    assert durations["actum_runs_request_seconds"] > 0


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
async def test_runs_that_wait_are_counted_by_what_they_wait_for(place: str) -> None:
    def held(call: object, tool: object, context: object) -> object:
        del call, tool, context
        return HOLD

    async with Runs(place) as runs, serving(runs, Desk().agent(approve=held), patience=60) as worker:
        await (await runs.submit(chain(1), tenant="acme")).result(timeout=60)
        lacking = await runs.submit(chain(1, "gone"))

        async def is_missing() -> bool:
            return bool((await lacking.refresh()).missing)

        await until(is_missing)
        metrics = Metrics(worker, runs.store)
        await metrics.look()
        (waiting,) = [figure for figure in metrics.figures() if figure.name == "actum_runs_waiting"]
    assert waiting.values == {("decision", "acme"): 1.0, ("worker", ""): 1.0}


def test_the_dashboard_asks_for_figures_that_are_told() -> None:
    dashboard: Any = decode((Path(__file__).parents[2] / "deploy" / "grafana.json").read_text(encoding="utf-8"))
    runs = Runs(":memory:")
    offered = {
        f"{figure.name}_total" if figure.is_counter else figure.name
        for figure in Metrics(RunsWorker(runs), runs.store).figures()
    }
    used = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"actum_\w+", target["expr"])
    }
    assert used
    assert used <= offered


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("failed", "--on takes key=value"),
        ("lost=x", "for 'lost'"),
        ("failed=", "takes a command"),
        ("done='x", "is not a command"),
    ],
)
def test_a_command_that_cannot_be_read_is_told(
    given: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["worker", "--store", str(tmp_path / "runs.db"), "--on", given]) == 2
    assert words in capsys.readouterr().err

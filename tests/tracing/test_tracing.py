"""Traces as the application sees them: whose child is what, however runs interleave, end or go on; and who listens."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from pydantic import BaseModel, field_serializer

from actum import Agent, Context, Idea, Limits, Tools, Trace, errors, inspection, kept, models
from actum.execution.record.recovery import recover_context
from actum.schema.json import JsonObject as Json
from actum.tracing import otel

from .spans import Spans, attribute, id_of, linked, trace_of


def tools_of(*functions: Any) -> Tools:
    tools = Tools()
    for function in functions:
        tools.tool(function)
    return tools


async def echo(of: str) -> str:
    """Say it again."""
    await asyncio.sleep(0)
    return of


def calling(*texts: str, output: Any = "done") -> Json:
    return {"calls": [{"_tool": "echo", "of": text} for text in texts], "output": output}


# Who is whose child


async def test_runs_that_interleave_have_a_tree_each() -> None:
    spans = Spans()

    async def run_task(number: int) -> None:
        model = models.Scripted([calling(str(number), "x", output="†calls.1")], chunk=5)
        with spans.own.start_as_current_span(f"task {number}"):
            await Agent(model, tools=tools_of(echo), trace=spans.trace).run("go", str)

    await asyncio.gather(*(run_task(number) for number in range(20)))
    for number in range(20):
        (task,) = spans.named(f"task {number}")
        tree = [span for span in spans.all if trace_of(span) == trace_of(task)]
        above = sorted((span.name, *spans.above(span)) for span in tree if span is not task)
        within = (task.name, "invoke_agent")
        assert above == [
            ("chat scripted", *within),
            ("execute_tool echo", *within),
            ("execute_tool echo", *within),
            ("invoke_agent", task.name),
        ]


class Traced:
    """A model whose library traces what it sends, as instrumented HTTP clients do."""

    name = "own:model"

    def __init__(self, spans: Spans) -> None:
        self._spans = spans

    async def stream(self, request: models.ModelRequest) -> AsyncGenerator[str]:
        with self._spans.own.start_as_current_span("POST"):
            await asyncio.sleep(0)
        for piece in ('{"calls": [{"_tool": "echo", "of": "a"}], ', '"output": "†calls.0"}'):
            yield piece
            await asyncio.sleep(0)


async def test_what_a_model_traces_hangs_below_its_request_and_calls_that_start_meanwhile_below_the_run() -> None:
    spans = Spans()
    await Agent(Traced(spans), tools=tools_of(echo), trace=spans.trace).run("go", str)
    assert spans.above(spans.named("POST")[0]) == ["invoke_agent", "chat model"]
    assert spans.above(spans.named("execute_tool echo")[0]) == ["invoke_agent"]
    assert attribute(spans.named("chat model")[0], "gen_ai.provider.name") == "own"


async def test_calls_outside_a_run_hang_below_what_is_current() -> None:
    spans = Spans()
    tools = tools_of(echo)
    calls = [{"_tool": "echo", "of": "a"}, {"_tool": "echo", "_each": ["b", "c"], "of": "†each"}]
    with spans.own.start_as_current_span("work"):
        assert await tools.all(calls, trace=spans.trace) == ["a", ["b", "c"]]
    above = sorted(spans.above(span) for span in spans.named("execute_tool echo"))
    assert above == [["work"], ["work"], ["work", "execute_tool echo"], ["work", "execute_tool echo"]]
    assert len({attribute(span, "actum.run.id") for span in spans.named("execute_tool echo")}) == 1


async def test_a_reader_is_a_request_below_its_call() -> None:
    spans = Spans()
    read: Json = {"calls": [{"_tool": "read", "of": "†calls.1", "ask": "What?", "as": "text"}, *calling("a")["calls"]]}
    model = models.Scripted([{**read, "output": "†calls.0"}, {"calls": [], "output": "an a"}])
    await Agent(model, tools=tools_of(echo), trace=spans.trace).run("go", str)
    inner = [span for span in spans.named("chat scripted") if len(spans.above(span)) > 1]
    assert [spans.above(span) for span in inner] == [["invoke_agent", "execute_tool read"]]
    assert attribute(inner[0], "actum.run.id") == attribute(spans.named("invoke_agent")[0], "actum.run.id")


async def test_a_call_that_a_corrected_answer_repeats_has_one_span_and_the_request_that_began_it() -> None:
    spans = Spans()
    broken = '{"calls": [{"_tool": "echo", "of": "a"}, '
    model = models.Scripted([broken, calling("a", output="†calls.0")])
    await Agent(model, tools=tools_of(echo), trace=spans.trace).run("go", str)
    first, second = spans.named("chat scripted")
    assert [attribute(request, "error.type") for request in (first, second)] == ["solution", None]
    (call,) = spans.named("execute_tool echo")
    assert linked(call) == [id_of(first)]


async def test_a_call_that_is_refused_has_a_span_that_tells_no_name_which_a_model_has_made_up() -> None:
    spans = Spans()
    refused: list[Any] = [{"_tool": "echo", "of": 1}, {"_tool": "echoo", "of": "a"}, 5]
    model = models.Scripted([{"calls": refused, "output": None}, calling()])
    await Agent(model, tools=tools_of(echo), trace=spans.trace).run("go", str)
    failed = [span for span in spans.all if span.name.startswith("execute_tool")]
    assert [(span.name, attribute(span, "error.type")) for span in failed] == [
        ("execute_tool echo", "invalid_parameters"),
        ("execute_tool", "unknown_tool"),
        ("execute_tool", "invalid_parameters"),
    ]


async def test_every_span_has_ended_when_a_run_is_cancelled() -> None:
    spans = Spans()
    begun = asyncio.Event()

    async def wait(of: str) -> str:
        """Wait for good."""
        begun.set()
        await asyncio.Event().wait()
        return of

    model = models.Scripted([{"calls": [{"_tool": "wait", "_each": ["a", "b"], "of": "†each"}], "output": None}])
    async with Agent(model, tools=tools_of(wait), trace=spans.trace).stream("go", str):
        await begun.wait()
    outcomes = [
        (span.name, attribute(span, "actum.outcome"), span.status.is_ok or span.status.is_unset) for span in spans.all
    ]
    cut = [("execute_tool wait", "cancelled", True)] * 3
    assert sorted(outcomes, key=str) == sorted(
        [("chat scripted", None, True), *cut, ("invoke_agent", "cancelled", True)], key=str
    )


# Going on


@pytest.mark.rule("L8")
async def test_a_run_that_was_killed_is_linked_to_from_its_record() -> None:
    spans = Spans()
    begun, entries = asyncio.Event(), list[Json]()

    async def wait(of: str) -> str:
        """Wait, the first time."""
        if not begun.is_set():
            begun.set()
            await asyncio.Event().wait()
        return of

    agent = Agent(
        models.Scripted([{"calls": [{"_tool": "wait", "of": "a"}], "output": "†calls.0"}]),
        tools=tools_of(wait),
        trace=spans.trace,
    )
    async with agent.stream("go", str, record=entries.append):
        await begun.wait()
        killed = list(entries)  # what a process that was killed now had written
    context = recover_context(killed)
    assert (await agent.resume(context, str)).output == "a"
    first, second = spans.named("invoke_agent")
    assert linked(second) == [id_of(first)]


@pytest.mark.rule("L8")
async def test_a_run_links_to_the_last_of_those_that_its_context_went_through() -> None:
    spans = Spans()
    answers = [calling("a", output=None), calling("b", output=None), calling()]
    agent = Agent(models.Scripted(answers), tools=tools_of(echo), trace=spans.trace, limits=Limits(requests=1))
    context: Any = "go"
    for _ in range(2):
        with pytest.raises(errors.LimitExceeded) as caught:
            await agent.run(context, str)
        context = caught.value.result.context.messages
    assert (await agent.run(context, str)).output == "done"
    first, second, third = spans.named("invoke_agent")
    assert [linked(span) for span in (first, second, third)] == [[], [id_of(first)], [id_of(second)]]


async def test_a_traceparent_that_is_none_links_to_nothing() -> None:
    spans = Spans()
    context: list[Json] = [{"type": "text", "text": "go", "_trace": "00-zz"}, {"type": "state", "a": 1, "_trace": 7}]
    await Agent(models.Scripted([calling()]), tools=tools_of(echo), trace=spans.trace).run(context, str)
    assert linked(spans.named("invoke_agent")[0]) == []


@pytest.mark.rule("M7", "S6")
async def test_models_and_delegates_see_nothing_of_being_traced() -> None:
    def make() -> tuple[models.Scripted, Tools]:
        tools = tools_of(echo)
        inner: Json = {"context": [{"type": "text", "text": "Sum up."}], "schema": {"type": "string"}}
        tools.register("sum", {"_delegate": "inner", "_scopes": {"const": ["state", "result"]}, "properties": {}})
        write = {"_tool": "echo", "of": "a", "_outputPath": "†state.a"}
        answers: list[Any] = [
            {"calls": [write, {"_tool": "sum"}], "output": None},
            {"calls": [], "output": "summed"},
            {"calls": [], "output": "†results.0"},
        ]
        agents.append(Agent(model := models.Scripted(answers), tools=tools, delegates={"inner": inner}))
        return model, tools

    agents: list[Agent] = []
    spans = Spans(content=True)
    sent: list[Any] = []
    for tracing in (False, spans.trace):
        model, _ = make()
        agents[-1].trace = tracing
        await agents[-1].run([{"type": "state", "a": ""}, {"type": "text", "text": "go"}], str)
        sent.append([(request.messages, request.schema) for request in model.requests])
    assert sent[0] == sent[1]
    assert spans.named("invoke_agent inner")


async def test_an_untraced_run_leaves_no_mark() -> None:
    run = await Agent(models.Scripted([calling("a")]), tools=tools_of(echo), trace=False).run("go", str)
    assert "_trace" not in str(run.context.messages)


async def test_traced_runs_that_are_the_same_compare_as_the_same(tmp_path: Path) -> None:
    spans = Spans()
    idea = Idea(context=Context([{"type": "text", "text": "go"}]), schema={"type": "string"})
    for name in ("one.json", "two.json"):
        agent = Agent(models.Scripted([calling("a", output="†calls.0")]), tools=tools_of(echo), trace=spans.trace)
        await kept.start(tmp_path / name, idea, agent)
    first, second = (Idea.load(tmp_path / name).text for name in ("one.json", "two.json"))
    compared = inspection.compare(first, second)
    assert isinstance(compared, inspection.Comparison)
    assert compared.is_same
    assert "_trace" in (tmp_path / "one.json").read_text(encoding="utf-8")


# Measurements


async def test_what_a_call_waits_for_approval_is_no_time_of_the_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(otel.time, "perf_counter", lambda: now[0])

    async def work(of: str) -> str:
        """Work for two seconds."""
        now[0] += 2
        return of

    def approve(*_: Any) -> bool:
        now[0] += 3_600
        return True

    reader = InMemoryMetricReader()
    tracing = Trace(meter_provider=MeterProvider([reader], shutdown_on_exit=False))
    model = models.Scripted([{"calls": [{"_tool": "work", "of": "a"}], "output": "†calls.0"}])
    await Agent(model, tools=tools_of(work), approve=approve, trace=tracing).run("go", str)
    data: Any = reader.get_metrics_data()
    metrics = data.resource_metrics[0].scope_metrics[0].metrics
    seconds = {metric.name: metric.data.data_points[0].sum for metric in metrics}
    assert seconds["gen_ai.execute_tool.duration"] == 2
    assert seconds["gen_ai.invoke_agent.duration"] == 3_602


# Who listens


def alone(code: str) -> str:
    """What a program prints in a new process."""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


_RUN = """
import asyncio, sys
from actum import Agent, models
def run(**more):
    model = models.Scripted([{"calls": [], "output": "done"}])
    return asyncio.run(Agent(model, **more).run("go", str)).output
"""


def test_nothing_is_imported_where_nobody_listens() -> None:
    assert (
        alone(f"{_RUN}print(run(), *[one for one in sys.modules if 'opentelemetry' in one or '.otel' in one])")
        == "done"
    )


def test_a_run_needs_no_opentelemetry() -> None:
    assert alone(f"import sys; sys.modules['opentelemetry'] = None{_RUN}print(run())") == "done"


def test_a_provider_of_the_process_is_enough_and_false_turns_tracing_off() -> None:
    code = f"""{_RUN}
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
seen = InMemorySpanExporter()
run()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(seen))
trace.set_tracer_provider(provider)
run()
print(*[span.name for span in seen.get_finished_spans()], sep=", ")
seen.clear()
run(trace=False)
print(len(seen.get_finished_spans()))
"""
    assert alone(code).splitlines() == ["chat scripted, invoke_agent", "0"]


def test_the_environment_asks_for_content(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
    for value, content, expected in (("", None, False), ("span_only", None, True), ("true", False, False)):
        monkeypatch.setenv(name, value)
        spans = Spans()
        tracing = Trace(content=content, tracer_provider=spans.trace.tracer_provider)
        Agent(models.Scripted([calling()]), tools=Tools(), trace=tracing).run_sync("go", str)
        assert ("gen_ai.input.messages" in (spans.named("chat scripted")[0].attributes or {})) is expected


class Odd(BaseModel):
    """An output that can't be written down again."""

    number: int

    @field_serializer("number")
    def _no(self, _: int) -> int:
        raise ValueError("no")


async def test_an_output_of_which_no_json_can_be_made_is_told_by_its_type() -> None:
    spans = Spans(content=True)
    run = await Agent(models.Scripted([calling(output={"number": 1})]), trace=spans.trace).run("go", Odd)
    assert run.output.number == 1
    (span,) = spans.named("invoke_agent")
    assert json.loads(attribute(span, "gen_ai.output.messages"))[0]["parts"] == [{"type": "text", "content": "Odd"}]


# Records of logging


async def test_records_say_what_run_and_place_they_are_about_and_no_value(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "actum")

    def fail(of: str) -> str:
        """Fail."""
        raise ValueError(of)

    failing: Json = {"calls": [{"_tool": "echo", "of": "secret"}, {"_tool": "fail", "of": "†calls.0"}], "output": None}
    answers = [failing, calling(output="secret")]
    await Agent(models.Scripted(answers), tools=tools_of(echo, fail)).run("the secret", str)
    records: list[Any] = [record for record in caplog.records if record.name == "actum"]
    assert len({record.run for record in records}) == 1
    ended = [(record.place, record.getMessage()) for record in records if record.levelno == logging.INFO]
    assert ended == [
        ("0", "request to scripted answered, tokens: None in, None out"),
        ("0.0", "call echo is done"),
        ("0.1", "call fail failed: activity"),
        ("1", "request to scripted answered, tokens: None in, None out"),
        ("", "run is done"),
    ]
    assert "secret" not in str([record.__dict__ for record in records])
    assert sum(record.levelno == logging.DEBUG for record in records) == len(ended)


async def test_records_and_spans_go_together(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "actum")
    spans = Spans()
    current: list[int] = []

    async def look(of: str) -> str:
        """Look at what is current."""
        current.append(trace.get_current_span().get_span_context().span_id)
        return of

    model = models.Scripted([{"calls": [{"_tool": "look", "of": "a"}], "output": "†calls.0"}])
    run = await Agent(model, tools=tools_of(look), trace=spans.trace).run("go", str)
    assert current == [id_of(spans.named("execute_tool look")[0])]
    assert [record.getMessage() for record in caplog.records if record.name == "actum"][-1] == "run is done"
    assert "_trace" in str(run.context.messages)

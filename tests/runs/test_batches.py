"""Requests of runs in a provider's batches: no slot is held, and nothing is paid twice (wires.md, W35-W38)."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Runs, Tools, errors, models
from actum.cli.dispatch import run_command

from .. import warm
from ..effort import EFFORT, cases
from .batch_provider import PROVIDERS, BatchProvider, Json, batch_provider
from .desks import PATIENCE, serving, until

pytestmark = pytest.mark.usefixtures("hosted_libraries")
DAY = timedelta(hours=24)
LEASE = 1.5
"""Seconds. A busy machine that is late with its signs loses what it carries."""
IDEA: Json = {
    "context": [
        {"type": "system", "message": "Say the number."},
        {"type": "input", "schema": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    ],
    "schema": {"type": "integer"},
}


def _number(body: Json) -> int:
    match = re.search(r'"n": ?(\d+)', json.dumps(body).replace("\\", ""))
    assert match is not None
    return int(match[1])


def _answer(body: Json) -> str:
    return json.dumps({"calls": [], "output": _number(body)})


def _model(provider: BatchProvider) -> Any:
    return models.load(provider.model, base_url=provider.url, api_key="key")


@pytest.mark.rule("W35", "W36")
async def test_runs_are_answered_by_batches_and_hold_no_slot(place: str) -> None:
    with batch_provider(_answer) as provider:
        async with (
            Runs(place) as runs,
            serving(runs, Agent(_model(provider), tools=[]), lease=LEASE, queues={"runs": 2}),
        ):
            submitted = [await runs.submit(IDEA, input={"n": n}, id=f"r{n}", batch=DAY) for n in range(12)]
            results = [await run.result(timeout=PATIENCE) for run in submitted]
    assert [result.output for result in results] == [*range(12)]
    assert set(provider.paid.values()) == {1}
    assert len(provider.batches) < 12
    usage = results[0].usage
    assert (usage.requests, usage.input_tokens, usage.output_tokens) == (1, 10, 5)


@pytest.mark.rule("W35", "W38")
@pytest.mark.parametrize("kind", ["anthropic", "google"])
async def test_other_providers_answer_in_batches_and_are_asked_again_what_they_had_no_room_for(kind: str) -> None:
    with batch_provider(_answer, kind, refuses=1) as provider:
        async with Runs(":memory:") as runs, serving(runs, Agent(_model(provider), tools=[]), lease=LEASE):
            submitted = [await runs.submit(IDEA, input={"n": n}, batch=DAY) for n in range(3)]
            results = [await run.result(timeout=PATIENCE) for run in submitted]
    assert [result.output for result in results] == [0, 1, 2]
    assert (set(provider.paid.values()), provider.cancelled) == ({1}, [])
    usage = results[0].usage
    assert (usage.requests, usage.input_tokens, usage.output_tokens) == (1, 10, 5)


@pytest.mark.rule("W37")
@pytest.mark.parametrize("kind", PROVIDERS)
async def test_a_batch_whose_making_was_never_told_is_found_at_the_provider(kind: str) -> None:
    lost: list[str] = []

    def around(what: str, when: str) -> None:
        if when == "after" and provider.batches and not lost:
            lost.append(what)
            raise ConnectionError

    with batch_provider(_answer, kind, around=around) as provider:
        async with Runs(":memory:") as runs, serving(runs, Agent(_model(provider), tools=[]), lease=LEASE):
            run = await runs.submit(IDEA, input={"n": 3}, batch=DAY)
            if kind != "openai":  # they say what was asked in a batch once it has ended
                await until(lambda: _true(bool(lost)))
                provider.handle("GET", _PLACES[kind] + next(iter(provider.batches)), b"", {})
                provider.handle("GET", _PLACES[kind] + next(iter(provider.batches)), b"", {})
            assert (await run.result(timeout=PATIENCE)).output == 3
    assert (len(provider.batches), set(provider.paid.values())) == (1, {1})


_PLACES = {"anthropic": "/v1/messages/batches/", "google": "/v1beta/batches/"}


async def _true(value: bool) -> bool:
    return value


async def _rows(runs: Runs, table: str) -> int:
    return (await runs.store.database.single(f"SELECT count(*) FROM {table}"))[0][0]


@pytest.mark.rule("W38")
@pytest.mark.parametrize("kind", PROVIDERS)
async def test_a_batch_that_nobody_waits_for_any_more_is_cancelled_with_its_provider(kind: str) -> None:
    with batch_provider(_answer, kind, looks=10**9) as provider:
        async with Runs(":memory:") as runs, serving(runs, Agent(_model(provider), tools=[]), lease=LEASE) as worker:
            submitted = [await runs.submit(IDEA, input={"n": n}, batch=DAY) for n in range(2)]

            async def waits() -> bool:
                rows = [await run.refresh() for run in submitted]
                return all(row.state == "waiting" for row in rows) and bool(provider.batches) and not worker.carried

            await until(waits)
            assert (await submitted[0].refresh()).waiting == (f"a batch of {provider.model}",)
            for run in submitted:
                await run.cancel()
                assert (await run.refresh()).state == "cancelled"

            async def over() -> bool:
                return await _rows(runs, "actum_batches") == 0

            await until(over)
            assert sorted(provider.cancelled) == sorted(provider.batches)
            assert await runs.sweep({"cancelled": 0}) == 2
            assert await _rows(runs, "actum_asked") == 0
    assert provider.paid == {}


async def test_a_batch_that_others_wait_for_goes_on_without_the_run_that_was_cancelled() -> None:
    with batch_provider(_answer, looks=3) as provider:
        async with Runs(":memory:") as runs, serving(runs, Agent(_model(provider), tools=[]), lease=LEASE):
            submitted = [await runs.submit(IDEA, input={"n": n}, batch=DAY) for n in range(2)]

            async def sent() -> bool:
                return bool(provider.batches)

            await until(sent)
            await submitted[0].cancel()
            assert (await submitted[1].result(timeout=PATIENCE)).output == 1
            assert (await submitted[0].refresh()).state == "cancelled"
            assert await runs.sweep({"cancelled": 0, "done": 0}) == 2
            assert await _rows(runs, "actum_asked") == 0
    assert provider.cancelled == []


async def test_what_was_cancelled_before_it_was_sent_is_never_sent() -> None:
    with batch_provider(_answer) as provider:
        async with Runs(":memory:") as runs, serving(runs, Agent(_model(provider), tools=[]), lease=4):
            run = await runs.submit(IDEA, input={"n": 1}, batch=DAY)

            async def is_waiting() -> bool:
                return (await run.refresh()).state == "waiting"

            await until(is_waiting)
            await run.cancel()
            other = await runs.submit(IDEA, input={"n": 2}, batch=DAY)
            assert (await other.result(timeout=PATIENCE)).output == 2
    assert [_number(json.loads(body)) for body in provider.paid] == [2]


async def test_a_batch_that_fails_as_a_whole_ends_its_runs() -> None:
    with batch_provider(_answer, "google", looks=10**9) as provider:
        async with Runs(":memory:") as runs, serving(runs, Agent(_model(provider), tools=[]), lease=LEASE):
            run = await runs.submit(IDEA, input={"n": 1}, batch=DAY)

            async def sent() -> bool:
                return bool(provider.batches)

            await until(sent)
            for batch in provider.batches.values():
                batch["state"] = "BATCH_STATE_CANCELLED"  # somebody has, in the provider's console
            with pytest.raises(errors.RunEnded, match="cancel"):
                await run.result(timeout=PATIENCE)


@pytest.mark.rule("W36")
async def test_a_chain_of_requests_is_a_chain_of_batches() -> None:
    done: list[int] = []

    def double(n: int) -> int:
        """Twice the number."""
        done.append(n)
        return 2 * n

    def answer(body: Json) -> str:
        if "¶result" in json.dumps(body, ensure_ascii=False).partition("Say the number.")[2]:
            return json.dumps({"calls": [], "output": "†results.0"})
        return json.dumps({"calls": [{"_tool": "double", "n": _number(body)}], "output": None})

    with batch_provider(answer) as provider:
        async with Runs(":memory:") as runs, serving(runs, Agent(_model(provider), tools=[double]), lease=LEASE):
            result = await (await runs.submit(IDEA, input={"n": 4}, batch=DAY)).result(timeout=PATIENCE)
    assert (result.output, done, len(provider.batches)) == (8, [4], 2)
    assert result.usage.requests == 2


@pytest.mark.rule("W38")
async def test_what_a_provider_has_not_come_to_is_asked_again_and_then_given_up() -> None:
    for refuses, output in ((2, 7), (99, None)):
        with batch_provider(_answer, refuses=refuses) as provider:
            async with Runs(":memory:") as runs, serving(runs, Agent(_model(provider), tools=[]), lease=LEASE):
                run = await runs.submit(IDEA, input={"n": 7}, batch=DAY)
                if output is not None:
                    assert (await run.result(timeout=PATIENCE)).output == output
                else:
                    with pytest.raises(errors.RunEnded, match="expired"):
                        await run.result(timeout=PATIENCE)
        assert len(provider.batches) == 3


@pytest.mark.rule("W35")
async def test_a_batch_is_refused_where_the_model_takes_none(tmp_path: Path) -> None:
    async with Runs(":memory:") as runs:
        with pytest.raises(errors.RunError, match="takes no batches"):
            await runs.submit({**IDEA, "config": {"model": "openai:gpt-5.2"}}, input={"n": 1}, batch=DAY)
        with pytest.raises(errors.RunError, match="timedelta"):
            await runs.submit(IDEA, input={"n": 1}, batch=24)  # type: ignore[arg-type]
        async with serving(runs, Agent(models.Scripted(["{}"]), tools=Tools())):
            run = await runs.submit(IDEA, input={"n": 1}, batch=DAY)
            with pytest.raises(errors.RunError, match="takes no batches"):
                await run.result(timeout=PATIENCE)


WORKER = (
    "actum.app.agent",
    "actum.runs.worker",
    "actum.runs.runs",
    "actum.models.clients",
    "pydantic_ai.models.openai",
)
KILLS = [
    (what, when)
    for what in ("POST /v1/files", "POST /v1/batches", "GET /v1/batches/", "GET /v1/files/")
    for when in ("before", "after")
]


@pytest.mark.rule("W36", "W37")
async def test_a_worker_that_is_killed_at_any_point_pays_nothing_twice(tmp_path: Path) -> None:
    """At each request that it makes, once before it has an effect and once before it is answered."""
    place, count = f"sqlite:///{tmp_path / 'runs.db'}", cases(little=40, more=100, most=400)
    left = KILLS[3:5] if EFFORT == "little" else KILLS[:]
    workers: list[Any] = []

    def start() -> None:
        command = [sys.executable, str(Path(__file__).parent / "batch_worker.py"), place, provider.url, "0.6"]
        with (tmp_path / "log").open("ab") as log, Path("/dev/null").open("rb") as nothing:
            workers.append(warm.popen(command, streams=(nothing.fileno(), log.fileno(), log.fileno()), imported=WORKER))

    def around(what: str, when: str) -> None:
        if left and what.startswith(left[0][0]) and when == left[0][1]:
            del left[0]
            workers[-1].kill()
            workers[-1].wait()
            start()

    with batch_provider(_answer, around=around) as provider:
        async with Runs(place) as runs:
            submitted = [await runs.submit(IDEA, input={"n": n}, id=f"r{n}", batch=DAY) for n in range(count)]
            start()
            try:
                outputs = [(await run.result(timeout=10 * PATIENCE)).output for run in submitted]
                for n in range(count, count + 10 * len(left)):  # more batches, for what is left to be killed at
                    if not left:
                        break
                    run = await runs.submit(IDEA, input={"n": n}, id=f"r{n}", batch=DAY)
                    outputs.append((await run.result(timeout=PATIENCE)).output)
            finally:
                workers[-1].kill()
                workers[-1].wait()
    assert left == []
    assert outputs == [*range(len(outputs))]
    assert set(provider.paid.values()) == {1}


@pytest.mark.rule("W35")
def test_the_command_submits_for_a_batch(tmp_path: Path, capsys: Any) -> None:
    idea = tmp_path / "number.json"
    idea.write_text(json.dumps({**IDEA, "config": {"model": "openai-responses:gpt-5.2"}}))
    place = str(tmp_path / "runs.db")
    assert run_command(["submit", str(idea), "-i", "n=1", "--store", place, "--id", "one", "--batch", "24h"]) == 0

    async def kept() -> Any:
        async with Runs(place) as runs:
            return await runs.store.source("one")

    assert asyncio.run(kept()).idea["config"]["batch"] == 86400.0
    assert run_command(["submit", str(idea), "-i", "n=1", "--store", place, "--batch", "soon"]) == 2
    assert "24h" in capsys.readouterr().err

"""Recording a model and replaying the file: byte for byte, in the same deltas."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from actum import models
from actum.errors import ModelError
from actum.models import Model, ModelRequest, Reasoning, Recording, Replay, Scripted, Usage


def request(text: str = "Go.", schema: Any = None, **more: Any) -> ModelRequest:
    messages = ({"role": "system", "content": "S"}, {"role": "user", "content": text})
    return ModelRequest(messages=messages, schema=schema or {"type": "object"}, **more)  # type: ignore[arg-type]


async def ask(model: Model, model_request: ModelRequest | None = None) -> list[str | Reasoning | Usage]:
    return [item async for item in model.stream(model_request or request())]


async def refused(model: Model, model_request: ModelRequest | None = None) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(model, model_request)
    return caught.value


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers.jsonl"


async def test_a_replay_gives_the_same_deltas_and_usage(path: Path) -> None:
    usage = Usage(requests=1, input_tokens=5, usd=0.25)
    recording = Recording(Scripted(['{"a": "†ü\u2028\\n"}  ', {"b": 1}], chunk=3, usage=usage), path)
    first = await ask(recording, request("one", settings={"temperature": 0.5, "odd": object()}, mode="loose"))
    second = await ask(recording, request("two"))
    replay = models.load(f"replay:{path}")
    assert await ask(replay, request("two")) == second
    assert await ask(replay, request("one")) == first
    assert first[0] == '{"a'


async def test_the_kth_identical_request_gets_the_kth_recording(path: Path) -> None:
    recording = Recording(Scripted(["1", "2", "3"]), path)
    for _ in range(3):
        await ask(recording)
    replay = Replay(path)
    assert [(await ask(replay))[0] for _ in range(3)] == ["1", "2", "3"]
    assert "recorded 3 times" in str(await refused(replay))


async def test_a_failed_answer_is_recorded_as_far_as_it_came_and_fails_again(path: Path) -> None:
    async def breaking(_: ModelRequest) -> Any:
        yield '{"a":'
        raise ModelError("cut", code="model_connection", status=502, retry_after=1.5, retryable=True)

    recording = Recording(Scripted([breaking]), path)
    await refused(recording)
    stream = Replay(path).stream(request())
    assert await anext(stream) == '{"a":'
    with pytest.raises(ModelError) as caught:
        await anext(stream)
    error = caught.value
    assert (str(error), error.code, error.status, error.retry_after, error.retryable) == (
        "cut",
        "model_connection",
        502,
        1.5,
        True,
    )


async def test_an_answer_that_was_left_is_recorded_as_far_as_it_was_read(path: Path) -> None:
    stream = Recording(Scripted(["abc"], chunk=1), path).stream(request())
    assert await anext(stream) == "a"
    await stream.aclose()
    assert lines(path)[0]["deltas"] == ["a"]
    stream = Replay(path).stream(request())
    assert await anext(stream) == "a"
    with pytest.raises(ModelError, match="left before its end"):
        await anext(stream)


async def test_a_split_surrogate_pair_survives(path: Path) -> None:
    async def split(_: ModelRequest) -> Any:
        yield '"\ud83d'
        yield '\ude00"'

    await ask(Recording(Scripted([split]), path))
    assert (await ask(Replay(path)))[:2] == ['"\ud83d', '\ude00"']


async def test_lines_of_concurrent_requests_stay_whole(path: Path) -> None:
    recording = Recording(Scripted([{"n": n, "pad": "x" * 20_000} for n in range(20)], chunk=1000), path)
    await asyncio.gather(*(ask(recording, request(str(n))) for n in range(20)))
    records = lines(path)
    assert sorted(int(record["request"]["messages"][1]["content"]) for record in records) == list(range(20))
    replay = Replay(path)
    results = await asyncio.gather(*(ask(replay, request(str(n))) for n in range(20)))
    for n, items in enumerate(results):
        assert json.loads("".join(item for item in items if isinstance(item, str)))["n"] == n


async def test_headers_are_not_recorded(path: Path) -> None:
    settings = {"headers": {"authorization": "secret"}, "seed": 3}
    await ask(Recording(Scripted(["1"]), path), request(settings=settings))
    assert lines(path)[0]["request"]["settings"] == {"seed": 3}


async def test_a_file_is_added_to_and_never_written_over(path: Path) -> None:
    for answer in ("1", "2"):
        await ask(Recording(Scripted([answer]), path))
    assert len(lines(path)) == 2


async def test_an_unknown_request_says_how_it_differs(path: Path) -> None:
    assert "answers.jsonl can't be read" in str(await refused(Replay(path)))
    write(path, b"")
    assert "request number 1: nothing is recorded" in str(await refused(Replay(path)))
    await ask(Recording(Scripted(["1"]), path))
    replay = Replay(path)
    assert "differs from the nearest recorded one at message 1" in str(await refused(replay, request("other")))
    assert "with another schema" in str(await refused(replay, request(schema={"type": "array"})))
    longer = ModelRequest(
        messages=(*request().messages, {"role": "user", "content": "more"}), schema={"type": "object"}
    )
    error = await refused(replay, longer)
    assert "request number 3" in str(error)
    assert "at message 2" in str(error)
    assert error.code == "model_recording"


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "3",
        "{}",
        '{"request": {}}',
        '{"request": {"messages": [], "schema": {}}, "deltas": [1]}',
        '{"request": {"messages": [], "schema": {}}, "deltas": null}',
        '{"request": {"messages": [], "schema": {}}, "deltas": [], "usage": {"odd": 1}}',
        '{"request": {"messages": [], "schema": {}}, "deltas": [], "error": {"odd": 1}}',
        "[" * 100_000,
    ],
)
async def test_a_malformed_line_is_named(path: Path, line: str) -> None:
    await ask(Recording(Scripted(["1"]), path))
    write(path, f"{json.dumps(lines(path)[0])}\n\n{line}\n".encode())
    error = await refused(Replay(path))
    assert error.code == "model_recording"
    assert f"{path}, line 3" in str(error)


async def test_what_is_not_text_is_no_recording(path: Path) -> None:
    write(path, b"\xff\xfe\x00")
    assert "can't be read" in str(await refused(Replay(path)))


async def test_a_recording_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    error = await refused(Recording(Scripted(["{}"]), tmp_path / "no" / "such" / "folder.jsonl"))
    assert error.code == "model_recording"
    assert "can't be written" in str(error)


async def test_it_is_known_as_the_model_it_records(path: Path) -> None:
    recording = Recording(Scripted([], name="judge", dialect="D"), path)
    assert (recording.name, recording.dialect) == ("judge", "D")
    await recording.aclose()

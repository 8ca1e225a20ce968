"""The files of a kept run: what can't be read again isn't written, and a log belongs to the run that began it (L8)."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from actum import HOLD, Agent, Call, Context, Idea, Tools, errors, kept, models
from actum.execution.record.recovery import recover_context
from actum.runs.kept_run import KeptRun
from actum.schema.json import JsonObject as Json
from actum.schema.json import decode

from .keeping import KILLED, ONCE, deep_tools, drained, killed_run, nested

pytestmark = pytest.mark.rule("L8")


# What can't be read again isn't written


DEEP_ECHO: Json = {"context": [{"type": "input"}, {"type": "plan", "plan": [], "output": "†input.what"}], "schema": {}}
_PATH = "†state" + ".a" * 130
DEEP: dict[str, tuple[list[Json], Any]] = {
    "an output path of 130 segments": ([{**ONCE, "_outputPath": _PATH}], 1),
    "a result at a path": ([{"_tool": "deep", "depth": 90, "_outputPath": "†state" + ".a" * 60}], 1),
    "a result": ([{"_tool": "deep", "depth": 127}], 1),
    "a call": ([{"_tool": "deep", "depth": nested(126)}], 1),
    "a latent result": ([{"_tool": "say", "_output": nested(125)}], 1),
    "a value of values": ([{"_tool": "deep", "depth": 90}, {"_value": nested(50, "†calls.0")}], 1),
    "an output of values": ([{"_tool": "deep", "depth": 90}], {"b": nested(50, "†calls.0"), "c": 1}),
    "an output": ([], nested(127)),
    "a chain of values": ([ONCE, *({"_value": [f"†calls.{n}"]} for n in range(140))], "†calls.140"),
    "items": ([{"_tool": "deep", "_each": [1, 126], "depth": "†each"}], 1),
    "half a character in an error": ([{"_tool": "break"}], 1),
    "what crosses to a delegate": (
        [{"_tool": "deep", "depth": 95}, {"_tool": "down", "what": nested(50, "†calls.0")}],
        1,
    ),
    "what waits to be approved": (
        [
            {"_tool": "deep", "depth": 95},
            {"_tool": "down", "what": nested(50, "†calls.0"), "_reasoningForCall": "held"},
        ],
        1,
    ),
}


async def hold_delegates(call: Call, *_: object) -> Any:
    return HOLD if call.tool == "down" else True


@pytest.mark.parametrize("name", DEEP)
@pytest.mark.parametrize("way", ["model", "plan"])
async def test_whatever_a_run_writes_can_be_read_again(tmp_path: Path, name: str, way: str) -> None:
    calls, output = DEEP[name]
    answer: Json = {"calls": calls, "output": output, "meta": {}}
    end: Json = {"calls": [], "output": 2, "meta": {}}
    plan: Json = {"type": "plan", "plan": calls, "output": output}
    given = [{"type": "text", "text": "go"}] if way == "model" else [plan]
    model = models.Scripted([answer, end, end, end]) if way == "model" else None
    path, entries = tmp_path / "run.json", list[Json]()
    agent = Agent(model, tools=deep_tools(), delegates={"Inner": DEEP_ECHO}, approve=hold_delegates)
    with suppress(errors.ActumError):
        await kept.start(path, Idea(context=Context(given), schema={}), agent)
    if path.exists():  # else the run was refused before it began: not even what was given could be read again
        kept.waiting(path)
    stream = agent.stream(given, record=lambda entry: entries.append(decode_object(json.dumps(entry))))
    with suppress(errors.ActumError):
        await drained(stream)
    for count in {len(entries) // 3, len(entries) // 2, len(entries) - 1, len(entries)}:
        Context(recover_context(entries[: max(0, count)]))
    Context(decode_list(json.dumps(stream.context.messages)))


def decode_object(text: str) -> Json:
    value = decode(text)
    assert isinstance(value, dict)
    return value


def decode_list(text: str) -> list[Json]:
    value = decode(text)
    assert isinstance(value, list)
    return value


def test_an_idea_that_could_not_be_read_again_is_not_saved(tmp_path: Path) -> None:
    path = tmp_path / "idea.json"
    Idea(context=Context("go"), schema={}).save(path)
    before = path.read_bytes()
    for schema in (nested(128), nested(3_000), {"title": "\ud83d"}):
        with pytest.raises(errors.IdeaError, match="could not be read again"):
            Idea(context=Context("go"), schema=schema).save(path)
    assert path.read_bytes() == before


# A log belongs to its run


def test_of_a_deleted_run_nothing_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    killed_run(path, "old")
    path.unlink()
    model = models.Scripted([{"calls": [], "output": "new", "meta": {}}])
    result = asyncio.run(kept.start(path, Idea(context=Context("other"), schema={}), Agent(model, tools=deep_tools())))
    assert (result.output, "old" in path.read_text(encoding="utf-8")) == ("new", False)
    assert len(model.requests) == 1
    assert "old" not in (tmp_path / "r.json.log").read_text(encoding="utf-8")


def test_a_log_is_never_taken_for_that_of_another_run(tmp_path: Path) -> None:
    path, other = tmp_path / "r.json", tmp_path / "other.json"
    killed_run(path, "old")
    killed_run(other, "new")
    content = other.read_bytes()
    path.write_bytes(content)
    with pytest.raises(errors.IdeaError, match="what another run has done"):
        asyncio.run(kept.resume(path, Agent(None, tools=deep_tools())))
    assert path.read_bytes() == content
    (tmp_path / "r.json.log").rename(tmp_path / "away")
    (tmp_path / "other.json.log").rename(tmp_path / "r.json.log")
    assert asyncio.run(kept.resume(path, Agent(None, tools=deep_tools()))).output == "new"


def test_a_log_from_before_the_first_release_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    killed_run(path, "old")
    log = tmp_path / "r.json.log"
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()[1:]]
    log.write_text("".join(json.dumps({k: v for k, v in line.items() if k != "crc"}) + "\n" for line in lines))
    left = log.read_bytes()
    with pytest.raises(errors.IdeaError, match=r"line 1 has no checksum: it was changed, or is from before 0\.1\.0"):
        asyncio.run(kept.resume(path, Agent(None, tools=deep_tools())))
    assert log.read_bytes() == left


def test_a_run_is_read_once_nobody_else_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    model = models.Scripted([{"calls": KILLED, "output": "†calls.0", "meta": {}}])
    agent = Agent(model, tools=deep_tools())
    with KeptRun.begin(path, Idea(context=Context("go"), schema={}), Context("go")) as run:
        waits = KeptRun.open(path)
        asyncio.run(run.carry_on(agent))
    with waits:
        assert waits.idea.context[-1] == {"type": "output", "output": 1, "_of": "0"}


def test_a_log_that_is_no_file_is_refused_at_once_and_no_other_file_is_touched(tmp_path: Path) -> None:
    target, idea = tmp_path / "precious.txt", Idea(context=Context("go"), schema={})
    target.write_text("mine", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe.json.log")
    (tmp_path / "folder.json.log").mkdir()
    (tmp_path / "link.json.log").symlink_to(target)
    for name in ("pipe", "folder", "link"):
        path = tmp_path / f"{name}.json"
        with pytest.raises(errors.IdeaError, match="log"):
            asyncio.run(kept.start(path, idea, Agent(models.Scripted([]), tools=Tools())))
        assert not path.exists()
    assert target.read_text(encoding="utf-8") == "mine"


def test_a_run_is_kept_in_a_file(tmp_path: Path) -> None:
    killed_run(tmp_path / "r.json", "old")
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(errors.IdeaError, match="kept in a regular file"):
        kept.waiting(tmp_path / "pipe.json")
    assert [summary.path.name for summary in kept.listed(tmp_path)] == ["r.json"]
    (tmp_path / "link.json").symlink_to(tmp_path / "r.json")
    result = asyncio.run(kept.resume(tmp_path / "link.json", Agent(None, tools=deep_tools())))
    assert result.output == "old", "its log is beside the file, not beside the link"


def test_what_follows_a_torn_line_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    killed_run(path, "old")
    log = tmp_path / "r.json.log"
    whole = log.read_bytes()
    for end in (30, len(whole) // 2):  # within the first line, and behind it
        log.write_bytes(whole[:end])
        with KeptRun.open(path) as run:
            run.log({"at": [], "began": run.idea.context.messages, "run": "r"})
            run.log({"at": [], "message": {"type": "text", "text": "more"}})
        with KeptRun.open(path) as run:
            assert run.idea.context[-1] == {"type": "text", "text": "more"}

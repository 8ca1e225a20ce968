"""Records that are cut, killed, mixed up and damaged: never wrong, never an untyped error, never a hang (L8)."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from actum import HOLD, Agent, Call, Context, Idea, Limits, Tools, errors, inspection, kept, models
from actum.app.kept_run import KeptRun, carry_on
from actum.app.stream import Stream
from actum.execution.record.recovery import recovered
from actum.schema.json import decode, is_list, is_object

from ..effort import trials
from .charging import agent_of, charged, fails_of

pytestmark = pytest.mark.rule("L8")
Json = dict[str, Any]
BEFORE_PLACES = Path(__file__).parents[1] / "fixtures" / "before_places"
Log = list[tuple[str, Any]]
"""What happened in a run, in order: entries of its record, and charges that were made or have failed."""


async def drained(stream: Stream) -> None:
    """Let a run go on to its end."""
    async with stream:
        async for _ in stream:
            pass


# Cut between any two entries of the record


async def run_of(seed: int, context: Any, fails: Counter[int], log: Log, turn: int) -> Any:
    """Run the case from a context on, its record and its effects noted in one log."""
    agent = agent_of(seed, fails, lambda what, n: log.append((what, n)), turn)
    stream = agent.stream(context, record=lambda entry: log.append(("entry", json.loads(json.dumps(entry)))))
    async with asyncio.timeout(60):
        await drained(stream)
    return stream.result.output


def entries_of(log: Log) -> list[Json]:
    return [entry for what, entry in log if what == "entry"]


def known(log: Log) -> set[int]:
    """The numbers of which a record holds the results."""
    left = [entry["message"] for entry in entries_of(log) if "message" in entry and "_call" in entry["message"]]
    return charged([{key: value for key, value in message.items() if key != "_call"} for message in left])


async def check_cut(seed: int, log: Log, at: int, turn: int) -> Log:
    """Kill the run of a log behind one of its entries, let it go on, and check that nothing known is made again."""
    before = log[:at]
    fails = fails_of(seed) - Counter(n for what, n in before if what == "failed")
    after: Log = []
    output = await run_of(seed, recovered(entries_of(before)), fails, after, turn)
    made = Counter(n for what, n in after if what == "made")
    assert output == "end"
    assert not set(made) & known(before), f"made again although recorded, cut {at} of {seed}"
    assert max(made.values(), default=0) < 2, f"made twice, cut {at} of {seed}"
    return after


@pytest.mark.parametrize("seed", range(trials(300, least=15)))
async def test_a_run_that_is_cut_between_any_two_entries_makes_nothing_again_that_is_recorded(seed: int) -> None:
    log: Log = []
    assert await run_of(seed, "go", fails_of(seed), log, 0) == "end"
    assert max(Counter(n for what, n in log if what == "made").values()) == 1
    cuts = [at for at, (what, _) in enumerate(log, 1) if what == "entry"]
    again: Log = []
    for turn, at in enumerate(cuts, 1):
        again = await check_cut(seed, log, at, turn)
    assert again


# Killed, with what it had done in files


KILLS = trials(150, least=6)
AT_ONCE = 2
"""How many kills a test tries, so that none takes long."""


def killed_at(folder: Path, way: str, seed: int, event: int) -> tuple[Log, bool]:
    """Kill a process with -9 at an event of its run; what happened until then, and whether it was killed at all."""
    command = [sys.executable, "-m", "tests.hostile.charging", way, str(seed), str(event), str(folder)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, -9), done.stderr
    log: Log = []
    for line in (folder / "ran.txt").read_text(encoding="utf-8").splitlines():
        what, number = line.split()
        log.append((what, int(number)))
    told = (folder / ("run.json.log" if way == "kept" else "entries.jsonl")).read_bytes().splitlines()
    log += [("entry", entry) for entry in map(json.loads, told) if "log" not in entry and "tick" not in entry]
    return log, done.returncode == -9


@pytest.mark.parametrize("way", ["kept", "stream"])
@pytest.mark.parametrize("part", range(KILLS // AT_ONCE))
def test_a_run_that_is_killed_makes_nothing_again_that_is_recorded(tmp_path: Path, way: str, part: int) -> None:
    picked = random.Random(f"{way} {part}")
    for number in range(AT_ONCE):
        folder, seed = tmp_path / str(number), part * AT_ONCE + number
        folder.mkdir()
        before, was_killed = killed_at(folder, way, seed, picked.randint(1, 45))
        if not was_killed:
            continue
        fails = fails_of(seed) - Counter(n for what, n in before if what == "failed")
        after: Log = []
        if way == "kept":
            agent = agent_of(seed, fails, lambda what, n, after=after: after.append((what, n)), 1)
            output = asyncio.run(kept.resume(folder / "run.json", agent)).output
        else:
            entries = entries_of(before)
            output = asyncio.run(run_of(seed, recovered(entries) if entries else "go", fails, after, 1))
        made = Counter(n for what, n in after if what == "made")
        assert (output, set(made) & known(before)) == ("end", set())
        assert max(made.values(), default=0) < 2


# What can't be read again isn't written


def nested(depth: int, value: Any = 1) -> Any:
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


def deep_tools() -> Tools:
    tools = Tools()

    @tools.activity("deep")
    async def deep(depth: int) -> Any:
        return nested(depth)

    @tools.activity("break")
    async def break_it() -> None:
        raise ValueError("half a character: \ud83d")

    assert (deep.name, break_it.name) == ("deep", "break")
    tools.register("deep", {"properties": {"depth": {}, "_output": {}}, "required": ["depth"]})
    tools.register("break", {"properties": {"_output": {}}})
    tools.register("say", {"properties": {"_output": {}}})
    tools.register("down", {"properties": {"what": {}, "_output": {}}, "_delegate": "Inner"})
    return tools


DEEP_ECHO: Json = {"context": [{"type": "input"}, {"type": "plan", "plan": [], "output": "†input.what"}], "schema": {}}
ONCE: Json = {"_tool": "deep", "depth": 1}
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
        Context(recovered(entries[: max(0, count)]))
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


KILLED: list[Json] = [{"_tool": "deep", "depth": n} for n in range(3)]


def killed_run(path: Path, said: str) -> None:
    """What a run leaves that is killed before its end is in its file: that file as it began, and a log."""
    idea = Idea(context=Context([{"type": "text", "text": said}]), schema={})
    model = models.Scripted([{"calls": KILLED, "output": None, "meta": {}}, {"calls": [], "output": said, "meta": {}}])
    with KeptRun.begin(path, idea, idea.context) as run:
        asyncio.run(drained(Agent(model, tools=deep_tools()).stream(idea.context, record=run.log)))


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


def test_a_log_without_an_id_is_read_as_older_runs_left_it(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    killed_run(path, "old")
    log = tmp_path / "r.json.log"
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()[1:]]
    log.write_text("".join(json.dumps({k: v for k, v in line.items() if k != "crc"}) + "\n" for line in lines))
    assert asyncio.run(kept.resume(path, Agent(None, tools=deep_tools()))).output == "old"


def test_a_run_is_read_once_nobody_else_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    model = models.Scripted([{"calls": KILLED, "output": "†calls.0", "meta": {}}])
    agent = Agent(model, tools=deep_tools())
    with KeptRun.begin(path, Idea(context=Context("go"), schema={}), Context("go")) as run:
        waits = KeptRun.open(path)
        asyncio.run(carry_on(run, agent, None, None))
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
    with pytest.raises(errors.IdeaError, match="kept in a file"):
        kept.waiting(tmp_path / "pipe.json")
    assert [one.path.name for one in kept.listed(tmp_path)] == ["r.json"]
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


# Damaged at every byte


def use(path: Path) -> None:
    """Go on with a run that may be damaged, if that isn't refused."""
    ends: list[Json] = [{"calls": [], "output": "end", "meta": {}}]
    agent = Agent(models.Scripted(ends, repeat_last=True), tools=deep_tools(), limits=Limits(requests=5))
    with suppress(errors.ActumError):
        asyncio.run(asyncio.wait_for(kept.resume(path, agent), 60))


def test_a_log_that_was_damaged_in_any_byte_is_refused(tmp_path: Path) -> None:
    path, log = tmp_path / "r.json", tmp_path / "r.json.log"
    killed_run(path, "old")
    file, whole, picked = path.read_bytes(), log.read_bytes(), random.Random(7)
    for at in picked.sample(range(len(whole)), trials(len(whole), least=300)):
        changed = picked.choice([whole[at] ^ (1 << picked.randrange(8)), picked.randrange(256)])
        if changed == whole[at]:
            continue
        log.write_bytes(whole[:at] + bytes([changed]) + whole[at + 1 :])
        with pytest.raises(errors.IdeaError), KeptRun.open(path):
            pass
        assert path.read_bytes() == file, "what is refused stays as it was"


def test_a_file_that_was_damaged_in_any_byte_is_never_an_untyped_error(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    for source in ("killed/run.json", "finished/run.json"):
        whole, picked = (BEFORE_PLACES / source).read_bytes(), random.Random(source)
        for at in picked.sample(range(len(whole)), trials(len(whole), least=100)):
            path.write_bytes(whole[:at] + bytes([picked.randrange(256)]) + whole[at + 1 :])
            use(path)
            path.with_name("r.json.log").unlink(missing_ok=True)


# Of odd shapes


ODD: list[Any] = [
    *(None, True, 0, -1, 1.5, 10**12, "", "x", "3.0", "†calls.0", "\0"),
    *([], {}, [5], {"a": 1}, [[]], [{}], {"type": "state"}),
]
Way: TypeAlias = tuple[Any, ...]


def places_in(value: Any, above: Way = ()) -> Iterator[Way]:
    """The path of every part of a JSON value."""
    members = value.items() if is_object(value) else enumerate(value) if is_list(value) else ()
    for key, member in members:
        yield (*above, key)
        yield from places_in(member, (*above, key))


def made_odd(value: Any, picked: random.Random) -> Any:
    """A copy with one of its parts gone, or another one in its place."""
    changed = json.loads(json.dumps(value))
    path = picked.choice(list(places_in(changed)))
    part = changed
    for key in path[:-1]:
        part = part[key]
    if picked.random() < 0.2:
        del part[path[-1]]
    else:
        part[path[-1]] = picked.choice(ODD)
    return changed


def held_run(path: Path) -> None:
    """A kept run of which calls wait, one of them in a delegate."""
    plan: Json = {"type": "plan", "plan": [{"_tool": "down", "what": 1}, ONCE], "output": "†calls.0"}
    inner: Json = {"context": [{"type": "input"}, {"type": "plan", "plan": [ONCE], "output": 1}], "schema": {}}
    inner["context"].insert(0, {"type": "tool", "tool": {"deep": {"properties": {"depth": {}, "_output": {}}}}})

    async def hold(call: Call, *_: object) -> Any:
        return call.tool == "down" or HOLD

    agent = Agent(None, tools=deep_tools(), delegates={"Inner": inner}, approve=hold)
    asyncio.run(kept.start(path, Idea(context=Context([plan]), schema={}), agent))


async def replay(path: Path) -> None:
    await kept.replay(path)


USES: list[Callable[[Path], Any]] = [
    use,
    kept.waiting,
    kept.approve,
    kept.deny,
    lambda path: kept.listed(path.parent),
    lambda path: asyncio.run(replay(path)),
    lambda path: kept.fork(path, path.with_name("fork.json"), at=1),
    lambda path: kept.open_gate(path, "†state.approvals.x", 1),
    inspection.why,
    lambda path: inspection.compare(Idea.load(path).text, Idea.load(path).text),
]


@pytest.mark.parametrize("part", range(10))
def test_a_run_file_of_odd_shape_is_never_an_untyped_error(tmp_path: Path, part: int) -> None:
    path, log = tmp_path / "run.json", tmp_path / "run.json.log"
    held_run(path)
    killed_run(tmp_path / "cut.json", "cut")
    files = [path.read_bytes(), *((BEFORE_PLACES / name / "run.json").read_bytes() for name in ("killed", "finished"))]
    logs = [b"", (BEFORE_PLACES / "killed/run.entries").read_bytes(), (tmp_path / "cut.json.log").read_bytes()]
    (tmp_path / "cut.json").unlink()
    picked = random.Random(part)
    for _ in range(trials(400, least=20)):
        file, told = picked.choice(files), picked.choice(logs)
        if told:
            lines = [json.loads(line) for line in told.splitlines() if line.strip()]
            lines = [{key: value for key, value in line.items() if key != "crc"} for line in lines if "log" not in line]
            at = picked.randrange(len(lines))
            lines[at] = made_odd(lines[at], picked)
            told = "".join(json.dumps(line) + "\n" for line in lines).encode()
        else:
            file = json.dumps(made_odd(json.loads(file), picked)).encode()
        path.write_bytes(file)
        log.write_bytes(told)
        (tmp_path / "fork.json").unlink(missing_ok=True)
        with suppress(errors.ActumError):
            picked.choice(USES)(path)

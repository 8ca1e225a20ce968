"""Records that are cut, killed, mixed up and damaged: never wrong, never an untyped error, never a hang (L8)."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from actum import HOLD, Agent, Call, Config, Context, Idea, Limits, errors, inspection, kept, models
from actum.execution.record.recovery import recover_context
from actum.ideas.course import is_note
from actum.runs.kept_run import KeptRun
from actum.schema.json import JsonObject as Json
from actum.schema.json import is_list, is_object
from actum.sources.run_log import RunLog

from .. import warm
from ..effort import trials
from .charging import agent_of, charged, fails_of
from .keeping import ONCE, deep_tools, drained, killed_run

pytestmark = pytest.mark.rule("L8")
Log = list[tuple[str, Any]]
"""What happened in a run, in order: entries of its record, and charges that were made or have failed."""


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
    output = await run_of(seed, recover_context(entries_of(before)), fails, after, turn)
    counts = Counter(n for what, n in after if what == "made")
    assert output == "end"
    assert not set(counts) & known(before), f"made again although recorded, cut {at} of {seed}"
    assert max(counts.values(), default=0) < 2, f"made twice, cut {at} of {seed}"
    return after


@pytest.mark.parametrize("seed", range(trials(300, least=8)))
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
    done = warm.run(command, cwd=root)
    assert done.returncode in (0, -9), done.stderr
    log: Log = []
    for line in (folder / "ran.txt").read_text(encoding="utf-8").splitlines():
        what, number = line.split()
        log.append((what, int(number)))
    lines = (folder / ("run.json.log" if way == "kept" else "entries.jsonl")).read_bytes().splitlines()
    log += [("entry", entry) for entry in map(json.loads, lines) if "log" not in entry and not is_note(entry)]
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
            output = asyncio.run(run_of(seed, recover_context(entries) if entries else "go", fails, after, 1))
        counts = Counter(n for what, n in after if what == "made")
        assert (output, set(counts) & known(before)) == ("end", set())
        assert max(counts.values(), default=0) < 2


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


def test_a_log_whose_lines_were_mixed_up_is_refused(tmp_path: Path) -> None:
    path, log = tmp_path / "r.json", tmp_path / "r.json.log"
    killed_run(path, "old")
    lines = log.read_bytes().splitlines(keepends=True)
    for at in range(1, len(lines) - 1):
        for changed in ([lines[at + 1], lines[at]], [lines[at], lines[at], lines[at + 1]], [lines[at + 1]]):
            log.write_bytes(b"".join([*lines[:at], *changed, *lines[at + 2 :]]))
            with pytest.raises(errors.IdeaError, match="is damaged"), KeptRun.open(path):
                pass


PARTS = 8


def left_by(folder: Path, name: str) -> tuple[bytes, bytes]:
    """The file and the log that a run has left."""
    path = folder / f"{name}.json"
    killed_run(path, name)
    if name == "finished":
        use(path)
    log = path.with_name(f"{name}.json.log")
    left = path.read_bytes(), log.read_bytes()
    path.unlink()
    log.unlink()
    return left


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", ["killed", "finished"])
def test_a_file_that_was_damaged_in_any_byte_is_never_an_untyped_error(tmp_path: Path, name: str, part: int) -> None:
    path = tmp_path / "r.json"
    whole, picked = left_by(tmp_path, name)[0], random.Random(f"{name} {part}")
    places = range(part, len(whole), PARTS)
    for at in picked.sample(places, trials(len(places), least=10)):
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
    lambda path: inspection.why(path, "†result"),
    lambda path: inspection.why(path, "†results.0"),
    inspection.check,
    lambda path: inspection.account_of(Idea.load(path), "the run"),
    lambda path: inspection.graph_of(Idea.load(path).context, Idea.load(path).solution),
    lambda path: Agent(None, tools=deep_tools()).render(Idea.load(path).context),
    lambda path: Agent(None, tools=deep_tools(), config=Config(sealed=True)).render(Idea.load(path).context),
    lambda path: inspection.compare(Idea.load(path).text, Idea.load(path).text),
]


def write_odd(path: Path, written: bytes, picked: random.Random) -> None:
    """Write the log of a run with one odd entry, sealed as a run seals it."""
    lines = [json.loads(line) for line in written.splitlines()[1:]]
    entries = [{key: value for key, value in line.items() if key != "crc"} for line in lines]
    at = picked.randrange(len(entries))
    entries[at] = made_odd(entries[at], picked)
    with RunLog(path) as log:
        log.run = json.loads(path.read_bytes())["meta"]["run"]["id"]
        for entry in entries:
            log(entry)


@pytest.mark.parametrize("part", range(10))
def test_a_run_file_of_odd_shape_is_never_an_untyped_error(tmp_path: Path, part: int) -> None:
    path, log = tmp_path / "run.json", tmp_path / "run.json.log"
    held_run(path)
    killed, finished = left_by(tmp_path, "killed"), left_by(tmp_path, "finished")
    files = [path.read_bytes(), killed[0], finished[0]]
    picked = random.Random(part)
    for _ in range(trials(400, least=20)):
        log.unlink(missing_ok=True)
        if picked.random() < 0.5:
            path.write_text(json.dumps(made_odd(json.loads(picked.choice(files)), picked)), encoding="utf-8")
        else:
            path.write_bytes(killed[0])
            write_odd(path, killed[1], picked)
        (tmp_path / "fork.json").unlink(missing_ok=True)
        with suppress(errors.ActumError):
            picked.choice(USES)(path)

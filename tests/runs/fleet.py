"""Several workers as processes, and what is done to them; what their runs have come to is judged from the outside."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from actum import Run, Runs
from actum.runs.sql_store import SqlStore
from actum.schema.json import decode

from .. import warm
from .desks import Json, plan, sql, until

WORKER = ("actum.app.agent", "actum.runs.worker", "actum.runs.runs", "procrastinate", "psycopg_pool", "sqlite3")
HERE = Path(__file__).parent
# Two waves and a join: six calls.
IDEA = plan(
    {"_tool": "step", "of": "a"},
    {"_tool": "step", "of": "b"},
    {"_tool": "step", "of": "†calls.0"},
    {"_tool": "step", "of": "†calls.1"},
    {"_tool": "step", "of": "{†calls.2}{†calls.3}"},
    {"_tool": "step", "of": "†calls.4"},
    output="†calls.5",
)
RIGHT = "a..b...."
CALLS = 6
_BETWEEN = 3
"""How many calls end between one disturbance and the next."""
_PATIENCE = 300.0
"""Seconds that a worker has to move: many begin at once on few cores."""


@dataclass
class Fleet:
    """Workers on one place; `drawn` chooses among them."""

    place: str
    sink: Path
    drawn: random.Random
    lease: float = 2.0
    seconds: float = 1.0
    slots: int = 3
    program: str = "program.py"
    ended: int = -_BETWEEN
    """How many calls had ended when one was disturbed last."""
    workers: list[warm.Process] = field(default_factory=list[Any])
    frozen: list[warm.Process] = field(default_factory=list[Any])

    def start(self, count: int = 1, place: str | None = None, package: Path | None = None) -> None:
        """Start workers, with the Actum that lies in a folder, or this one."""
        more = str(self.lease), str(self.seconds), str(self.slots)
        for _ in range(count):
            command = [sys.executable, str(HERE / self.program), place or self.place, str(self.sink), *more]
            with (self.sink / "log").open("ab") as log, Path("/dev/null").open("rb") as nothing:
                streams = nothing.fileno(), log.fileno(), log.fileno()
                if package is None:
                    self.workers.append(warm.popen(command, streams=streams, imported=WORKER))
                    continue
                env = {**os.environ, "PYTHONPATH": str(package)}
                self.workers.append(subprocess.Popen(command, stdin=nothing, stdout=log, stderr=log, env=env))

    @property
    def up(self) -> int:
        """How many workers have begun to serve and not ended."""
        return sum(worker.poll() is None and (self.sink / "up" / str(worker.pid)).exists() for worker in self.workers)

    async def busy(self, among: Sequence[warm.Process] | None = None) -> warm.Process:
        """A worker that is in the middle of a run: the one that begins the next call, once some others have ended.

        Where each is disturbed as soon as it has taken over, none gets on, and the runs end as poisoned.
        """

        async def is_moving() -> bool:
            return len(os.listdir(self.sink / "effects")) >= self.ended + _BETWEEN

        await until(is_moving, _PATIENCE)
        begun = self.sink / "begun"
        known = begun.stat().st_size
        candidates: list[warm.Process] = []

        async def is_found() -> bool:
            lines = begun.read_bytes()[known:].decode().splitlines()
            pids = {int(line.split()[2]) for line in lines if line.count(" ") == 3}
            candidates.extend(worker for worker in among or self.workers if worker.pid in pids)
            return bool(candidates)

        await until(is_found, _PATIENCE)
        self.ended = len(os.listdir(self.sink / "effects"))
        return self.drawn.choice(candidates)

    async def kill(self) -> None:
        """Kill a worker, and start another one in its place."""
        worker = await self.busy()
        self.workers.remove(worker)
        worker.kill()
        worker.wait()
        self.start()

    async def freeze(self) -> None:
        """Freeze a worker, and start another one in its place."""
        worker = await self.busy()
        self.workers.remove(worker)
        worker.send_signal(signal.SIGSTOP)
        self.frozen.append(worker)
        self.start()

    def thaw(self) -> None:
        """Let the worker go on that has been frozen the longest."""
        if self.frozen:
            worker = self.frozen.pop(0)
            worker.send_signal(signal.SIGCONT)
            self.workers.append(worker)

    def end(self) -> None:
        """End all of them."""
        for worker in (*self.workers, *self.frozen):
            worker.send_signal(signal.SIGCONT)
            worker.kill()
            worker.wait()


@contextmanager
def fleet(place: str, folder: Path, seed: int, **more: Any) -> Generator[Fleet]:
    """Workers that are ended with the block."""
    for name in ("effects", "again", "up"):
        (folder / name).mkdir(parents=True)
    (folder / "begun").touch()
    workers = Fleet(place, folder, random.Random(seed), **more)
    try:
        yield workers
    finally:
        workers.end()


HISTORY = {
    "sqlite": [
        "CREATE TABLE history (number INTEGER PRIMARY KEY, run TEXT, seq INTEGER, lease INTEGER, entry TEXT)",
        "CREATE TRIGGER remember AFTER INSERT ON actum_entries BEGIN "
        "INSERT INTO history (run, seq, lease, entry) VALUES (NEW.run, NEW.seq, NEW.lease, NEW.entry); END",
    ],
    "postgres": [
        "CREATE TABLE history (number BIGSERIAL PRIMARY KEY, run TEXT, seq BIGINT, lease BIGINT, entry TEXT)",
        "CREATE FUNCTION remember() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "INSERT INTO history (run, seq, lease, entry) VALUES (NEW.run, NEW.seq, NEW.lease, NEW.entry); "
        "RETURN NEW; END $$",
        "CREATE TRIGGER remember AFTER INSERT ON actum_entries FOR EACH ROW EXECUTE FUNCTION remember()",
    ],
}
"""What remembers every entry that was ever written: records are compacted."""


async def remembering(runs: Runs, place: str) -> None:
    """Have every entry remembered."""
    kind = "postgres" if place.startswith("postgres") else "sqlite"
    async with sql(runs).database.transaction() as within:
        for statement in HISTORY[kind]:
            await within.each(statement, [()])


@dataclass
class Verdict:
    """What became of many runs."""

    right: int = 0
    lost: int = 0
    stuck: int = 0
    """Those of the lost that are not over."""
    stale: int = 0
    """Entries that were written under a lease after one of a later lease."""
    again: int = 0
    """Calls that an owner has begun although it had read their results."""
    recorded: int = 0
    """Calls whose results were recorded."""
    takeovers: int = 0
    effects: int = 0


async def judged(runs: Runs, submitted: Sequence[Run], sink: Path) -> Verdict:
    """Judge runs by their rows, by every entry that was ever written, and by what their sink has seen."""
    verdict = Verdict(effects=len(list((sink / "effects").iterdir())))
    for run in submitted:
        row = await run.refresh()
        verdict.right += row.state == "done" and row.output == RIGHT
        verdict.lost += row.state != "done"
        verdict.stuck += not row.is_over
        verdict.takeovers += row.lease - 1
    last: defaultdict[str, int] = defaultdict(int)
    recorded: dict[str, int] = {}
    ids: dict[str, str] = {}
    for run, lease, text in await _history(runs):
        verdict.stale += lease < last[run]
        last[run] = max(last[run], lease)
        entry: Json = _object(text)
        if "began" in entry and not entry["at"]:
            ids.setdefault(entry["run"], run)
        message = entry.get("message", {})
        if "_call" in message and "_of" in message:
            recorded.setdefault(f"{run} {message['_of']}", lease)
    verdict.recorded = len(recorded)
    for line in (sink / "begun").read_text().splitlines():
        key, lease, _, _ = line.split()
        of_run, _, place = key.rpartition("/")
        first = recorded.get(f"{ids.get(of_run)} {place}")
        verdict.again += first is not None and int(lease) > first
    return verdict


async def _history(runs: Runs) -> Sequence[Sequence[Any]]:
    """Every entry that was ever written, where that is remembered."""
    if not isinstance(runs.store, SqlStore):
        return ()
    async with runs.store.database.transaction() as within:
        return await within.rows("SELECT run, lease, entry FROM history ORDER BY number")


def _object(text: str) -> Json:
    value: Any = decode(text)
    return value

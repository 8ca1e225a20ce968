"""Workers of two versions on one database, from their wheels: an upgrade machine by machine loses nothing (L8)."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from actum import Runs
from actum.runs.tables import FIRST, VERSIONS
from actum.schema.json import encode

from ..docs.pages import blocks
from ..effort import thorough
from .desks import plan, until
from .fleet import IDEA, Fleet
from .tally import Tally
from .under_faults import many, tried

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "operating.md"
BEFORE = "a0b492900ce5283be5c32b82b63c909649bbd24d"
"""The commit whose tables are the baseline, which all later ones only add to."""
PARTS = ("pyproject.toml", "README.md", "LICENSE", "src")
SUBMIT = """
import asyncio, json, sys
from actum import Runs
from actum.runs.tables import FIRST, VERSIONS

async def main(place, idea, count):
    async with Runs(place) as runs:
        for number in range(int(count)):
            await runs.submit(json.loads(idea), id=f"early-{number}")
    print(FIRST + len(VERSIONS) - 1)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture
def packages(tmp_path: Path) -> tuple[Path, Path]:
    """The Actum of an earlier commit and that of today, each unpacked from its wheel."""
    return _unpacked(_earlier(tmp_path / "source"), tmp_path / "old"), _unpacked(ROOT, tmp_path / "new")


def _earlier(folder: Path) -> Path:
    """A checkout of that commit."""
    git = ["git", "-C", str(ROOT), "archive", BEFORE, *PARTS]
    archive = subprocess.run(git, capture_output=True, check=False, timeout=60)
    if archive.returncode:
        pytest.skip(f"the history here doesn't reach back to {BEFORE[:8]}: git fetch --unshallow")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as source:
        source.extractall(folder, filter="data")
    return folder


def _unpacked(source: Path, folder: Path) -> Path:
    uv = str(Path(sys.executable).with_name("uv"))
    built = subprocess.run(
        [uv, "build", "--quiet", "--wheel", "--out-dir", str(folder / "wheel"), str(source)],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    if built.returncode:
        pytest.skip(f"no wheel can be built here: {built.stderr.strip()[-200:]}")
    (wheel,) = (folder / "wheel").glob("*.whl")
    install = [uv, "pip", "install", "--quiet", "--no-deps", "--target", str(folder / "package"), str(wheel)]
    subprocess.run(install, check=True, timeout=120)
    return folder / "package"


_ACTIVITIES = """
import asyncio
from pathlib import Path
from actum import tools
from actum.runs.tables import VERSIONS

@tools.tool
async def step() -> int:
    \"\"\"Say which version this is, as soon as that may be said.\"\"\"
    Path("begun").touch()
    while not Path("go").exists():
        await asyncio.sleep(0.05)
    return len(VERSIONS)
"""
_PIP = """#!/bin/sh
exec {uv} pip "$@" --quiet --no-deps --python {folder}/.venv/bin/python
"""
_SYSTEMCTL = """#!/bin/sh
# What systemd does by the unit: SIGTERM, then a new process. What was under way may end meanwhile.
cd {folder}
test -e worker.pid && kill -TERM "$(cat worker.pid)" && touch go
while test -e worker.pid && kill -0 "$(cat worker.pid)" 2>/dev/null; do sleep 0.1; done
$(sed -n 's#^ExecStart=/srv/actum/##p' unit) >>log 2>&1 &
echo $! >worker.pid
"""


def _machine(folder: Path) -> None:
    """A machine with a worker, as the page has it: its environment, the unit, and who installs and restarts."""
    uv = str(Path(sys.executable).with_name("uv"))
    (folder / "bin").mkdir(parents=True)
    for name, text in (("pip", _PIP), ("systemctl", _SYSTEMCTL)):
        (folder / "bin" / name).write_text(text.format(uv=uv, folder=folder))
        (folder / "bin" / name).chmod(0o755)
    (folder / "activities.py").write_text(_ACTIVITIES)
    (folder / "unit").write_bytes((ROOT / "deploy" / "actum-worker@.service").read_bytes())
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, ".venv"], cwd=folder, check=True, timeout=120)
    (others,) = (folder / ".venv" / "lib").glob("*/site-packages")
    (others / "others.pth").write_text(str(Path(pytest.__file__).parents[1]))


@thorough
@pytest.mark.rule("L8")
@pytest.mark.timeout(300)
async def test_a_worker_is_upgraded_by_the_commands_of_the_page(database: str, tmp_path: Path) -> None:
    install, restart = next(block for block in blocks(PAGE) if "pip install --upgrade" in block.text).text.splitlines()
    folder = tmp_path / "srv"
    _machine(folder)
    env = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "ACTUM_RUNS": database}

    def executed(line: str, checkout: Path) -> None:
        subprocess.run(line, shell=True, cwd=checkout, env=env, check=True, timeout=200)

    async def is_begun() -> bool:
        return (folder / "begun").exists()

    idea = plan({"_tool": "step"}, output="†calls.0")
    executed(install, _earlier(tmp_path / "source"))
    executed(restart, folder)
    try:
        async with Runs(database) as runs:
            early = await runs.submit(idea)
            await until(is_begun)
            executed(install, ROOT)
            executed(restart, folder)
            late = await runs.submit(idea)
            assert [(await run.result(timeout=60)).output for run in (early, late)] == [1, len(VERSIONS)]
            assert early.row.lease == 1, "what was under way has ended where it was"
    finally:
        os.kill(int((folder / "worker.pid").read_text()), signal.SIGKILL)


def _submitted_by(package: Path, database: str, count: int) -> int:
    """Submit so many runs by the Actum in a folder, and return which version of the tables it knows."""
    command = [sys.executable, "-c", SUBMIT, database, encode(IDEA), str(count)]
    env = {**os.environ, "PYTHONPATH": str(package)}
    return int(subprocess.run(command, env=env, capture_output=True, check=True, timeout=60).stdout)


@thorough
@pytest.mark.rule("L8")
@pytest.mark.timeout(1_200)
@pytest.mark.fault("workers of two versions beside each other, from their wheels, are killed and upgraded")
async def test_workers_of_the_version_before_and_of_this_one_go_on_with_each_others_runs(
    packages: tuple[Path, Path], database: str, tmp_path: Path, tally: Tally
) -> None:
    old, new = packages
    early, tally.faults = many(30, 6), many(20, 4)
    assert _submitted_by(old, database, early) == FIRST, "it is the version before that has made the tables"

    async def faults(workers: Fleet, runs: Runs) -> None:
        workers.start(2, package=old)
        for number in range(tally.faults):
            worker = await workers.busy()
            workers.workers.remove(worker)
            worker.kill()
            worker.wait()
            workers.start(package=old if number % 2 else new)

    names = [f"early-{number}" for number in range(early)]
    await tried(database, tmp_path, many(150, 20), faults, tally, workers=(), before=names)

"""Workers of two versions on one database, from their wheels: an upgrade machine by machine loses nothing (L8)."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from actum import Runs
from actum.runs.tables import FIRST
from actum.schema.json import encode

from ..effort import thorough
from .fleet import IDEA, Fleet
from .tally import Tally
from .under_faults import many, tried

ROOT = Path(__file__).parents[2]
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
    git = ["git", "-C", str(ROOT), "archive", BEFORE, *PARTS]
    archive = subprocess.run(git, capture_output=True, check=False, timeout=60)
    if archive.returncode:
        pytest.skip(f"the history here doesn't reach back to {BEFORE[:8]}: git fetch --unshallow")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as source:
        source.extractall(tmp_path / "source", filter="data")
    return _unpacked(tmp_path / "source", tmp_path / "old"), _unpacked(ROOT, tmp_path / "new")


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


def _submitted_by(package: Path, database: str, count: int) -> int:
    """Submit so many runs by the Actum in a folder; which version of the tables it knows."""
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

"""The file of plans stays open while its owner lives, and is shared by threads, processes and owners (R26)."""

from __future__ import annotations

import gc
import os
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from actum import Idea, errors
from actum.refine import ShelvedPlan
from actum.refine.plan_file import PlanDatabase, PlanFile


def filled(path: Path, tenant: str = "") -> tuple[PlanFile, ShelvedPlan]:
    """A file with one plan."""
    file = PlanFile(PlanDatabase(path), tenant)
    file.list()
    with sqlite3.connect(path) as database:
        row = (tenant, "family", "sha256:1", '{"type": "plan", "plan": []}', "tools", "", "used", "")
        database.execute("insert into plans values (?, ?, ?, ?, ?, ?, ?, ?)", row)
        database.execute("insert into tallies values (?, 'sha256:1', 2.0, 0, 0, 0)", (tenant,))
    database.close()
    (plan,) = file.list()
    return file, plan


def test_uses_open_the_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, plan = filled(tmp_path / "plans.db")
    monkeypatch.setattr(sqlite3, "connect", None)
    for number in range(1, 4):
        assert file.find("family") is not None
        assert file.note_use(plan, "hit") == number


def test_uses_in_many_threads_are_all_counted(tmp_path: Path) -> None:
    file, plan = filled(tmp_path / "plans.db")
    other = PlanFile(PlanDatabase(tmp_path / "plans.db"), "")

    def use(number: int) -> int:
        return (file, other)[number % 2].note_use(plan, "hit")

    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(use, range(60)))
    assert sorted(numbers) == list(range(1, 61))
    assert [plan.hits for plan in other.list()] == [60]


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_fork_opens_the_file_itself(tmp_path: Path) -> None:
    file, plan = filled(tmp_path / "plans.db")
    child = os.fork()
    if not child:
        os._exit(0 if file.note_use(plan, "hit") == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert file.note_use(plan, "hit") == 2


def test_a_file_that_was_replaced_is_opened_anew(tmp_path: Path) -> None:
    path = tmp_path / "plans.db"
    file, plan = filled(path)
    filled(tmp_path / "new.db", "acme")[0].note_use(plan, "hit")
    gc.collect()
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    (tmp_path / "new.db").rename(path)
    assert file.list() == []
    path.unlink()
    assert file.list() == []
    assert path.is_file()


def test_the_file_is_closed_with_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "plans.db"
    file, plan = filled(path)
    file.note_use(plan, "hit")
    assert Path(f"{path}-wal").exists()
    del file
    gc.collect()
    assert [path.name for path in tmp_path.iterdir()] == ["plans.db"]


def test_what_can_only_be_read_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plans.db"
    file, plan = filled(path)
    del file
    gc.collect()

    def refuse(*_: object) -> None:
        raise sqlite3.OperationalError("attempt to write a readonly database")

    monkeypatch.setattr("actum.refine.plan_file.open_database", refuse)
    with pytest.raises(errors.IdeaError, match="readonly"):
        PlanFile(PlanDatabase(path), "").list()
    monkeypatch.setattr("actum.refine.plan_file.os.W_OK", 64)  # a right that nobody has
    reader = PlanFile(PlanDatabase(path), "")
    assert [listed.hash for listed in reader.list()] == [plan.hash]
    with pytest.raises(errors.IdeaError, match="readonly"):
        reader.note_use(plan, "hit")


def test_another_database_is_refused_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    database = sqlite3.connect(path)
    database.execute("create table runs (id text)")
    database.close()
    before = path.read_bytes()
    with pytest.raises(errors.IdeaError, match="not a store of plans"):
        PlanFile(PlanDatabase(path), "").list()
    assert path.read_bytes() == before


@pytest.mark.rule("R3")
def test_fifty_examples_are_kept_in_use(tmp_path: Path) -> None:
    file = PlanFile(PlanDatabase(tmp_path / "plans.db"), "")
    for number in range(52):
        context: list[Any] = [{"type": "input", "schema": {"type": "object"}, "input": {"a": number}}]
        file.add("family", Idea(context=context))
    assert len(file.examples("family")) == 50

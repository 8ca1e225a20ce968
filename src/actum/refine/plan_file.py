"""The file that plans and their examples are kept in, a SQLite database, as one tenant sees it (R26-R29)."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Literal
from weakref import finalize

from ..app.idea import Idea
from ..errors import IdeaError, RefineError
from ..ideas.file import write_idea
from ..schema.json import JsonObject, encode
from ..storage.sqlite_files import open_database, sqlite_message, transaction
from .refining import MOST, Refined

_LOOKED_BACK, _MOST_LEFT = 10, 2
"""A plan that was left so often in its last uses rests."""
_VERSION = 1
_TABLES = f"""
create table if not exists plans (
  tenant text, family text, hash text, plan text, tools text, effects text, state text, uses text,
  primary key (tenant, family)
);
create table if not exists examples (
  tenant text, family text, input text, run text, primary key (tenant, family, input)
);
create table if not exists tallies (
  tenant text, hash text, requests real, hits integer, filled integer, left integer, primary key (tenant, hash)
);
pragma user_version = {_VERSION};
"""

_COLUMNS = ("family", "hash", "plan", "state", "effects", "tools", "hits", "filled", "left", "saved")
_SELECT = (
    "select p.family, p.hash, plan, state, effects, tools, coalesce(hits, 0), coalesce(filled, 0), coalesce(left, 0), "
    "coalesce(hits * requests, 0.0) from plans p "
    "left join tallies t on t.tenant = p.tenant and t.hash = p.hash where p.tenant = ?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShelvedPlan:
    """A plan that is kept for a family of requests.

    `state`: `proposed` waits for a person, `used` answers, `resting` was left too often of late. `effects` are its
    tools that don't only read: a plan with any is used only once a person has approved its hash. It has answered
    `hits` requests, `filled` of them with one small request, and was `left` in others; so many requests were `saved`.
    """

    family: str
    hash: str
    plan: JsonObject
    state: Literal["proposed", "used", "resting"]
    effects: tuple[str, ...] = ()
    tools: str = ""
    """The digest of its tools as they were when it was proved."""
    hits: int = 0
    filled: int = 0
    left: int = 0
    saved: float = 0.0


class PlanDatabase:
    """The file: opened when it is first used, closed when its owner is gone; any thread or loop may use it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        self._identity: object = None
        self._close: Callable[[], object] = bool

    @contextmanager
    def used(self) -> Generator[sqlite3.Connection]:
        """The connection, which one thread has at a time.

        Raises:
            IdeaError: the file can't be used.
        """
        try:
            with self._lock:
                if self._connection is None or self._identity != _identity(self.path):
                    self._connection = None
                    self._close()  # in a fork as well: SQLite counts its locks by process
                    self._connection = _connected(self.path)
                    self._identity = _identity(self.path)
                    self._close = finalize(self, self._connection.close)
                yield self._connection
        except (sqlite3.Error, OSError) as error:
            raise IdeaError(f"{self.path}: its plans can't be used: {sqlite_message(error)}") from None

    @contextmanager
    def changed(self) -> Generator[sqlite3.Connection]:
        """The same; what is done is done as a whole or not at all."""
        with self.used() as database, transaction(database):
            yield database


@dataclass(frozen=True, slots=True)
class PlanFile:
    """The plans and the examples of one tenant."""

    database: PlanDatabase
    tenant: str

    def list(self) -> list[ShelvedPlan]:
        """All plans, by their families."""
        return self._selected("order by p.family")

    def set(self, hash: str, state: str) -> None:
        """Record what a person decided about a plan; it also holds when the same plan is derived again.

        Raises:
            RefineError: there is no such plan.
        """
        with self.database.changed() as database:
            count = database.execute(
                "update plans set state = ?, uses = '' where tenant = ? and hash = ?", (state, self.tenant, hash)
            ).rowcount
        if not count:
            raise RefineError(f"there is no plan {hash}", code="not_approved")

    def examples(self, family: str) -> list[Idea]:
        """The runs that are examples of a family, each with another input."""
        with self.database.used() as database:
            rows = database.execute(
                "select run from examples where tenant = ? and family = ? order by input limit ?",
                (self.tenant, family, MOST),
            ).fetchall()
        return [Idea.read(row[0], f"example {number}") for number, row in enumerate(rows, 1)]

    def find(self, family: str) -> ShelvedPlan | None:
        """The plan of a family, whether it may be used or not."""
        return next(iter(self._selected("and p.family = ?", family)), None)

    def _selected(self, condition: str, *values: str) -> list[ShelvedPlan]:
        with self.database.used() as database:
            rows = database.execute(f"{_SELECT} {condition}", (self.tenant, *values)).fetchall()
        plans: list[Any] = [dict(zip(_COLUMNS, row, strict=True)) for row in rows]
        for plan in plans:
            plan["plan"], plan["effects"] = (
                json.loads(plan["plan"]),
                tuple(filter(None, str(plan["effects"]).split(","))),
            )
        return [ShelvedPlan(**plan) for plan in plans]

    def note_use(self, plan: ShelvedPlan, how: Literal["hit", "filled", "left"]) -> int:
        """Note that a plan has answered, or was left; left too often, it rests. The number of this use."""
        is_hit = how != "left"
        with self.database.changed() as database:
            row = database.execute(
                "select uses from plans where tenant = ? and family = ?", (self.tenant, plan.family)
            ).fetchone()
            count, _, uses = (row[0] if row else "").rpartition(":")
            number = int(count or 0) + 1
            uses = f"{uses}{'.' if is_hit else 'L'}"[-_LOOKED_BACK:]
            is_tired = uses.count("L") >= _MOST_LEFT
            database.execute(
                "update plans set uses = ?, state = iif(?, 'resting', state) where tenant = ? and hash = ?",
                (f"{number}:{uses}", is_tired, self.tenant, plan.hash),
            )
            database.execute(
                "update tallies set hits = hits + ?, filled = filled + ?, left = left + ? "
                "where tenant = ? and hash = ?",
                (is_hit, how == "filled", not is_hit, self.tenant, plan.hash),
            )
        return number

    def rest(self, plan: ShelvedPlan) -> None:
        """Use it no more until it is proved anew."""
        with self.database.changed() as database:
            database.execute(
                "update plans set state = 'resting' where tenant = ? and family = ?", (self.tenant, plan.family)
            )

    def add(self, family: str, run: Idea) -> list[Idea]:
        """Keep a run as an example; all of its family, each with another input."""
        key = digest_of(encode(run.context.data.get("input"), sort_keys=True))
        with self.database.changed() as database:
            database.execute(
                "insert or replace into examples values (?, ?, ?, ?)",
                (self.tenant, family, key, write_idea(run.text)),
            )
        return self.examples(family)

    def put(self, family: str, tools: str, refined: Refined, state: str) -> None:
        """Keep the plan of a family; what a person decided about the same plan stays."""
        with self.database.changed() as database:
            row = database.execute(
                "select hash, tools, state, uses from plans where tenant = ? and family = ?", (self.tenant, family)
            ).fetchone()
            if state == "proposed" and row is not None and row[:3] == (refined.hash, tools, "used"):
                state = "used"  # as a person has approved it, with these tools (R35)
            elif row is not None and row == (refined.hash, tools, "resting", ""):
                state = "resting"  # as a person decided
            values = (refined.hash, json.dumps(refined.plan), tools, ",".join(refined.effects), state)
            database.execute(
                "insert or replace into plans values (?, ?, ?, ?, ?, ?, ?, '')", (self.tenant, family, *values)
            )
            database.execute(
                "insert or ignore into tallies values (?, ?, ?, 0, 0, 0)",
                (self.tenant, refined.hash, refined.requests - refined.asks),
            )


def _identity(path: Path) -> object:
    """What a connection is good for: this process, not one that was forked, and the file that has the name now."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return os.getpid(), status.st_dev, status.st_ino


def _connected(path: Path) -> sqlite3.Connection:
    try:
        return open_database(path, "plans", IdeaError, _make_tables)
    except sqlite3.OperationalError:
        if not path.is_file() or (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
            raise
        return sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True, check_same_thread=False)


def _make_tables(database: sqlite3.Connection) -> None:
    if database.execute("pragma user_version").fetchone()[0] < _VERSION:
        database.executescript(_TABLES)


def digest_of(value: Any) -> str:
    """The SHA-256 of a JSON value."""
    return hashlib.sha256(encode(value, sort_keys=True).encode()).hexdigest()

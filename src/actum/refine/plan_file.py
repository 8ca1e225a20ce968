"""The file that plans and their examples are kept in, a SQLite database, as one tenant sees it (R26-R29)."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..app.idea import Idea
from ..errors import IdeaError, RefineError
from ..ideas.file import write_idea
from ..schema.json import JsonObject, encode
from .refining import Refined

MOST_EXAMPLES = 50
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

_SELECT = (
    "select p.family, p.hash, plan, state, effects, tools, hits, filled, left, requests from plans p "
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


@dataclass(frozen=True, slots=True)
class PlanFile:
    """The plans and the examples of one tenant."""

    place: Path
    tenant: str

    def list(self) -> list[ShelvedPlan]:
        """All plans, by their families."""
        return self._selected("order by p.family")

    def set(self, hash: str, state: str) -> None:
        """Have a person's word count: of a plan that is derived anew as well, if it is the same.

        Raises:
            RefineError: there is no such plan.
        """
        with self._opened() as database:
            found = database.execute(
                "update plans set state = ?, uses = '' where tenant = ? and hash = ?", (state, self.tenant, hash)
            ).rowcount
        if not found:
            raise RefineError(f"there is no plan {hash}", code="not_approved")

    def examples(self, family: str) -> list[Idea]:
        """The runs that are examples of a family, each with another input."""
        with self._opened() as database:
            rows = database.execute(
                "select run from examples where tenant = ? and family = ? order by input limit ?",
                (self.tenant, family, MOST_EXAMPLES),
            ).fetchall()
        return [Idea.read(row[0], f"example {number}") for number, row in enumerate(rows, 1)]

    def find(self, family: str) -> ShelvedPlan | None:
        """The plan of a family, whether it may be used or not."""
        return next(iter(self._selected("and p.family = ?", family)), None)

    def _selected(self, which: str, *values: str) -> list[ShelvedPlan]:
        with self._opened() as database:
            rows = database.execute(f"{_SELECT} {which}", (self.tenant, *values)).fetchall()
        return [
            ShelvedPlan(
                family=family,
                hash=own,
                plan=json.loads(plan),
                state=state,
                effects=_names(effects),
                tools=tools,
                hits=hits or 0,
                filled=filled or 0,
                left=left or 0,
                saved=(hits or 0) * (requests or 0.0),
            )
            for family, own, plan, state, effects, tools, hits, filled, left, requests in rows
        ]

    def note_use(self, known: ShelvedPlan, how: Literal["hit", "filled", "left"]) -> int:
        """Note that it has answered, or was left; left too often, it rests. The number of this use."""
        is_hit = how != "left"
        with self._opened() as database:
            row = database.execute(
                "select uses from plans where tenant = ? and family = ?", (self.tenant, known.family)
            ).fetchone()
            count, _, uses = (row[0] if row else "").rpartition(":")
            number = int(count or 0) + 1
            uses = f"{uses}{'.' if is_hit else 'L'}"[-_LOOKED_BACK:]
            is_tired = uses.count("L") >= _MOST_LEFT
            database.execute(
                "update plans set uses = ?, state = iif(?, 'resting', state) where tenant = ? and hash = ?",
                (f"{number}:{uses}", is_tired, self.tenant, known.hash),
            )
            database.execute(
                "update tallies set hits = hits + ?, filled = filled + ?, left = left + ? "
                "where tenant = ? and hash = ?",
                (is_hit, how == "filled", not is_hit, self.tenant, known.hash),
            )
        return number

    def rest(self, known: ShelvedPlan) -> None:
        """Use it no more until it is proved anew."""
        with self._opened() as database:
            database.execute(
                "update plans set state = 'resting' where tenant = ? and family = ?", (self.tenant, known.family)
            )

    def add(self, family: str, run: Idea) -> list[Idea]:
        """Keep a run as an example; all of its family, each with another input."""
        given = encode(run.context.data.get("input"), sort_keys=True)
        with self._opened() as database:
            database.execute(
                "insert or replace into examples values (?, ?, ?, ?)",
                (self.tenant, family, digest_of(given), write_idea(run.text)),
            )
        return self.examples(family)

    def put(self, family: str, tools: str, found: Refined, state: str) -> None:
        """Keep the plan of a family; what a person has said of the same plan stays."""
        with self._opened() as database:
            row = database.execute(
                "select hash, tools, state, uses from plans where tenant = ? and family = ?", (self.tenant, family)
            ).fetchone()
            if state == "proposed" and row is not None and row[:3] == (found.hash, tools, "used"):
                state = "used"  # as a person has approved it, with these tools (R35)
            elif row is not None and row == (found.hash, tools, "resting", ""):
                state = "resting"  # as a person has said
            told = (found.hash, json.dumps(found.plan), tools, ",".join(found.effects), state)
            database.execute(
                "insert or replace into plans values (?, ?, ?, ?, ?, ?, ?, '')", (self.tenant, family, *told)
            )
            database.execute(
                "insert or ignore into tallies values (?, ?, ?, 0, 0, 0)",
                (self.tenant, found.hash, found.requests - found.asks),
            )

    @contextmanager
    def _opened(self) -> Generator[sqlite3.Connection]:
        """The database, with its tables; what is done in it is done as one.

        Raises:
            IdeaError: it can't be used.
        """
        try:
            with closing(sqlite3.connect(self.place, timeout=30)) as database, database:
                if database.execute("pragma user_version").fetchone()[0] < _VERSION:
                    database.executescript(_TABLES)
                database.execute("pragma synchronous = normal")  # a plan that is lost with the power is derived again
                yield database
        except sqlite3.Error as error:
            raise IdeaError(f"{self.place}: its plans can't be used: {error}") from None


def _names(told: str) -> tuple[str, ...]:
    return tuple(one for one in told.split(",") if one)


def digest_of(value: Any) -> str:
    """The SHA-256 of a JSON value."""
    return hashlib.sha256(encode(value, sort_keys=True).encode()).hexdigest()

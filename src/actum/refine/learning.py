"""`Plans`: an agent's plans by what they answer: looked up before a run, derived behind it (R2, R24-R30, R35)."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
import tempfile
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from .. import kept
from ..app.agent import Agent, assembled
from ..app.idea import Idea
from ..errors import IdeaError, RefineError
from ..generation.offer import offered
from ..ideas.file import write_idea
from ..protocol.context import Context
from ..protocol.solution import PlanUse, Result
from ..schema.infer import shape_of
from ..schema.json import JsonObject, encode
from ..sources.files import path_given
from .refining import Refined, refine

_OF_INPUT = frozenset({"type", "schema"})
"""What of an input is the same in a family."""
_LEAST_INPUTS = 3
_MOST_EXAMPLES = 50
_LOOKED_BACK, _MOST_LEFT = 10, 2
"""A plan that was left so often in its last uses rests."""
_TABLES = """
create table if not exists plans (
  tenant text, family text, hash text, plan text, tools text, effects text, state text, uses text,
  primary key (tenant, family)
);
create table if not exists examples (
  tenant text, family text, input text, run text, primary key (tenant, family, input)
);
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShelvedPlan:
    """A plan that is kept for a family of requests.

    `state`: `proposed` waits for a person, `used` answers, `resting` was left too often of late. `effects` are its
    tools that don't only read: a plan with any is used only once a person has approved its hash.
    """

    family: str
    hash: str
    plan: JsonObject
    state: Literal["proposed", "used", "resting"]
    effects: tuple[str, ...] = ()


class Plans:
    """The plans of one tenant in a file: an agent that has them asks its model only where none answers.

    A request is of the family of another if all that was given is the same but the values of its input. From three
    examples with different inputs a plan is derived and proved; nothing is answered by the plan of another family.

    Args:
        place: the file that they are kept in, a SQLite database; it is made when it is first used.
        learns: "reads" uses a proved plan at once where it only reads and no question is open, and proposes others;
            "proposals" proposes all; False derives none.
        tenant: whose examples and plans these are; no other's are seen.
    """

    def __init__(
        self, place: str | Path, *, learns: Literal["reads", "proposals", False] = "reads", tenant: str = ""
    ) -> None:
        self._place = path_given(place)
        self.learns: Literal["reads", "proposals", False] = learns
        self.tenant = tenant

    def of(self, tenant: str) -> Plans:
        """Those of another tenant, in the same file."""
        return Plans(self._place, learns=self.learns, tenant=tenant)

    def list(self) -> list[ShelvedPlan]:
        """All plans of the tenant."""
        with self._opened() as database:
            rows = database.execute(
                "select family, hash, plan, state, effects from plans where tenant = ? order by family", (self.tenant,)
            ).fetchall()
        return [
            ShelvedPlan(family=one[0], hash=one[1], plan=json.loads(one[2]), state=one[3], effects=_names(one[4]))
            for one in rows
        ]

    def approve(self, hash: str) -> None:
        """Let the plan of this hash be used; a plan that is derived anew has another.

        Raises:
            RefineError: there is no such plan.
        """
        with self._opened() as database:
            found = database.execute(
                "update plans set state = 'used' where tenant = ? and hash = ?", (self.tenant, hash)
            ).rowcount
        if not found:
            raise RefineError(f"there is no plan {hash}", code="not_approved")

    async def run(self, agent: Agent, context: Any, schema: Any, input: Mapping[str, Any] | None) -> Result[Any]:
        """Answer by the plan of the request's family, else by an ordinary run that becomes an example.

        Args:
            agent: what has been asked, with its model and tools.
            context: as for `Agent.run`, and so are `schema` and `input`.

        Raises:
            ActumError: as `Agent.run`.
        """
        own = assembled(agent)
        given, _ = await own.prepared(context, schema, input=input)
        toolset = offered(given, agent.tools, agent.config.tools)
        tools = _digest([[name, tool.schema, tool.effects] for name, tool in sorted(toolset.tools.items())])
        family = _family(given, schema, is_sealed=agent.config.sealed)
        runner = copy(agent)
        runner.plans = None
        known = await asyncio.to_thread(self._find, family, tools)
        if known is not None:
            return await self._by_plan(runner, given, schema, known)
        result, run = await _kept(runner, given, schema)
        is_example = result.output is not None and not result.waiting and not _is_planned(given)
        if self.learns and is_example and runner.model is not None:
            await self._learn(runner, run, family, tools)
        return result

    async def _by_plan(self, agent: Agent, given: Context, schema: Any, known: ShelvedPlan) -> Result[Any]:
        """Run with the plan; one that is left before any effect becomes an ordinary run, which knows what was read."""
        agent.config = replace(agent.config, repair=True)
        result = await agent.run(given.extended([known.plan]), schema)
        is_hit = result.usage.requests == 0
        await asyncio.to_thread(self._note_use, known, is_hit)
        at = None if is_hit else next((one.place for one in result.calls if one.state != "done"), None)
        return replace(result, plan=PlanUse(hash=known.hash, how="hit" if is_hit else "left", at=at))

    def _find(self, family: str, tools: str) -> ShelvedPlan | None:
        with self._opened() as database:
            row = database.execute(
                "select hash, plan, effects from plans "
                "where tenant = ? and family = ? and tools = ? and state = 'used'",
                (self.tenant, family, tools),
            ).fetchone()
        if row is None:
            return None
        own = json.loads(row[1])
        return ShelvedPlan(family=family, hash=row[0], plan=own, state="used", effects=_names(row[2]))

    def _note_use(self, known: ShelvedPlan, is_hit: bool) -> None:
        with self._opened() as database:
            where = (self.tenant, known.family)
            row = database.execute("select uses from plans where tenant = ? and family = ?", where).fetchone()
            uses = f"{row[0] if row else ''}{'.' if is_hit else 'L'}"[-_LOOKED_BACK:]
            state = "resting" if uses.count("L") >= _MOST_LEFT else "used"
            database.execute(
                "update plans set uses = ?, state = ? where tenant = ? and family = ?", (uses, state, *where)
            )

    async def _learn(self, agent: Agent, run: Idea, family: str, tools: str) -> None:
        runs = await asyncio.to_thread(self._add, family, run)
        if len(runs) < _LEAST_INPUTS:
            return
        try:
            found = await refine(runs, idea=_without_run(run), tools=agent.tools)
        except (RefineError, IdeaError):
            return  # an ordinary run it stays
        if not found.questions and found.proof.holds:
            await asyncio.to_thread(self._put, family, tools, found)

    def _add(self, family: str, run: Idea) -> list[Idea]:
        """Keep a run as an example; all of its family, each with another input."""
        given = encode(run.context.data.get("input"), sort_keys=True)
        with self._opened() as database:
            database.execute(
                "insert or replace into examples values (?, ?, ?, ?)",
                (self.tenant, family, _digest(given), write_idea(run.text)),
            )
            rows = database.execute(
                "select run from examples where tenant = ? and family = ? order by input limit ?",
                (self.tenant, family, _MOST_EXAMPLES),
            ).fetchall()
        return [Idea.read(row[0], f"example {number}") for number, row in enumerate(rows, 1)]

    def _put(self, family: str, tools: str, found: Refined) -> None:
        is_used = self.learns == "reads" and not found.effects
        told = (found.hash, json.dumps(found.plan), tools, ",".join(found.effects), "used" if is_used else "proposed")
        with self._opened() as database:
            database.execute(
                "insert or replace into plans values (?, ?, ?, ?, ?, ?, ?, '')", (self.tenant, family, *told)
            )

    @contextmanager
    def _opened(self) -> Generator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self._place, timeout=30)) as database, database:
                database.executescript(_TABLES)
                yield database
        except sqlite3.Error as error:
            raise IdeaError(f"{self._place}: its plans can't be used: {error}") from None


def _names(told: str) -> tuple[str, ...]:
    return tuple(one for one in told.split(",") if one)


def _digest(value: Any) -> str:
    return hashlib.sha256(encode(value, sort_keys=True).encode()).hexdigest()


def _family(given: Context, schema: Any, *, is_sealed: bool) -> str:
    """What is the same in requests that one plan may answer: all that was given but the values of the input."""
    told: list[JsonObject] = []
    for message in given:
        is_input = message.get("type") == "input"
        told.append({key: one for key, one in message.items() if key != "_date" and (not is_input or key in _OF_INPUT)})
    return _digest([told, None if schema is None else shape_of(schema).schema, is_sealed])


def _is_planned(given: Context) -> bool:
    return any(message.get("type") == "plan" for message in given)


async def _kept(agent: Agent, given: Context, schema: Any) -> tuple[Result[Any], Idea]:
    """An ordinary run, and what it has left as a kept one."""
    with tempfile.TemporaryDirectory(prefix="actum-plans-") as folder:
        path = Path(folder) / "run.json"
        own = Idea(context=given, schema=schema)
        result = await kept.start(path, own, lambda _: agent)
        return result, await asyncio.to_thread(Idea.load, path)


def _without_run(run: Idea) -> Idea:
    """The Idea that a run was begun with."""
    ticks = run.meta["run"]["ticks"]
    given = run.context.messages[: ticks[0]["at"]] if ticks else run.context.messages
    return Idea(context=Context.checked(given, run.context.data_kinds), schema=run.schema)

"""The cells of an eval, and one run of a case in one of them (V18-V25)."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .. import kept
from ..app.agent import Agent
from ..app.idea import Idea
from ..app.loading import Loaded
from ..app.recorded import LiveReads, RecordedCall, RecordedTools, calls_on_record, with_record
from ..errors import ActumError
from ..generation.model import Model
from ..generation.offer import offered
from ..protocol.config import Limits
from ..protocol.context import Context
from ..schema.json import JsonObject, is_object
from .case import Case
from .judged import JudgedRun, judged_run
from .paid import PaidAnswers, RepeatedModel
from .report import KEPT, cell_name
from .suite import Suite

_UNSAFE = re.compile(r"[^\w.·-]+")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A version with a model; without a model, the runs of the cases as they are kept."""

    version: str
    idea: Idea
    model: Model | None = None
    model_name: str = KEPT
    loaded: Loaded | None = None

    @property
    def name(self) -> str:
        """What it is called."""
        return cell_name(self.version, self.model_name)

    @property
    def reads(self) -> frozenset[str]:
        """The names of its tools that only read; its modules are loaded, since its runs need them."""
        if self.loaded is None:
            return frozenset()
        return offered(self.loaded.context, self.loaded.code.registry, self.loaded.config.tools).reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One repeat of a case in a cell."""

    case: Case
    cell: Cell
    repeat: int

    @property
    def key(self) -> tuple[str, str, int]:
        """What it is known by."""
        return self.case.identity, self.cell.name, self.repeat

    def told(self) -> JsonObject:
        """The same as JSON."""
        return {"identity": self.case.identity, "case": self.case.name, "cell": self.cell.name, "repeat": self.repeat}

    def file(self, folder: Path) -> Path:
        """Where its run is kept."""
        return folder / "runs" / safe_name(self.cell.name) / f"{safe_name(self.case.name)}.{self.repeat}.json"


def safe_name(name: str) -> str:
    """A name that every file system takes."""
    return _UNSAFE.sub("_", name)[:120]


@dataclass(slots=True)
class Trials:
    """Carries trials out in a folder, their tools from what is on record."""

    suite: Suite
    folder: Path
    answers: PaidAnswers
    _live: defaultdict[str, LiveReads] = field(default_factory=lambda: defaultdict(LiveReads))
    """What tools that only read were asked, by the case's identity."""

    async def run(self, trial: Trial, limits: Limits) -> JudgedRun:
        """Carry a trial out, or go on with it where its run was cut.

        Raises:
            LimitExceeded: the budget of the eval is spent.
            ActumError: it can't even begin.
        """
        case = trial.case
        record = self._record(case, trial.cell.reads)
        live = self._live[case.identity] if self.suite.live and case.attack is None else None
        tools = RecordedTools(record if case.attack is None else case.attack.planted(record) or record, live=live)
        agent = with_record(self._agent(trial, limits), tools)
        path = trial.file(self.folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        failed = await self._carried(path, trial, agent, tools)
        missed: list[JsonObject] = []
        if tools.missed is not None:
            one = tools.missed
            told: JsonObject = {"tool": one.tool, "args": one.arguments, "value": None, "error": str(one)}
            missed.append({**told, "state": "missed", "by": "nobody", "place": one.place, "answer": None})
        return await self.again(trial, {"failed": failed, "missed": missed})

    async def again(self, trial: Trial, told: JsonObject) -> JudgedRun:
        """The run of a trial that is over; `told` says how it has failed, and which call no record could answer."""
        path = trial.file(self.folder)
        return judged_run(
            await asyncio.to_thread(Idea.load, path),
            str(path),
            trial.case,
            missed=tuple(told.get("missed") or ()),
            failed=told.get("failed"),
            cost_is_of_record=not self.suite.live,
        )

    def _record(self, case: Case, reads: frozenset[str]) -> Sequence[RecordedCall]:
        given = [_recorded_by_hand(one) for one in case.record]
        if case.run is None:
            return given
        return [*calls_on_record(case.run, case.name, reads), *given]

    def _agent(self, trial: Trial, limits: Limits) -> Agent:
        cell = trial.cell
        assert cell.loaded is not None
        agent = cell.loaded.agent()
        if cell.model is not None:
            agent.model = RepeatedModel(cell.model, self.answers, trial.repeat)
        agent.limits = _narrowed(agent.limits, limits)
        return agent

    async def _carried(self, path: Path, trial: Trial, agent: Agent, tools: RecordedTools) -> str | None:
        """Why the run has failed, None where it hasn't; it is cut where it asks for what isn't on record."""
        try:
            await tools.until_missed(self._started(path, trial, agent))
        except ActumError as error:
            return error.message
        return None

    async def _started(self, path: Path, trial: Trial, agent: Agent) -> None:
        if await asyncio.to_thread(path.exists):
            await kept.resume(path, lambda _: agent, keeps_approve=False)
            return
        idea, case = trial.cell.idea, trial.case
        if case.messages:
            own = idea.context
            idea = replace(idea, context=Context([*own.messages, *case.messages], origin=own.origin))
        await kept.start(path, replace(idea, solution=None), lambda _: agent, input=case.input)


def _recorded_by_hand(told: JsonObject) -> RecordedCall:
    """A call of a case's own `record`: {tool: {parameter: value}, gives: …}."""
    tool = next(key for key in told if key != "gives")
    arguments: Any = told[tool]
    return RecordedCall(tool=tool, arguments=arguments if is_object(arguments) else {}, value=told.get("gives"))


def _narrowed(own: Limits, budget: Limits) -> Limits:
    told = {name: value for name in ("usd", "requests", "seconds") if (value := getattr(budget, name)) is not None}
    return own.narrowed(told)

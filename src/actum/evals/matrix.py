"""The cells of an eval, and the trials of cases in them (V18-V25)."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from .. import kept
from ..app.agent import Agent, with_deps
from ..app.idea import Idea
from ..app.loading import Loaded
from ..app.recorded import RecordedTools, UnrecordedCalls, with_record
from ..dataflow.expression import MISSING
from ..errors import ActumError, LimitExceeded
from ..execution.approver import Approve
from ..generation.model import Model
from ..generation.offer import offered
from ..ideas.file import write_idea
from ..protocol.config import Limits
from ..protocol.context import Context
from ..schema.json import Json, JsonObject
from .case import Case, recorded_for
from .judged import JudgedRun, judged_run, missed_call
from .paid import PaidAnswers, RepeatedModel, append_lines, lines_in, mend
from .report import KEPT, cell_name
from .suite import Suite

_UNSAFE = re.compile(r"[^\w.·-]+")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A version with a model; without a model, the cases' kept runs."""

    version: str
    idea: Idea
    model: Model | None = None
    model_name: str = KEPT
    loaded: Loaded | None = None

    @property
    def name(self) -> str:
        """The name of the cell."""
        return cell_name(self.version, self.model_name)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of its Idea."""
        return hashlib.sha256(write_idea(self.idea.text).encode()).hexdigest()

    @property
    def reads(self) -> frozenset[str]:
        """The names of its tools that only read; loads its modules, which its runs need anyway."""
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
        """What identifies it."""
        return self.case.identity, self.cell.name, self.repeat

    def to_dict(self) -> JsonObject:
        """The trial as JSON."""
        members: JsonObject = {"identity": self.case.identity, "case": self.case.name, "cell": self.cell.name}
        return members | {"repeat": self.repeat, "version": self.cell.digest}

    def file(self, folder: Path) -> Path:
        """The file of its run."""
        return folder / "runs" / safe_name(self.cell.name) / f"{safe_name(self.case.name)}.{self.repeat}.json"


def safe_name(name: str) -> str:
    """A name that every file system accepts, different for different names."""
    safe = _UNSAFE.sub("_", name)[:100]
    return safe if safe == name else f"{safe}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


@dataclass(slots=True)
class Trials:
    """Carries out trials in a folder, with the results of tools from records."""

    suite: Suite
    folder: Path
    answers: PaidAnswers
    approve: Approve | None = None
    deps: Any = None
    """The `deps` for calls that are really made."""
    _fallbacks: dict[str, UnrecordedCalls] = field(default_factory=dict[str, UnrecordedCalls])
    """What answers calls that aren't recorded, by the case's identity."""
    _known_answers: defaultdict[str, dict[str, Json]] | None = None
    """Their earlier answers, by the case's identity and the call; None until they are read."""

    async def run(self, trial: Trial, limits: Limits) -> JudgedRun:
        """Carry out a trial, or continue it if its run was cut.

        Raises:
            LimitExceeded: the budget of the eval is spent.
            ActumError: the trial can't begin.
        """
        case = trial.case
        record = recorded_for(case, trial.cell.reads)
        if case.attack is None:
            tools = RecordedTools(record, fallback=self._fallback(case), asks_reader=True)
        else:  # under attack, nothing is called live
            tools = RecordedTools(case.attack.planted(record) or record, asks_reader=True)
        agent = with_record(self._agent(trial, limits), tools, partial(self._paid_once, trial))
        path = trial.file(self.folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        failed = await self._carry_out(path, trial, agent, tools, limits)
        missed: list[JsonObject] = []
        if tools.missed is not None:
            call = tools.missed
            missed.append(missed_call(str(call), call.tool, call.arguments, call.place))
        return await self.again(trial, {"failed": failed, "missed": missed, "simulated": [*tools.simulated]})

    async def again(self, trial: Trial, outcome: JsonObject) -> JudgedRun:
        """The run of a finished trial; `outcome` has its error, and the call that no record could answer."""
        path = trial.file(self.folder)
        return judged_run(
            await asyncio.to_thread(Idea.load, path),
            str(path),
            trial.case,
            missed=outcome.get("missed") or (),
            failed=outcome.get("failed"),
            simulated=outcome.get("simulated") or (),
            is_anew=True,
        )

    def _fallback(self, case: Case) -> UnrecordedCalls:
        """What answers the case's calls that aren't recorded, with its earlier answers."""
        if case.identity not in self._fallbacks:
            path, suite = self.folder / "besides.jsonl", self.suite
            if self._known_answers is None:
                self._known_answers = defaultdict(dict)
                mend(path)
                for line in lines_in(path):
                    self._known_answers[line["case"]][line["call"]] = line["value"]

            def keep(call: str, value: Json) -> None:
                append_lines(path, [{"case": case.identity, "call": call, "value": value}])

            self._fallbacks[case.identity] = UnrecordedCalls(
                reads=suite.live != "none",
                simulated=suite.simulated,
                approve=self.approve if suite.live == "all" else None,
                known=self._known_answers[case.identity],
                keep=keep,
            )
        return self._fallbacks[case.identity]

    def _agent(self, trial: Trial, limits: Limits) -> Agent:
        cell = trial.cell
        assert cell.loaded is not None
        agent = cell.loaded.agent()
        if cell.model is not None:
            agent.model = self._paid_once(trial, cell.model)
        bounds = {name: getattr(limits, name) for name in ("usd", "requests", "tokens", "seconds")}
        agent.limits = agent.limits.narrowed(bounds)
        return with_deps(agent, self.deps)

    def _paid_once(self, trial: Trial, model: Model) -> Model:
        """A model whose answers are paid for once: the cell's, or one that a delegate names (V23)."""
        return RepeatedModel(model, self.answers, trial.repeat)

    async def _carry_out(
        self, path: Path, trial: Trial, agent: Agent, tools: RecordedTools, budget: Limits
    ) -> str | None:
        """Carry out the run, and return why it failed, None if it didn't; a call that nothing answers cuts it.

        Raises:
            LimitExceeded: the eval's budget is spent, so that the run's outcome isn't known.
        """
        try:
            await tools.until_missed(self._start(path, trial, agent))
        except LimitExceeded as error:
            if getattr(agent.limits, error.limit, None) == getattr(budget, error.limit, MISSING):
                raise
            return error.message
        except ActumError as error:
            return error.message
        return None

    async def _start(self, path: Path, trial: Trial, agent: Agent) -> None:
        if await asyncio.to_thread(path.exists):
            await kept.resume(path, lambda _: agent, keeps_approve=False)
            return
        idea, case = trial.cell.idea, trial.case
        if case.messages:
            context = idea.context
            idea = replace(idea, context=Context([*context.messages, *case.messages], origin=context.origin))
        await kept.start(path, replace(idea, solution=None), lambda _: agent, input=case.input)

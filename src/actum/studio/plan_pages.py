"""The page *Plans* of an Idea: the plan that its runs refine to, the origin of each value, and people's decisions."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import parse_qs, quote, urlencode

from ..app.agent import Agent
from ..app.idea import Idea
from ..app.loading import Code, ready
from ..errors import ActumError, RefineError
from ..inspection import graph_of
from ..protocol.context import Context
from ..refine import Plans, Refined, ShelvedPlan, as_python, refine
from .answering import page, redirect_to
from .pictures import picture_of
from .posting import posted
from .resources import Studio

if TYPE_CHECKING:
    from markupsafe import Markup
    from starlette.requests import Request
    from starlette.responses import Response

_MOST_RUNS = 50
_PLANS = "plans.db"
_DECISIONS = ("confirm", "ignore")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """The leaves that a person has confirmed or ignored; they are kept in the page's address only."""

    confirm: Sequence[str] = ()
    ignore: Sequence[str] = ()

    @classmethod
    def of(cls, query: str) -> Settlement:
        """The settlement in the query of an address."""
        values = parse_qs(query, max_num_fields=200)
        return cls(**{name: tuple(dict.fromkeys(values.get(name, ()))) for name in _DECISIONS})

    def with_leaf(self, decision: Literal["confirm", "ignore"], leaf: str) -> Settlement:
        """This settlement with one more leaf."""
        leaves = {name: getattr(self, name) for name in _DECISIONS}
        return Settlement(**{**leaves, decision: (*leaves[decision], leaf)})

    @property
    def query(self) -> str:
        """This settlement as the query of an address."""
        return urlencode([(name, leaf) for name in _DECISIONS for leaf in getattr(self, name)])


@dataclass(frozen=True, slots=True, kw_only=True)
class IdeaRuns:
    """An Idea, its known runs, and the plans of its agent, if it keeps any here."""

    idea: Idea
    agent: Agent
    plans: Plans | None
    family: str
    runs: Sequence[Idea]

    @property
    def shelved(self) -> ShelvedPlan | None:
        """The plan that the agent keeps for these requests."""
        plans = [] if self.plans is None else self.plans.list()
        return next((plan for plan in plans if plan.family == self.family), None)

    def refined(self, settled: Settlement) -> Refined:
        """The plan that the runs refine to; no module is imported, no model asked and no tool called.

        Raises:
            RefineError: nothing could be derived.
        """
        confirm = {leaf: text for leaf, _, text in (choice.partition("=") for choice in settled.confirm)}
        return asyncio.run(refine(self.runs, idea=self.idea, confirm=confirm, ignore=settled.ignore, pinned=True))


@dataclass(frozen=True, slots=True)
class PlanPages:
    """The routes of plans."""

    studio: Studio

    async def show(self, request: Request) -> Response:
        """The page, with what is settled in the address."""
        key = request.path_params["key"]
        idea_runs = await self._idea_runs(key)
        return await self._page(key, idea_runs, Settlement.of(request.url.query))

    async def take(self, request: Request) -> Response:
        """Handle a form: confirm or ignore a leaf, approve or rest a hash, or show the plan as Python."""
        key = request.path_params["key"]
        idea_runs = await self._idea_runs(key)
        sent = (await posted(request)).texts
        settled, action = Settlement.of(sent.get("settled", "")), sent.get("do", "")
        if action in _DECISIONS:
            return redirect_to(f"/plans/{quote(key)}?{settled.with_leaf(action, sent.get('leaf', '')).query}")  # pyright: ignore[reportArgumentType] -- is one of both
        try:
            if action == "python":
                return await self._page(
                    key, idea_runs, settled, python=await asyncio.to_thread(_python, idea_runs, settled, key)
                )
            await asyncio.to_thread(_decide, idea_runs, settled, action, sent.get("hash", ""), self._place)
        except ActumError as error:
            return await self._page(key, idea_runs, settled, error=error.message)
        return redirect_to(f"/plans/{quote(key)}?{settled.query}")

    async def _page(
        self, key: str, idea_runs: IdeaRuns, settled: Settlement, *, error: str = "", python: str = ""
    ) -> Response:
        refined, problem = None, ""
        try:
            refined = await asyncio.to_thread(idea_runs.refined, settled) if idea_runs.runs else None
        except RefineError as refused:
            problem = f"{refused.code}: {refused.message}"
        except ActumError as refused:
            problem = refused.message
        left_out = Counter(refined.left_out.values()) if refined is not None else Counter[str]()
        return page(
            self.studio,
            "plans.html",
            422 if error else 200,
            key=key,
            address=quote(key),
            settled=settled.query,
            refined=refined,
            left_out=left_out.most_common(),
            names={name: f"run {number}" for number, name in enumerate(refined.examples if refined else (), 1)},
            picture=await asyncio.to_thread(_picture, idea_runs.idea, refined),
            shelved=await asyncio.to_thread(lambda: idea_runs.shelved),
            is_kept=self._place is not None,
            count=len(idea_runs.runs),
            error=error,
            problem=problem,
            python=python,
        )

    async def _idea_runs(self, key: str) -> IdeaRuns:
        idea = await self.studio.open(key)
        messages = [message for message in idea.context.messages if message.get("type") != "plan"]
        context = Context.checked(messages, idea.context.data_kinds)
        without_plan = Idea(context=context, schema=idea.schema, config=idea.config, meta=idea.meta)
        agent = ready(idea, key, code=Code.to_read(), model=None).agent()
        plans = Plans(self._place) if self._place is not None and self._place.is_file() else None
        reading = plans or Plans(_PLANS)
        family = await reading.family(agent, without_plan)
        runs = [] if plans is None else await asyncio.to_thread(plans.examples, family)
        for run in await self.studio.runs.list(state="done", find=key, most=_MOST_RUNS):
            if run.row.name == key:
                runs.append(await run.idea())
        return IdeaRuns(idea=without_plan, agent=agent, plans=plans, family=family, runs=runs[:_MOST_RUNS])

    @property
    def _place(self) -> Path | None:
        """The file in which agents of the folder keep their plans."""
        folder = self.studio.shelf.folder
        return None if folder is None else folder / _PLANS


def _decide(idea_runs: IdeaRuns, settled: Settlement, action: str, hash: str, place: Path | None) -> None:
    """Approve or rest a hash, if it is still that of a plan here: another plan needs another decision.

    Raises:
        RefineError: it isn't, or the plan has open questions.
    """
    if idea_runs.plans is not None and idea_runs.shelved is not None and idea_runs.shelved.hash == hash:
        (idea_runs.plans.approve if action == "approve" else idea_runs.plans.rest)(hash)
        return
    refined = idea_runs.refined(settled)
    if action != "approve" or refined.hash != hash or place is None:
        raise RefineError("the plan is another one by now: look at it again", code="not_approved")
    asyncio.run(Plans(place).put(idea_runs.agent, idea_runs.idea, idea_runs.family, refined))


def _python(idea_runs: IdeaRuns, settled: Settlement, key: str) -> str:
    name = "".join(character if character.isalnum() else "_" for character in Path(key).stem) or "plan"
    refined = idea_runs.refined(settled)
    return asyncio.run(as_python(refined, idea_runs.runs, f"{name}.py", idea=idea_runs.idea, pinned=True)).function


def _picture(idea: Idea, refined: Refined | None) -> Markup | None:
    """The graph of the plan."""
    if refined is None:
        return None
    context = Context.checked([*idea.context.messages, refined.plan], idea.context.data_kinds)
    return picture_of(graph_of(Idea(context=context, schema=idea.schema).without_model()))

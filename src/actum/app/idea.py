"""`Idea`: a saved Request that can be run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ..generation.model import Model
from ..protocol.solution import Result
from .agent import Agent, Inputs, fitted, is_agent
from .saved import SavedIdea, folder_of, servers_file, serving

if TYPE_CHECKING:
    from typing_extensions import TypeForm

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, init=False)
class Idea(SavedIdea):
    """A context and a schema; `config` says what it needs. Its context's `origin` is where it was read from."""

    @overload
    async def run(
        self, agent: Agent | Model | str | None = None, *, input: Inputs = None, deps: Any = None
    ) -> Result[Any]: ...
    @overload
    async def run(
        self, agent: Agent | Model | str | None = None, *, output: TypeForm[T], input: Inputs = None, deps: Any = None
    ) -> Result[T]: ...
    async def run(
        self, agent: Agent | Model | str | None = None, *, output: Any = None, input: Inputs = None, deps: Any = None
    ) -> Result[Any]:
        """Run it as its `config` says: with an agent, or with a model and the process-wide tools.

        A model given here comes before the one that its config names; without any, its saved solution is the plan. An
        agent's limits and bounds stay in force; the Idea may narrow each limit. Without an agent, its delegates lie
        below its roots. `output` is a type of the output in place of its schema; `input` and `deps` are as for
        `Agent.run`.

        Raises:
            IdeaError: its config can't be used; the message names the file and the field. Otherwise as `Agent.run`.
            ServerError: a tool server that its config names can't be started; an agent's own run starts none.
        """
        base = agent if is_agent(agent) else Agent(agent, roots=self.roots)
        runner = fitted(base, self, is_own=base is not agent)
        idea = self.identified(runner.config)
        context = idea.context if runner.model is not None else idea.without_model()
        names = () if is_agent(agent) else self.settings(has_model=runner.model is not None).servers
        files = [servers_file(name, folder_of(self), self.roots or [folder_of(self)]) for name in names]
        schema = self.schema if output is None else output
        async with serving(files, runner.tools) as tools:
            runner.tools = tools
            return await runner.run(context, schema, input={} if input is None else input, deps=deps)

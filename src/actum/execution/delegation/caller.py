"""The run whose calls are delegated: what its delegates inherit of it, and what bounds them (D12, D15)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import ActumError, DelegateDepthExceeded, DelegateError, DelegateForbidden, IdeaError
from ...ideas.idea_config import IdeaConfig
from ...protocol.context import Context, told
from ...protocol.declaration import tools_of
from ...protocol.tool import Tool
from ..budget import Budget
from ..emitter import Emitter
from ..isolated import ANOTHER, Suspended, Suspension
from ..record.recorder import Recorder
from ..setup import Runtime
from .linking import Linking
from .resolver import Machine, Resolver, SavedRequest
from .spreading import Ancestor, Child, Ended, failure_of

CATCH_ALL = "_delegate"
"""The name of the Activity that carries out every delegated call: one registered under it takes its place (D16)."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A run, and what finds and bounds the delegates of its calls."""

    runtime: Runtime
    resolve: Resolver
    machine: Machine
    budget: Budget
    emit: Emitter
    record: Recorder = field(default_factory=Recorder)
    lineage: tuple[Ancestor, ...] = ()
    """The delegates that led here, from the outermost run on."""

    @property
    def deepest(self) -> int:
        """How many delegates may lie in each other."""
        limit, most = self.budget.limits.depth, self.runtime.config.max_depth
        return most if limit is None else min(limit, most)

    def check_depth(self, name: str, tool: Tool) -> None:
        """Whether another delegate may lie in those that led here.

        Raises:
            DelegateDepthExceeded: naming all of them.
        """
        most = self.deepest
        if len(self.lineage) >= most:
            chain = [*(one.name for one in self.lineage), name]
            raise DelegateDepthExceeded(
                f"delegates nest deeper than {most}: {' → '.join(map(told, chain))}", tool=tool.name
            )

    async def found(self, name: str, tool: Tool) -> SavedRequest:
        """What a name leads to, its schemas closed over the Ideas that they refer to (D2, X4).

        Raises:
            DelegateError: there is none, or it may not be used.
        """
        try:
            found = await self.resolve(name, tool)
        except DelegateError:
            raise
        except ActumError as error:
            raise DelegateError(f"{told(name)!r} can't be used: {error.message}", tool=tool.name) from error
        except Exception as error:
            raise DelegateError(
                f"{told(name)!r} could not be resolved: {type(error).__name__}", tool=tool.name
            ) from error
        if found.is_foreign:
            self._check_foreign(name, tool, found)
        try:
            return await Linking(self.resolve, self.runtime.config.max_depth)(found)
        except IdeaError as error:
            # The words of one from outside are not for its caller's model.
            reason = f"what {told(name)!r} refers to is not available" if found.is_foreign else error.message
            raise DelegateError(reason, tool=tool.name) from error

    def _check_foreign(self, name: str, tool: Tool, found: SavedRequest) -> None:
        """Refuse a delegate from outside that asks for what was not granted to it (D12, D15)."""
        try:
            asked = [*IdeaConfig.parse(found.config).asked]
            for index, message in enumerate(found.context):
                if message.get("type") == "tool":
                    for one in tools_of(message, index):
                        asked += one.choices("_activity") or [one.fixed("_activity") or ""]
        except ActumError as error:
            raise unusable(name, tool, found, error) from error
        for one in filter(None, asked):
            if one not in self.runtime.config.grants:
                raise DelegateForbidden(
                    f"{told(name)!r} comes from outside and asks for {one!r}, which is not granted: Config(grants=[…])",
                    tool=tool.name,
                )

    def below(self, lineage: Sequence[Ancestor]) -> Caller:
        """The same of a run that these delegates led to, one by one."""
        inner = self
        for one in lineage:
            inner = replace(inner, runtime=inner.runtime_of(one), lineage=(*inner.lineage, one))
        return inner

    def runtime_of(self, ancestor: Ancestor) -> Runtime:
        """What a delegate runs in: the model and the Activities that it names itself, its caller's bounds (D15)."""
        found, grants = ancestor.found, self.runtime.config.grants
        own = IdeaConfig.parse(found.config, found.context.origin or "the Idea")
        own = own.of("foreign" if found.is_foreign else "local")
        origin = None if found.is_foreign else found.context.origin
        # What is from outside may name what was granted by name, and that may lie anywhere.
        roots = None if found.is_foreign else found.roots
        tools = {name: is_own for name, is_own in ancestor.tools.items() if name not in grants}
        registry = self.machine.registry(self.runtime.registry, own.activities, origin, roots, tools)
        if found.is_foreign:
            registry = registry.granted({CATCH_ALL, *grants})
        model = self.runtime.model if own.model is None else self.machine.model(own.model)
        media = self.runtime.media
        if media is not None and found.roots:
            media = media.within(found.roots)
        return replace(self.runtime, config=own.below(self.runtime.config), model=model, registry=registry, media=media)

    def spreads(self, tool: Tool) -> bool:
        """Whether the calls of a tool are to be runs of their own, and somebody keeps such runs."""
        spread = self.runtime.config.spread
        return self.record.spread is not None and (spread if isinstance(spread, bool) else tool.name in spread)

    async def apart(
        self, at: Sequence[str], context: Context, schema: Any, tool: Tool, kept: Suspension, *, is_item: bool = False
    ) -> Any:
        """What a run of its own has come to that carries out a call of the run at `at`, within what bounds this one.

        Raises:
            Suspended: it is not over: the call waits for it.
        """
        assert self.record.spread is not None
        child = Child(
            place="/".join([*at, str(kept.place)]),
            context=list(context),
            schema=schema,
            origin=context.origin,
            lineage=[one.to_dict() for one in self.lineage],
            limits=self.budget.left,
        )
        ended: Ended | str = await self.record.spread(child)
        if isinstance(ended, str):
            kept.waiting = (f"{ANOTHER} {ended}",)
            raise Suspended
        self.budget.charge(ended.spent)
        self.budget.check()
        if ended.error is not None:
            raise failure_of(ended.error, tool, is_item=is_item)
        return ended.output


def unusable(name: str, tool: Tool, found: SavedRequest, error: ActumError) -> DelegateError:
    """Why a delegate can't begin. The words of one from outside are not for its caller's model (D12)."""
    reason = f"it can't be used: {error.code if found.is_foreign else error.message}"
    return DelegateError(reason, tool=tool.name, chain=[told(name)])

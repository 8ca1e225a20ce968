"""What a run is made of: the runtime that it shares with its delegates, and what is its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any

from ..dataflow.expression import TextBounds
from ..generation.ask import Judge
from ..generation.compile import Frame, framed
from ..generation.offer import offered, per_instance
from ..generation.request_media import takes_of
from ..protocol.config import Config
from ..protocol.context import Context
from ..protocol.tool import Tool, is_upfront
from ..schema.compose import META_SCHEMA
from ..schema.gathering import closed
from ..schema.infer import Shape
from ..schema.json import encode
from ..schema.validator import Validator
from .budget import Budget
from .ground import Runtime
from .isolated import Delegate
from .record.recorder import Recorder


@dataclass(frozen=True, kw_only=True)
class Setup:
    """One request: its context and the shape of its output. `delegate` carries out its delegated calls."""

    runtime: Runtime
    context: Context
    shape: Shape[Any]
    delegate: Delegate
    record: Recorder = field(default_factory=Recorder)
    contracts: Mapping[str, Tool] = field(default_factory=dict[str, Tool])
    """The tools whose delegates were resolved beforehand, as they are offered (D8)."""

    @property
    def config(self) -> Config:
        """How its requests are made."""
        return self.runtime.config

    async def with_contracts(self) -> Setup:
        """The same setup, with the tools resolved that have to be before composition (D8).

        Raises:
            DelegateError: where a delegate can't be had.
            SchemaError: where its schemas contradict those of the tool.
        """
        contracts = {tool.name: await self.delegate.contract(tool) for tool in self._upfront()}
        return replace(self, contracts=contracts) if contracts else self

    def has_upfront(self) -> bool:
        """Whether `with_contracts` has anything to do."""
        return any(True for _ in self._upfront())

    def _upfront(self) -> Iterator[Tool]:
        tools = offered(self.context, self.runtime.registry, self.config.tools).tools.values()
        return (tool for tool in tools if is_upfront(tool, self.config.upfront))

    def frame(self, context: Context) -> Frame:
        """What the requests of a run over this context share."""
        return framed(
            context,
            self.shape.schema,
            self.runtime.registry,
            self.config,
            dialect=self.runtime.dialect,
            handlers=self.runtime.handlers,
            contracts=self.contracts,
            takes=takes_of(self.runtime.model),
            media=self.runtime.media,
        )

    def judge(self, budget: Budget) -> Judge:
        """What judges the answers."""
        schema, shape = self.shape.schema, self.shape
        if self.config.instanced_output and self.context.instances:
            schema = per_instance(schema, self.context.instances)
            shape = shape.of_each()
        reading = TextBounds(self.context.memory(), budget.allowance)
        return Judge(shape, _closed_validator(encode(schema)), _identity_validator(), reading)


@cache
def _identity_validator() -> Validator:
    return Validator(META_SCHEMA)


@lru_cache(maxsize=128)
def _closed_validator(schema: str) -> Validator:
    return Validator(closed(json.loads(schema)))

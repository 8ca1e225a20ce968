"""Options of an MCP server: who answers in place of a model, and which tools a plan may call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..execution.approver import Approve
from ..protocol.registry import Registry

Keyless: TypeAlias = Literal["host", "caller"]
"""Who answers if there is no key here: the host's model by sampling, or by a tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpOptions:
    """`model` answers for all Ideas, None for those that need one and have none. `graph` are the tools of `carry_out`.

    `approve` decides on the calls of a plan, by default those wait that don't only read. `place` is what `--store` is
    given to reach the runs, None where nothing can.
    """

    model: Keyless | None = None
    graph: Registry | None = None
    approve: Approve | None = None
    place: str | None = None

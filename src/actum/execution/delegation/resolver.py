"""What a `_delegate` leads to, and the ports that find it and what its config names (D2, D15)."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from ...generation.model import Model
from ...protocol.catalog import Catalog
from ...protocol.config import Config
from ...protocol.context import Context
from ...protocol.tool import Tool
from ...schema.infer import shape_of
from ...schema.json import JsonObject, encode, plain
from ...sources.actum_server import Remote


@dataclass(frozen=True, kw_only=True)
class SavedRequest:
    """What a `_delegate` points to, as it was saved. `is_foreign`: from outside, so that nothing local is its (D12)."""

    context: Context = field(default_factory=Context)
    schema: Any = None
    meta: JsonObject = field(default_factory=dict[str, Any])
    config: JsonObject = field(default_factory=dict[str, Any])
    solution: JsonObject | None = None
    is_foreign: bool = False
    roots: Sequence[Path] | None = ()
    """The folders in which modules that its config names may lie; None where the program says what it names."""

    @property
    def version(self) -> str:
        """The version that it says it is, empty where it says none."""
        return str(self.meta.get("version", ""))

    @cached_property
    def digest(self) -> str:
        """What it is known by: another one for another request, the same for the same."""
        schema = None if self.schema is None else shape_of(self.schema).schema
        whole = [self.context.messages, schema, self.meta, self.config, self.solution]
        return hashlib.sha256(encode(plain(whole), sort_keys=True).encode()).hexdigest()


class Resolver(Protocol):
    """Finds what a `_delegate` points to (D2)."""

    def __call__(self, reference: str, tool: Tool) -> Awaitable[SavedRequest]:
        """The saved request.

        Raises:
            DelegateError: there is none, or it may not be used.
        """
        ...


class Machine(Protocol):
    """What names lead to on this machine: those in a delegate's config, and those of registered delegates."""

    @property
    def delegates(self) -> Collection[str]:
        """The names under which delegates are registered."""
        ...

    def remote(self, address: str, config: Config) -> Remote:
        """The Idea at an address of another server, with the token for its host."""
        ...

    def model(self, name: str) -> Model:
        """The model of this name, the same for the same name.

        Raises:
            ModelError: where it isn't available; the message says what is missing.
        """
        ...

    def registry(
        self,
        registry: Catalog,
        activities: Sequence[str],
        origin: str | None,
        roots: Sequence[Path] | None,
        tools: Mapping[str, bool] | None = None,
    ) -> Catalog:
        """The registry with the Activities of these modules; files among them start from `origin`, below `roots`.

        `tools` are those that a delegate's messages define, each with whether it is its own (D13).

        Raises:
            IdeaError: there is no such module, it may not be reached, or it fails.
        """
        ...

"""What the names in `_delegate` stand for in one agent (D2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import DelegateForbidden, DelegateNotFound, IdeaError
from ..execution.delegate import Delegated, Resolver
from ..protocol.context import Context
from ..protocol.tool import Tool
from .idea import Idea

AnyDelegate: TypeAlias = "Idea | Mapping[str, Any] | str | Path"


def resolver(delegates: Mapping[str, AnyDelegate], roots: Sequence[Path]) -> Resolver:
    """Find delegates by registered name, or by a path that stays inside the roots."""

    def resolve(reference: str, tool: Tool) -> Delegated:
        if reference in delegates:
            return _delegated(delegates[reference])
        if "://" in reference or reference.startswith("idea:"):
            raise DelegateForbidden(f"{reference!r} is an address: this version loads delegates by name and path only")
        base = Path(tool.origin).parent if tool.origin else None
        for folder in ([base] if base else []) + list(roots):
            path = (folder / reference).resolve()
            if path.is_file():
                if not any(path.is_relative_to(root.resolve()) for root in roots):
                    raise DelegateForbidden(f"{reference!r} lies outside the roots of the agent", tool=tool.name)
                return _delegated(path)
        known = ", ".join(sorted(delegates)) or "none"
        raise DelegateNotFound(f"no delegate {reference!r}; registered are: {known}", tool=tool.name)

    return resolve


def _delegated(delegate: AnyDelegate) -> Delegated:
    try:
        if isinstance(delegate, str | Path):
            delegate = Idea.load(delegate)
        if isinstance(delegate, Idea):
            return Delegated(context=tuple(delegate.context), schema=delegate.schema)
        return Delegated(context=tuple(Context(delegate.get("context", ()))), schema=delegate.get("schema"))
    except IdeaError as error:
        raise DelegateNotFound(error.message) from error

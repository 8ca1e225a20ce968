"""The Activities of Python modules as they are written: what looking at an Idea needs of its code, which never runs.

A module is parsed. What it registers with `actum.tools` at its top level is registered likewise, with the parameters
and the types that are written there, so that tools come out as they would for a run, byte for byte. What only running
it could tell is left out, and said. Modules that it imports from its own folder are read as well, other libraries not.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...errors import IdeaError
from ...protocol.registry import Registry
from ..modules import find_module
from .annotations import Types
from .classes import made_class
from .module import Modules
from .registering import Registering

__all__ = ["read_activities"]


def read_activities(name: str, base: Path, registry: Registry, roots: Sequence[Path] | None = None) -> list[str]:
    """Register in `registry` what a module would register if it were loaded; `roots` as for `load_activities`.

    Returns:
        What was left out, a line each: file, line, and what it is.

    Raises:
        IdeaError: there is no such module, it lies outside the roots, or it is not Python.
    """
    path = find_module(name, base, roots)
    if path is None:
        return []
    if path.suffix != ".py":
        raise IdeaError(f"the Activities {name!r}: not written in Python")
    folder = path.parent if name.endswith(".py") else path.parents[name.count(".") + (path.name == "__init__.py")]
    modules = Modules(folder, None if roots is None else [*roots])
    own = Registry()  # as when it is loaded, what has its names already is not in its way
    registering = Registering(own, modules, Types(modules, made_class))
    registering.all_of(modules.read(path))
    registry.take(own)
    return registering.left_out

"""What is served by packages of an extra: where those are missing, one line says which to install."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Literal, TypeAlias

from ..errors import IdeaError
from ..schema.installing import pip_install

Extra: TypeAlias = Literal["serve", "mcp"]
_NEEDS: Mapping[Extra, tuple[str, str]] = {"serve": ("starlette", "serving over HTTP"), "mcp": ("mcp", "serving MCP")}


def is_installed(extra: Extra) -> bool:
    """Whether what an extra brings can be imported here."""
    try:
        return find_spec(_NEEDS[extra][0]) is not None
    except ValueError:  # it was taken out of sys.modules
        return False


def check_installed(extra: Extra) -> None:
    """Look for what an extra brings, without importing it.

    Raises:
        IdeaError: it is not installed; the message says how to.
    """
    if not is_installed(extra):
        raise IdeaError(f"{_NEEDS[extra][1]} needs an extra: {pip_install(extra)}")

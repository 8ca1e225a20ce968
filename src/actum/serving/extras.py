"""The extras that serving needs; if one is missing, an error says which to install."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Literal, TypeAlias

from ..errors import IdeaError
from ..schema.installing import pip_install

Extra: TypeAlias = Literal["serve", "mcp"]
_NEEDS: Mapping[Extra, tuple[str, str]] = {"serve": ("starlette", "serving over HTTP"), "mcp": ("mcp", "serving MCP")}


def is_installed(extra: Extra) -> bool:
    """Whether the packages of an extra can be imported."""
    try:
        return find_spec(_NEEDS[extra][0]) is not None
    except ValueError:  # it is a module without a spec
        return False


def check_installed(extra: Extra) -> None:
    """Check that the packages of an extra are installed, without importing them.

    Raises:
        IdeaError: it is not installed; the message says how to.
    """
    if not is_installed(extra):
        raise IdeaError(f"{_NEEDS[extra][1]} needs an extra: {pip_install(extra)}")

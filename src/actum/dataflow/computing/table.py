"""A published function or method: how it is called, and what carries it out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MANY = 4_000
"""More arguments than a source has characters."""


@dataclass(frozen=True, slots=True)
class Function:
    """What is run with a `Meter` and the arguments, of a method with its owner first; it spends its steps before."""

    run: Callable[..., Any]
    least: int = 1
    most: int = 1
    keywords: tuple[str, ...] = ()

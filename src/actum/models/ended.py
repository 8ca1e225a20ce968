"""How an answer ended, whichever way it was asked for."""

from __future__ import annotations

from dataclasses import dataclass

from ..generation.model import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What an answer has cost, why it ended (None if it only stopped coming) and the words in which it declined."""

    usage: Usage
    reason: str | None
    refusal: str | None = None

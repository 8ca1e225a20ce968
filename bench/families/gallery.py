"""Families of the gallery: the desk that learns, whose tickets are of four kinds.

Left out are its other programs. The nightly report and the folder of texts are plans already. The others play answers
that were written for one input, and runs with delegates that judge, calls that wait for a person, or several turns are
no examples (R3, R18, R30).
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from docs.gallery.gallery_runs import example

from actum import models
from actum.refine import Refined

from ..fit.wiring import Made
from .planned import declared, noted

_DAYS = 10_000


class Ticket:
    """Tickets of one kind; the program itself plays the desk's model."""

    has_effects = False

    def __init__(self, name: str, program: Any) -> None:
        self.name, self._program = name, program
        self.made: list[Made] = []
        self.context: list[Any] = program.KINDS[name].context
        self.schema: dict[str, Any] = {}
        self.tools = declared(self, ((tool.name, tool.schema, tool.effects) for tool in program.tools))

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call one of the desk's tools."""
        answer = await self._program.tools({"_tool": name, **arguments})
        self.made.append(Made(name, arguments, answer))
        return answer

    def drawn(self, random: Random) -> dict[str, Any]:
        """The input of one of the tickets of a day at random."""
        tickets = self._program.tickets_of(random.randrange(_DAYS))
        return random.choice([given for kind, given in tickets if kind == self.name])

    def begin(self) -> None:
        """Forget the calls."""
        self.made.clear()

    async def played(self, given: dict[str, Any]) -> models.Scripted:
        """The desk's model."""
        return await self._program.played(self.name, given)

    def done(self) -> list[str]:
        """The calls."""
        return noted(self.made)

    def settled(self, _: Refined) -> tuple[dict[str, str], list[str]]:
        """Nobody has anything to say to questions."""
        return {}, []


def families(count: int, _: Random) -> list[Ticket]:
    """The kinds of tickets."""
    program: Any = example("learning")
    return [Ticket(name, program) for name in program.KINDS][:count]

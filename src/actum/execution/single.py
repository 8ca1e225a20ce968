"""Exactly one answer, of which nothing is carried out."""

from __future__ import annotations

from typing import Any

from ..errors import ActumError
from ..generation.ask import ask
from ..generation.model import Model
from ..generation.model_chain import chain_of
from ..protocol.marks import Marks
from ..protocol.solution import Result, Solution
from .asking import Asking
from .budget import Budget, check_price
from .emitter import Emitter
from .record.journal import Journal
from .script import Script
from .setup import Setup


async def request_once(setup: Setup, budget: Budget, emit: Emitter) -> Solution[Any]:
    """Ask once, again where the answer is unusable (L3), and give out what was answered as it was authored.

    Raises:
        SolutionError, ModelError, LimitExceeded: there was no usable answer.
    """
    model: Model | None = setup.runtime.model
    assert model is not None
    setup = await setup.contracted()
    journal = Journal(setup.context, setup.runtime.handlers)
    judge = setup.judge(budget)
    script = Script(number=Marks.of(setup.context.messages).next_answer, start=len(journal))
    turn = Asking(script=script, journal=journal, calls=None, budget=budget, emit=emit)
    try:
        frame = setup.frame(setup.context)
        check_price(budget.limits, chain_of(model))
        answered, _ = await ask(model, frame, judge, turn, turn, retries=setup.config.retries, begin=turn.begin)
    except ActumError as error:
        error.result = Result(output=None, context=setup.context, usage=budget.usage)
        raise
    output: Any = None
    if answered.output is not None:
        output = answered.authored if answered.output.expressions else answered.finished
    return turn.script.solution(answered, output, journal.instances)

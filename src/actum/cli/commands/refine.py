"""`actum refine`: kept runs of an Idea become a plan that needs no model, proved by replaying them (R1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated

from cyclopts import Parameter

from ...errors import IdeaError, RefineError
from ...inspection.wording import short
from ...refine import Refined, refine
from ...schema.json import JsonObject
from ..options import CommandError, JsonFlag, Several
from ..render.terminal import say, say_json, tell

_OPEN, _NOTHING = 3, 1


async def actum_refine(
    *runs: str,
    idea: str,
    save: str | None = None,
    confirm: Annotated[Several, Parameter(negative=())] = None,
    json: JsonFlag = False,
) -> int:
    """Derive a plan from kept runs of an Idea, and prove it by replaying them; no model is asked, no call made.

    What varies among the runs becomes a reference to the input or to a result, a choice, a sum or a text; what is the
    same in all and said nowhere is a question, which --confirm settles. Nothing is saved that isn't proved. The exit
    code is 1 where nothing could be derived or proved, and 3 where questions are open.

    Parameters
    ----------
    runs
        Kept runs of one Idea.
    idea
        The Idea's file.
    save
        The file for the Idea with its plan.
    confirm
        A value that is a constant, by its place, such as 3.days; 3.days=†input.days takes a reference instead.
    json
        Print the report as JSON.
    """
    if not runs:
        raise CommandError("name the runs: actum refine runs/desk-*.json --idea desk.json")
    settled = {leaf: text for leaf, _, text in (one.partition("=") for one in confirm or [])}
    try:
        found = await refine(runs, idea=idea, confirm=settled)
    except RefineError as error:
        tell(f"actum: {error.code}: {error.message}")
        return _NOTHING
    if json:
        say_json(_told(found))
    else:
        for line in _lines(found):
            say(line)
    if found.questions:
        count = len(found.questions)
        tell(f"actum: {count} question{'s are' if count > 1 else ' is'} open; nothing is saved")
        return _OPEN
    if not found.proof.holds:
        tell(f"actum: not_proved: {found.proof.why}")
        return _NOTHING
    if save is not None:
        try:
            found.save(save)
        except IdeaError as error:
            raise CommandError(error.message) from None
    return 0


def _lines(found: Refined) -> Iterator[str]:
    calls = [str(call["_tool"]) for call in found.plan["plan"] if "_tool" in call]
    reasons = Counter(found.left_out.values())
    left_out = f" · {reasons.total()} left out ({_counted(reasons)})" if reasons else ""
    yield f"{len(found.examples)} runs of one shape: {' → '.join(calls) or 'no calls'}{left_out}"
    width = max((len(one.leaf) for one in found.notes), default=0)
    texts = max((len(_text(one.text)) for one in found.notes), default=0)
    for one in found.notes:
        mark = "? " if one.how in {"question", "hole"} else ""
        yield f"  {one.leaf:<{width}}  {_text(one.text):<{min(texts, 40)}}  {mark}{one.why}"
    proof = found.proof
    if proof.examples:
        held_out = f"{proof.right} right, {proof.left} left, {proof.wrong} wrong"
        same = f"{proof.same} of {proof.examples} the same bytes"
        yield f"proof: {same} · held out: {held_out} · requests {found.requests:.1f} → 0"


def _counted(reasons: Counter[str]) -> str:
    return ", ".join(f"{code}: {count}" for code, count in reasons.most_common())


def _text(value: object) -> str:
    return value if isinstance(value, str) else short(value, 40)


def _told(found: Refined) -> JsonObject:
    questions: Sequence[JsonObject] = [
        {"leaf": one.leaf, "value": one.value, "why": one.why} for one in found.questions
    ]
    proof = found.proof
    return {
        "hash": found.hash,
        "plan": found.plan,
        "notes": {one.leaf: {"text": one.text, "how": one.how, "why": one.why} for one in found.notes},
        "questions": list(questions),
        "proof": {name: getattr(proof, name) for name in ("examples", "same", "right", "left", "wrong", "why")},
        "examples": list(found.examples),
        "left_out": dict(found.left_out),
        "effects": list(found.effects),
        "requests": found.requests,
    }

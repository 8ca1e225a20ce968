"""`actum refine`: kept runs of an Idea become a plan that needs no model, proved by replaying them (R1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ...app.idea import Idea
from ...app.loading import Code, ready
from ...errors import IdeaError, RefineError
from ...ideas.file import read_idea
from ...ideas.store import parse_address
from ...inspection.wording import short
from ...refine import Plans, Refined, as_python, refine
from ...refine import never as mark_never
from ...refine import prove as prove_plan
from ...schema.json import JsonObject
from ..options import CommandError, library_of, runs_at
from ..render.terminal import say, say_below, say_json, tell
from .save import tell_saved

_OPEN, _NOTHING = 3, 1
_MOST_SUBMITTED = 50


async def actum_refine(
    *runs: str,
    idea: str | None = None,
    store: Annotated[str | None, Parameter(name="--runs")] = None,
    save: str | None = None,
    confirm: list[str] | None = None,
    expect: list[str] | None = None,
    ignore: list[str] | None = None,
    same: list[str] | None = None,
    prove: str | None = None,
    python: str | None = None,
    never: str | None = None,
    plans: str | None = None,
    approve: str | None = None,
    tenant: str = "",
    share: list[str] | None = None,
    fill: str | None = None,
    json: bool = False,
) -> int:
    """Derive a plan from kept runs of an Idea, and prove it by replaying them; no call is made, and only FILL asked.

    What varies among the runs becomes a reference to the input or to a result, a choice, a sum or a text; what is the
    same in all and said nowhere is a question, which --confirm settles. Nothing is saved that isn't proved. The exit
    code is 1 where nothing could be derived or proved, and 3 where questions are open.

    Parameters
    ----------
    runs
        Kept runs of one Idea.
    idea
        The Idea's file.
    store
        Where runs were submitted, as for actum submit: those of the Idea that are done are taken, too.
    save
        The file for the Idea with its plan, or an address of the store, such as idea:~refined/desk.
    confirm
        A value that is a constant, by its place, such as 3.days; 3.days=†input.days takes a reference instead.
    expect
        What calls returned that has to stay as it was in all runs, such as calls.0.status.
    ignore
        What calls returned that may be otherwise than it was in all runs.
    same
        How a part of the output is compared: output.ids=set, output.mean=number:1e-9 or output.note=any.
    prove
        An Idea with a plan that was edited: it alone is proved by the runs.
    python
        The file for the plan as a typed Python function, for example desk.py; its tests are written next to it.
    never
        A kept run from which nothing is to be derived.
    plans
        The file of an agent's plans; alone, they are listed.
    approve
        The hash of a plan of that file, which is used from now on, whatever effects its tools have.
    tenant
        Whose plans they are.
    share
        Who gets the plan in the file of plans: of runs of three callers at least, as CALLER=FILE.
    fill
        The model that the plan asks for what nothing explains, where it agrees with ten held-out runs and all others.
    json
        Print the report as JSON.
    """
    try:
        if never is not None:
            mark_never(never)
            return 0
        if share is not None:
            return await _share(plans or "plans.db", tenant, idea or "", runs, share)
        if plans is not None or approve is not None:
            return _list_plans(plans or "plans.db", approve, tenant, is_json=json)
        examples = [*runs, *await _submitted(store, idea or prove or "")]
        if not examples or (idea or prove) is None:
            missing = "the Idea that they are runs of" if examples else "the runs"
            raise CommandError(f"name {missing}: actum refine runs/desk-*.json --idea desk.json")
        modes = _by_leaf(same or [])
        if prove is not None:
            refined = await prove_plan(prove, examples, same=modes)
        else:
            answers = _by_leaf([*(confirm or []), *(expect or [])])
            refined = await refine(
                examples, idea=str(idea), confirm=answers, ignore=ignore or [], same=modes, fill=fill
            )
        code = await _report(refined, save, is_json=json)
        if python is not None and not code:
            module = await as_python(refined, examples, python, idea=str(idea or prove), same=modes)
            path = module.save()
            tests = f"; its tests: {path}" if module.tests else ""
            tell(f"{module.path}, proved by {len(refined.examples)} runs{tests}")
        return code
    except RefineError as error:
        tell(f"actum: {error.code}: {error.message}")
        return _NOTHING


def _by_leaf(options: Sequence[str]) -> dict[str, str]:
    return {leaf: text for leaf, _, text in (option.partition("=") for option in options)}


async def _share(place: str, tenant: str, idea: str, runs: Sequence[str], to: Sequence[str]) -> int:
    """Share the plan of runs of several callers with others."""
    pairs = [run.partition("=") for run in runs]
    if not idea or not pairs or not all(path for _, _, path in pairs):
        raise CommandError(
            "name whose runs: actum refine acme=run-1.json bolt=run-2.json … --idea desk.json --share core"
        )
    by_caller: dict[str, list[str]] = {}
    for caller, _, path in pairs:
        by_caller.setdefault(caller, []).append(path)
    loaded = Idea.load(idea)
    agent = ready(loaded, idea, code=Code.to_run(), model=None).agent()
    say(f"{await Plans(place, tenant=tenant).share(agent, loaded, by_caller, to)}  shared with {', '.join(to)}")
    return 0


async def _submitted(store: str | None, idea: str) -> Sequence[Idea]:
    """The newest runs of an Idea in a store that are done."""
    if store is None:
        return ()
    async with runs_at(store) as kept_runs:
        runs = await kept_runs.list(state="done", find=idea, most=_MOST_SUBMITTED)
        return [await run.idea() for run in runs if run.row.name == idea]


def _list_plans(place: str, approve: str | None, tenant: str, *, is_json: bool) -> int:
    """List the plans of a file, or approve one and show its calls."""
    shelf = Plans(place, tenant=tenant)
    if not Path(place).is_file():
        raise CommandError(f"there are no plans in {place}")
    if approve is not None:
        shelf.approve(approve)
    listed = [plan for plan in shelf.list() if approve in {None, plan.hash}]
    if not listed and approve is None:
        tell(f"actum: no plan has been derived in {place} yet")
    if is_json:
        keys = ("hash", "family", "state", "effects", "plan")
        say_json([{key: value for key, value in asdict(plan).items() if key in keys} for plan in listed])
        return 0
    for plan in listed:
        effects = f" · effects: {', '.join(plan.effects)}" if plan.effects else ""
        say(f"{plan.hash}  {plan.state}  {_calls(plan.plan)}{effects}")
        for at, call in enumerate(plan.plan["plan"] if approve is not None else []):
            say(f"  {at}  {short(call, 100)}")
    return 0


async def _report(refined: Refined, save: str | None, *, is_json: bool) -> int:
    if is_json:
        say_json(_as_json(refined))
    else:
        for line in _lines(refined):
            say_below(0, line)
    if refined.questions:
        count = len(refined.questions)
        tell(f"actum: {count} question{'s are' if count > 1 else ' is'} open; nothing is saved")
        return _OPEN
    if not refined.proof.holds:
        tell(f"actum: not_proved: {refined.proof.why}")
        return _NOTHING
    if save is not None:
        await _save(refined, save)
    return 0


async def _save(refined: Refined, target: str) -> None:
    try:
        if not target.startswith("idea:"):
            refined.save(target)
            return
        text = read_idea(refined.text, target)
        async with library_of(None, makes=True) as library:
            tell_saved(await library.save(text, parse_address(target), note=f"refined of {len(refined.examples)} runs"))
    except IdeaError as error:
        raise CommandError(error.message) from None


def _lines(refined: Refined) -> Iterator[str]:
    reasons = Counter(refined.left_out.values())
    left_out = f" · {reasons.total()} left out ({_counted(reasons)})" if reasons else ""
    yield f"{len(refined.examples)} runs of one shape: {_calls(refined.plan)}{left_out}"
    width = max((len(note.leaf) for note in refined.notes), default=0)
    texts = max((len(_text(note.text)) for note in refined.notes), default=0)
    for note in refined.notes:
        mark = "? " if note.how in {"question", "hole"} else ""
        yield f"  {note.leaf:<{width}}  {_text(note.text):<{min(texts, 40)}}  {mark}{note.why}"
    proof = refined.proof
    if proof.examples:
        held_out = f"{proof.right} right, {proof.left} left, {proof.wrong} wrong"
        same = f"{proof.same} of {proof.examples} the same bytes"
        held_out = f" · held out: {held_out}" if proof.by_run else ""
        agreement = f" · the model agrees in {proof.agreed} of {proof.asked}" if proof.asked else ""
        yield f"proof: {same}{held_out}{agreement} · requests {refined.requests:.1f} → {refined.asks}"


def _calls(plan: JsonObject) -> str:
    return " → ".join(str(call["_tool"]) for call in plan["plan"] if "_tool" in call) or "no calls"


def _counted(reasons: Counter[str]) -> str:
    return ", ".join(f"{code}: {count}" for code, count in reasons.most_common())


def _text(value: object) -> str:
    return value if isinstance(value, str) else short(value, 40)


def _as_json(refined: Refined) -> JsonObject:
    proved = ("examples", "same", "right", "left", "wrong", "asked", "agreed", "why")
    return {
        "hash": refined.hash,
        "plan": refined.plan,
        "notes": {item.leaf: {"text": item.text, "how": item.how, "why": item.why} for item in refined.notes},
        "questions": [asdict(item) for item in refined.questions],
        "proof": {name: getattr(refined.proof, name) for name in proved},
        "examples": list(refined.examples),
        "left_out": dict(refined.left_out),
        "effects": list(refined.effects),
        "requests": refined.requests,
        "asks": refined.asks,
    }

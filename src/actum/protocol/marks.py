"""What the marks of a context say: which answers its plans are, and what each of their calls has left (C9)."""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from ..errors import MessageError
from ..schema.json import JsonObject, encode, is_object, without_keys
from .applying import is_numbered
from .approvals import PRIVATE, is_decision
from .call import Place
from .context import Context
from .message import BY, CALLER, NUMBER, OF, PLACES, REFINED, RUN, TRACE, is_item, is_record, is_skip, place_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Authored:
    """An answer, or a plan that was given: its number (C9), its calls as they were written, and where it began."""

    number: int
    start: int
    """How many messages were in the context before it."""
    calls: Sequence[Any]
    output: Any = None
    is_given: bool = False
    """Whether the author of the context wrote it as a plan; else a model did (S9)."""
    refined: str = ""
    """The hash of the plan that was refined of runs; empty for others."""
    run: str = ""
    """The id of the run that began it, empty if no run has yet."""
    places: Mapping[int, Place] = field(default_factory=dict[int, Place])
    """The places of the calls that an earlier attempt of the answer had started, by index (L3)."""
    is_settled: bool = False
    """Whether its output has been delivered, which ends the plan (M4)."""

    def place(self, index: int) -> Place:
        """The place of its call with this index."""
        return self.places.get(index) or Place(self.number, index)


@dataclass(frozen=True, slots=True)
class Marks:
    """The plans of a context, and for each place the indices of the messages that were left there."""

    plans: Sequence[Authored]
    left: Mapping[Place, Sequence[int]]
    next_answer: int
    """The number of the next answer."""

    @property
    def standing(self) -> list[Authored]:
        """The plans whose output has not been delivered: their calls can still be made (M4)."""
        return [plan for plan in self.plans if not plan.is_settled]

    @classmethod
    def of(cls, messages: Sequence[JsonObject]) -> Marks:
        """Read the marks of messages that were judged before.

        Raises:
            MessageError: two plans have one number, or what was left or decided doesn't say of which call.
        """
        left: defaultdict[Place, list[int]] = defaultdict(list)
        plans_at: list[int] = []
        decided: list[tuple[int, Place]] = []
        settled: set[int] = set()
        failed: list[int] = []
        for index, message in enumerate(messages):
            place, kind = place_of(message), message.get("type")
            if kind == "plan":
                plans_at.append(index)
            elif kind in PRIVATE:
                decided.append((index, Place.parse(message["of"])))
            elif place is not None:
                left[place].append(index)
                if kind == "output":
                    settled.add(place.answer)
            elif "_call" in message and plans_at:
                raise _unmarked(index, "it was left by a call and doesn't say by which (`_of`)")
            elif kind == "error" and plans_at:
                failed.append(index)
        if not (left or plans_at or decided):
            return cls((), {}, 0)
        plans, count = _numbered(messages, plans_at, {place.answer for place in left}, decided)
        plans = [replace(plan, is_settled=True) if plan.number in settled else plan for plan in plans]
        for index in failed:
            if any(plan.start < index and messages[index].get("call") in plan.calls for plan in plans):
                raise _unmarked(index, "a call of a plan has failed, and nothing says which (`_of`)")
        return cls(plans, left, count)

    def with_earlier_attempts(self, answers: Iterable[Authored], messages: Sequence[JsonObject]) -> dict[int, Authored]:
        """These answers by number, with the calls that earlier attempts of them have made and that they don't list.

        Those come behind an answer's own, as in the plan of one that was cut (L3). `messages` are those of the marks.
        """
        known = {answer.number: answer for answer in answers}
        listed = {answer.place(index) for answer in known.values() for index in range(len(answer.calls))}
        numbers = sorted(known)
        missing: defaultdict[int, dict[Place, JsonObject]] = defaultdict(dict)
        for at, (first, *_) in self.left.items():
            place, index = at.parent or at, bisect(numbers, at.answer)
            call = messages[first].get("_call", messages[first].get("call"))
            if place in listed or index == len(numbers) or not is_object(call):
                continue
            if first >= known[numbers[index]].start:  # else it is of an earlier run
                missing[numbers[index]].setdefault(place, call)
        for number, calls in missing.items():
            answer = known[number]
            places = {**answer.places, **dict(enumerate(calls, len(answer.calls)))}
            known[number] = replace(answer, calls=[*answer.calls, *calls.values()], places=places)
        return known

    def marked(self, messages: Sequence[JsonObject], run: str) -> list[JsonObject]:
        """The messages with each plan marked by its number and, unless a run has begun it, by this run's id."""
        marked = list(messages)
        for plan in self.plans:
            marked[plan.start] = {**marked[plan.start], OF: str(plan.number), RUN: plan.run or run}
        return marked


def _numbered(
    messages: Sequence[JsonObject], plans_at: Sequence[int], left: Collection[int], decided: Sequence[tuple[int, Place]]
) -> tuple[list[Authored], int]:
    """The plans at these indices with their numbers, and the number of the next answer."""
    marked = (place_of(messages[index]) for index in plans_at)
    used = {*left, *(place.answer for place in marked if place is not None)}
    new = [index for index in plans_at if OF not in messages[index]]
    for index, place in decided:
        if place.answer not in used and new and new[0] < index:
            raise _unmarked(index, f"nothing says what call {place} is: no plan before it is answer {place.answer}")
    count = max((number + 1 for number in (*used, *(place.answer for _, place in decided))), default=0)
    plans: list[Authored] = []
    for index in plans_at:
        plan = _plan(messages[index], index, count)
        count = max(count, plan.number + 1)
        plans.append(plan)
    if len({plan.number for plan in plans}) < len(plans):
        raise MessageError("two of its plans are marked as one answer: they come from different runs")
    return plans, count


def _unmarked(index: int, problem: str) -> MessageError:
    return MessageError(f"{problem}; contexts from before 0.1.0 can't be gone on with: begin a new run", index=index)


def plan_message(calls: Iterable[Mapping[str, Any]], output: Any) -> JsonObject:
    """An answer as a plan message, so that its open calls can be made later (P2, L8)."""
    plan: JsonObject = {"type": "plan", "plan": [dict(call) for call in calls]}
    return plan if output is None else {**plan, "output": output}


def without_output(plan: JsonObject) -> JsonObject:
    """A plan without its output, so that only its calls are left (O9)."""
    return without_keys(plan, {"output"})


def plan_marks(number: int, run: str, places: Mapping[int, Place], trace: str = "") -> JsonObject:
    """The marks of a plan message that a run makes of a model's answer (C9, S9), with where it is traced."""
    marks: JsonObject = {OF: str(number), RUN: run, BY: "model"} | ({TRACE: trace} if trace else {})
    return marks | ({PLACES: {str(index): str(place) for index, place in places.items()}} if places else {})


def without_run(messages: Iterable[JsonObject]) -> list[JsonObject]:
    """The messages as another run takes them over, its delegates' too: without what ties them to their run (C9)."""
    return [
        {**message, "context": without_run(message["context"])}
        if message.get("type") == "suspended"
        else without_keys(message, _OF_A_RUN)
        for message in messages
    ]


_OF_A_RUN = frozenset({RUN, TRACE, CALLER})


def traceparent_of(messages: Sequence[JsonObject]) -> str:
    """The `traceparent` of the span of the run that the messages go on from, empty where it wasn't traced."""
    return next((str(message[TRACE]) for message in reversed(messages) if TRACE in message), "")


def caller_traceparent(messages: Sequence[JsonObject]) -> str:
    """The `traceparent` of the span in another program that has asked for the run, empty where none has."""
    return next((str(message[CALLER]) for message in reversed(messages) if CALLER in message), "")


def _plan(message: JsonObject, index: int, number: int) -> Authored:
    place = place_of(message)
    return Authored(
        number=number if place is None else place.answer,
        start=index,
        calls=message["plan"],
        output=message.get("output"),
        is_given=BY not in message and "_call" not in message,
        refined=str(message.get(REFINED, "")),
        run=message.get(RUN, ""),
        places={int(key): Place.parse(text) for key, text in message.get(PLACES, {}).items()},
    )


_SAID = frozenset({"user", "assistant", "text", None, "image", "audio", "file", "output", "error"})
"""The types of what is said in a turn; a raw message has none."""


_WORDS = _SAID - {"output", "error"}


def next_turn(context: Context) -> tuple[Context, list[JsonObject]]:
    """The current turn of a conversation, and the messages that open the next one (M4).

    These come after everything that a run has left, and somebody says something in them. Decisions on the plan, and
    messages that open its gates, belong to the current turn.
    """
    messages, kinds = context.messages, context.data_kinds
    left = [at for at, message in enumerate(messages) if _is_left(message)]
    if not left:
        return context, []
    behind = messages[left[-1] + 1 :]
    words = [message for message in behind if not is_decision(message, kinds)]
    if not any(map(is_said, words)):
        return context, []
    turn = [*messages[: left[-1] + 1], *(message for message in behind if is_decision(message, kinds))]
    return Context.checked(turn, kinds, context.origin), words


def turn_starts(messages: Sequence[JsonObject]) -> list[int]:
    """Where the second and later turns of a conversation begin: with words after what a run has left."""
    starts: list[int] = []
    has_left = False
    for at, message in enumerate(messages):
        if _is_left(message):
            has_left = True
        elif has_left and is_said(message):
            starts.append(at)
            has_left = False
    return starts


def is_said(message: JsonObject) -> bool:
    """Whether somebody says something in a message that wasn't left by a run."""
    return message.get("type") in _WORDS and "_call" not in message and OF not in message


def _is_left(message: JsonObject) -> bool:
    """Whether a run has left a message; a plan counts if the run has made it of a model's answer."""
    if message.get("type") in PRIVATE:
        return not is_decision(message)
    return "_call" in message or (BY if message.get("type") == "plan" else OF) in message


def cut_to(context: Context, most: int) -> Context:
    """The context without the oldest turns that don't fit into so many characters; the newest always stays.

    What was said, and the results of the calls that were made for it, go together, each with its call, and with them
    the plan, once it is settled: what a plan that stands has left, stays with it, or its calls would be made again.
    Instructions, tools and data stay, and so does the newest result, so that its number is not given again (M9).
    """
    return without_messages(context, to_cut(context, most))


def to_cut(context: Context, most: int) -> frozenset[int]:
    """Which messages `cut_to` leaves out."""
    messages = context.messages
    ends = list(_ends(messages))
    sizes = [len(encode(message)) for message in messages]
    left = sum(sizes)
    newest = max((message.get(NUMBER, -1) for message in messages), default=-1)
    standing = {plan.number for plan in Marks.of(messages).standing}
    cut: set[int] = set()
    start = _opening(messages, ends[0]) if ends else 0
    for end in ends[:-1]:
        if left <= most:
            break
        turn = [at for at in range(start, end) if _goes(messages[at], newest, standing)]
        cut.update(turn)
        left -= sum(sizes[at] for at in turn)
        start = end
    return frozenset(cut)


def without_messages(context: Context, cut: Collection[int], instead: JsonObject | None = None) -> Context:
    """The context without these messages, perhaps with another where the first of them stood."""
    if not cut:
        return context
    first = min(cut)
    messages = [message for at, message in enumerate(context.messages) if at not in cut]
    if instead is not None:
        messages.insert(first, instead)  # no message before the first of them is gone
    return context.with_messages(messages)


def without_plans(context: Context, but: Collection[int] = ()) -> Context:
    """The context without its plans and their pending decisions, so that none of their calls is made any more.

    The plans of the answers `but` stay.
    """
    standing = {plan.number for plan in Marks.of(context.messages).standing} - {*but}
    messages = [
        message
        for message in context
        if not (message.get("type") == "plan" and Place.parse(message.get(OF, "0")).answer not in but)
        and not (message.get("type") in PRIVATE and Place.parse(message["of"]).answer in standing)
    ]
    return context.with_messages(messages)


def is_users(message: JsonObject) -> bool:
    """Whether the user says something."""
    kind = message.get("type")
    return kind == "user" or (kind in ("text", None) and message.get("role", "user") == "user")


def _ends(messages: Sequence[JsonObject]) -> Iterator[int]:
    """Where turns have ended; a turn whose plan still stands has not, whatever the assistant has said in it."""
    has_plan = False
    for end, (message, following) in enumerate(pairwise([*messages, {}]), 1):
        has_plan = has_plan or message.get("type") == "plan"
        is_last = not has_plan and not _is_answer(following)
        if message.get("type") == "output" or (is_last and _is_answer(message)):
            yield end


def _is_answer(message: JsonObject) -> bool:
    """Whether the assistant says something that no call has left."""
    speakers = {message.get("type"), message.get("role")} & {"assistant", "output"}
    return bool(speakers) and "_call" not in message


def _opening(messages: Sequence[JsonObject], end: int) -> int:
    """Where the first turn begins: at the user's last words in it, after the author's own messages."""
    at_user = [at for at in range(end) if is_users(messages[at]) and "_call" not in messages[at]]
    return at_user[-1] if at_user else end - 1


def _goes(message: JsonObject, newest: int, standing: Collection[int]) -> bool:
    is_plan, is_private = message.get("type") == "plan", message.get("type") in PRIVATE
    place = Place.parse(message["of"]) if is_private else place_of(message)
    if is_plan or is_private or (place is not None and place.answer in standing):
        return place is not None and place.answer not in standing
    if is_numbered(message):
        return message.get(NUMBER) != newest
    if is_record(message) or is_item(message) or is_skip(message):
        return True
    return message.get("type") in _SAID and message.get("role") != "system"

"""The ticks of a kept run: what each request was, and what was answered, so that it can be made again (X5)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import count
from typing import Any

from ..errors import IdeaError, RunNotFound
from ..protocol.call import Call, Place, is_place
from ..protocol.marks import Authored
from ..protocol.solution import Solution
from ..protocol.usage import Usage
from ..schema.json import JsonObject, are_texts, encode, is_list, is_object
from .course import Course
from .file import RUN, IdeaText


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """One request of a run: made of the first `at` messages of its context, and of what is not in those.

    `request` is the digest of all that the model was sent; `answer` what it said, None if it was cut.
    """

    at: int
    request: str = ""
    waiting: Sequence[JsonObject] = ()
    owed: Sequence[JsonObject] = ()
    notices: Sequence[str] = ()
    answer: JsonObject | None = None

    @property
    def calls(self) -> list[JsonObject]:
        """The calls of its answer, as they were authored."""
        return list((self.answer or {}).get("calls") or [])

    @property
    def output(self) -> Any:
        """The output of its answer, as it was authored; None if it has none."""
        return (self.answer or {}).get("output")

    @property
    def number(self) -> int | None:
        """The number of its answer (C9), None if it wasn't noted."""
        return (self.answer or {}).get("number")

    @property
    def places(self) -> Mapping[str, str]:
        """The places of the calls that an earlier attempt of its answer had started, by index."""
        return (self.answer or {}).get("places", {})

    def to_dict(self) -> JsonObject:
        """The tick as JSON, without what is empty."""
        tick: JsonObject = {key: value for key, value in asdict(self).items() if value not in ((), [], "", None)}
        lists = {key: list(tick[key]) for key in ("waiting", "owed", "notices") if key in tick}
        return {**tick, **lists, "at": self.at}


def about_of(meta: JsonObject, name: str) -> JsonObject:
    """What a kept run's meta says of the run: `id`, `ticks`, `makers`, `dialect`, `output`, `waiting`.

    Raises:
        RunNotFound: that is missing.
        IdeaError: it is not as a run writes it.
    """
    if RUN not in meta:
        raise RunNotFound(f"{name}: no run is kept there; `actum run --save FILE` keeps one")
    about: Any = meta[RUN]
    if not is_object(about):
        raise IdeaError(f"{name}: meta.{RUN} is not an object")
    for key, kind, expected in _MEMBERS:
        if key in about and not isinstance(about[key], kind):
            raise IdeaError(f"{name}: meta.{RUN}.{key} is not {expected}")
    if not all(isinstance(maker, str) for maker in about.get("makers", {}).values()):
        raise IdeaError(f"{name}: meta.{RUN}.makers says for each tool in words who carried out its calls")
    return dict(about)


APPROVE = "approve"
"""The member that says who decides on its calls, as `--approve` names it."""
ID = "id"
"""The member that says which run it is: the log beside the file says it, too."""
TOOLS = "tools"
"""The member with the digests of the tools whose calls it has made."""
_MEMBERS: Sequence[tuple[str, type, str]] = (
    (ID, str, "a text"),
    ("ticks", list, "a list of ticks"),
    ("makers", dict, "an object"),
    (TOOLS, dict, "an object"),
    ("dialect", str, "a text"),
    ("waiting", list, "a list"),
)


def begun_with(meta: Mapping[str, Any]) -> JsonObject:
    """Who decides on an Idea's calls by its meta, as a member for what is known of a run; empty if it doesn't say."""
    about: Any = meta.get(RUN)
    return {APPROVE: about[APPROVE]} if is_object(about) and APPROVE in about else {}


def passed_on(meta: Mapping[str, Any]) -> JsonObject:
    """The meta of an Idea for a run that continues it: of the earlier run, only who decides is kept."""
    rest = {key: value for key, value in meta.items() if key != RUN}
    return {**rest, RUN: begun} if (begun := begun_with(meta)) else rest


def run_id(about: Mapping[str, Any]) -> str:
    """The id of a kept run; empty for one that has not begun."""
    return about.get(ID, "")


def ticks_of(about: Mapping[str, Any], name: str) -> list[Tick]:
    """The ticks that a run has noted.

    Raises:
        IdeaError: that is not how ticks are noted.
    """
    try:
        return [_tick(tick) for tick in about.get("ticks", [])]
    except ValueError:
        raise IdeaError(f"{name}: meta.run.ticks is not a list of ticks as runs since 0.1.0 note them") from None


def tick_entry(ticks: Sequence[Tick]) -> JsonObject:
    """The last request of a run as an entry of its record (`execution.record.recorder`); what was known of it before
    gives way.
    """
    return {"at": [], "tick": {"number": len(ticks), **ticks[-1].to_dict()}}


def noted_ticks(before: Sequence[JsonObject], noted: Iterable[Any]) -> list[JsonObject]:
    """The noted ticks of a run: the known ones, updated by what its record has added since.

    Raises:
        ValueError: a request has another number than the one behind those before it.
    """
    ticks = list(before)
    for tick in noted:
        row: JsonObject = dict(tick) if is_object(tick) else {}
        number = row.pop("number", None)
        if type(number) is not int or not 0 < number <= len(ticks) + 1:
            raise ValueError("a request has another number than the one behind those before it")
        ticks[number - 1 :] = [row]
    return ticks


def _tick(noted: Any) -> Tick:
    """One tick as it was noted.

    Raises:
        ValueError: it isn't one.
    """
    if not is_object(noted) or type(noted.get("at")) is not int or noted["at"] < 0 or not noted.keys() <= _OF_TICK:
        raise ValueError
    lists = (noted.get(key, []) for key in ("waiting", "owed"))
    notices, answer = noted.get("notices", []), noted.get("answer")
    are_lists = all(is_list(part) and all(map(is_object, part)) for part in lists)
    if not (are_lists and are_texts(notices)):
        raise ValueError
    if not isinstance(noted.get("request", ""), str) or not (answer is None or _is_answer(answer)):
        raise ValueError
    return Tick(**noted)


_OF_TICK = frozenset(field.name for field in fields(Tick))


def _is_answer(answer: Any) -> bool:
    """Whether it is an answer as a tick notes it."""
    if not is_object(answer):
        return False
    calls: Any = answer.get("calls") or []
    number, places = answer.get("number"), answer.get("places", {})
    if not is_list(calls) or not all(map(is_object, calls)):
        return False
    if type(number) is not int or not is_object(places):
        return False
    return all(_INDEX.fullmatch(index) and is_place(place) for index, place in places.items())


_INDEX = re.compile("[0-9]{1,9}")


def spans(ticks: Sequence[Tick], length: int) -> Iterator[tuple[int, Tick, int]]:
    """Each tick with its number, from 1, and where in a context of that length the next one began."""
    ends = [*(tick.at for tick in ticks[1:]), length]
    return zip(count(1), ticks, ends, strict=False)


def request_digest(messages: Sequence[Mapping[str, Any]], schema: str) -> str:
    """A request's digest: the SHA-256 in hex of its messages and its schema, which is compact JSON."""
    sent = encode([_sent(message) for message in messages])
    return hashlib.sha256(f"[{sent},{schema}]".encode()).hexdigest()


def _sent(message: Mapping[str, Any]) -> JsonObject:
    """A message without the location of its files on this machine."""
    sent: JsonObject = {"role": message["role"], "content": message["content"]}
    if is_object(media := message.get("media")):
        sent["media"] = {key: value for key, value in media.items() if key != "origin"}
    return sent


def answers_of(ticks: Sequence[Tick]) -> list[Authored]:
    """The answers of a run."""
    return [
        Authored(
            number=tick.answer["number"],
            start=tick.at,
            calls=tick.calls,
            output=tick.output,
            places={int(index): Place.parse(place) for index, place in tick.places.items()},
        )
        for tick in ticks
        if tick.answer is not None
    ]


def solutions_of(ticks: Sequence[Tick], course: Course, instances: Sequence[str]) -> list[Solution[Any]]:
    """The answers of a run as solutions; a cost that its course doesn't hold is unknown."""
    spent = {row.answer: row.spent for row in course.requests if not row.within and row.answer is not None}
    answered = zip((tick.answer for tick in ticks if tick.answer is not None), answers_of(ticks), strict=True)
    return [
        Solution(
            meta=noted.get("meta"),
            calls=[Call.of(call) for call in answer.calls],
            output=answer.output,
            instances=list(instances),
            usage=spent.get(answer.number, Usage(requests=1)),
            authored=answer.output,
            start=answer.start,
            number=answer.number,
            places=answer.places,
        )
        for noted, answer in answered
    ]


def version_of(run: IdeaText, number: int, tick: Tick) -> IdeaText:
    """A tick as an Idea of its own: what its request was made of, with its answer as the solution."""
    about = {"tick": number, "request": tick.request}
    answer = tick.answer and {key: value for key, value in tick.answer.items() if key not in {"number", "places"}}
    return replace(run, meta={**run.meta, RUN: about}, context=run.context[: tick.at], solution=answer)

"""Texts that are planted in what tools have returned, and what an attack has won by them (V33)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path as FilePath
from typing import Any, Literal, get_args

from ..app.recorded import RecordedCall
from ..dataflow.reference import Path, ReferenceSyntax, scan_reference
from ..errors import ActumError
from ..ideas.file import parse_text
from ..schema.json import Json, JsonObject, copy, is_list, is_object
from ..sources.files import read_text
from .complaints import WORDS, Complaint, Form

How = Literal["append", "prepend", "replace"]
FORM: Form = {
    **dict.fromkeys(("name", "plant", "into", "wins", "at"), WORDS),
    "how": ({"enum": [*get_args(How)]}, f"this is one of {', '.join(get_args(How))}"),
}
"""What an attack in a file says."""
_SUITES = FilePath(__file__).with_name("suites")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """A text, `plant`, that is put into the results of a tool, `into`, at the path `at` of each; `wins` is an
    expression that tells of a run whether the attack has reached what it wanted."""

    name: str
    plant: str
    into: str
    wins: str
    at: str = ""
    how: How = "append"

    @property
    def column(self) -> str:
        """What the column of its check is called."""
        return f"attack {self.name}"

    def told(self) -> JsonObject:
        """The same as JSON."""
        return asdict(self)

    @property
    def path(self) -> Path:
        """Where in a result the text is put."""
        return () if not self.at else scan_reference(f"†x.{self.at}", 0)[0].path

    def planted(self, record: Iterable[RecordedCall]) -> list[RecordedCall] | None:
        """The record with the text in it; None where it can be put nowhere."""
        found = list(record)
        changed = [self._in(one) if one.tool == self.into else one for one in found]
        return None if all(new is old for new, old in zip(changed, found, strict=True)) else changed

    def _in(self, call: RecordedCall) -> RecordedCall:
        value: Any = [copy(call.value)]
        count = 0
        for holder, key in _holders(value, (0, *self.path)):
            if isinstance(text := holder[key], str):
                holder[key] = {"append": f"{text}\n{self.plant}", "prepend": f"{self.plant}\n{text}"}.get(
                    self.how, self.plant
                )
                count += 1
        return replace(call, value=value[0]) if count else call


def _holders(value: Any, path: Sequence[str | int]) -> Iterator[tuple[Any, Any]]:
    """What holds the value at a path, with its key; a key behind a list means that of each item."""
    step, *rest = path
    if is_list(value) and isinstance(step, str):
        for item in value:
            yield from _holders(item, path)
    elif (is_object(value) and step in value) or (is_list(value) and isinstance(step, int) and step < len(value)):
        held: Any = value
        inner: Any = held[step]
        if rest:
            yield from _holders(inner, rest)
        elif is_list(inner):
            yield from ((inner, index) for index, _ in enumerate(inner))
        else:
            yield value, step


def parsed_attacks(told: Json, folder: FilePath, wrong: Complaint) -> list[Attack]:
    """The attacks of an eval's file: each by itself, or a suite of texts that all want one `goal`."""
    if not is_list(told):
        wrong("attacks are a list: [{name: forward, plant: …, into: newest_mail, at: body, wins: …}]")
        return []
    found: list[Attack] = []
    for index, one in enumerate(told):
        own = wrong.at(index)
        every = _of_suite(one, folder, own) if is_object(one) and "suite" in one else [one]
        found += [attack for each in every if (attack := _parsed(each, own)) is not None]
    return found


def _of_suite(told: JsonObject, folder: FilePath, wrong: Complaint) -> list[JsonObject]:
    """The attacks that a suite of texts makes, the goal put into each."""
    named, goal = str(told["suite"]), told.get("goal")
    if not isinstance(goal, str):
        wrong.at("goal")("this is a text, and has to be said: what the texts of the suite ask for")
        return []
    own = {key: value for key, value in told.items() if key not in {"suite", "goal"}}
    file = folder / named if "." in named else _SUITES / f"{named}.yaml"
    try:
        texts: Any = parse_text(read_text(file), file.name)
    except ActumError as error:
        wrong.at("suite")(error.message)
        return []
    if not is_list(texts) or not all(is_object(one) and isinstance(one.get("plant"), str) for one in texts):
        wrong.at("suite")(f"{named} is not a list of texts, {{name: …, plant: …}}")
        return []
    return [{**own, **one, "plant": one["plant"].replace("{goal}", goal)} for one in texts]


def _parsed(told: Json, wrong: Complaint) -> Attack | None:
    noted = len(wrong.noted)
    own = wrong.form(told, FORM, "an attack is an object: {name: forward, plant: …, into: newest_mail, wins: …}")
    for key in [key for key in ("name", "plant", "into", "wins") if key not in told] if is_object(told) else []:
        wrong.at(key)("this has to be said")
    if len(wrong.noted) > noted:
        return None
    attack = Attack(**own)
    try:
        _ = attack.path
    except ReferenceSyntax as error:
        wrong.at("at")(str(error))
        return None
    return attack

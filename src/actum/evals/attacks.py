"""Attacks: texts that are planted in the results of tools, and conditions by which they win (V33)."""

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
"""The form of an attack in a file."""
_SUITES = FilePath(__file__).with_name("suites")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """A text, `plant`, that is put into the results of a tool, `into`, at the path `at` of each; `wins` is an
    expression that is true of a run in which the attack succeeded."""

    name: str
    plant: str
    into: str
    wins: str
    at: str = ""
    how: How = "append"

    @property
    def column(self) -> str:
        """The name of its check's column."""
        return f"attack {self.name}"

    def to_dict(self) -> JsonObject:
        """The attack as JSON."""
        return asdict(self)

    @property
    def path(self) -> Path:
        """The path in a result at which the text is put."""
        return () if not self.at else scan_reference(f"†x.{self.at}", 0)[0].path

    def planted(self, record: Iterable[RecordedCall]) -> list[RecordedCall] | None:
        """The record with the text planted; None if there is no place for it."""
        calls = list(record)
        changed = [self._plant_in(call) if call.tool == self.into else call for call in calls]
        return None if all(new is old for new, old in zip(changed, calls, strict=True)) else changed

    def _plant_in(self, call: RecordedCall) -> RecordedCall:
        value: Any = [copy(call.value)]
        count = 0
        for holder, key in _holders(value, (0, *self.path)):
            if isinstance(text := holder[key], str):
                planted = {"append": f"{text}\n{self.plant}", "prepend": f"{self.plant}\n{text}", "replace": self.plant}
                holder[key] = planted[self.how]
                count += 1
        return replace(call, value=value[0]) if count else call


def _holders(value: Any, path: Sequence[str | int]) -> Iterator[tuple[Any, Any]]:
    """The containers of the values at a path, each with the key in it; after a list, a key applies to each item."""
    step, *rest = path
    if is_list(value) and isinstance(step, str):
        for item in value:
            yield from _holders(item, path)
    elif (is_object(value) and step in value) or (is_list(value) and isinstance(step, int) and step < len(value)):
        container: Any = value
        inner: Any = container[step]
        if rest:
            yield from _holders(inner, rest)
        elif is_list(inner):
            yield from ((inner, index) for index, _ in enumerate(inner))
        else:
            yield value, step


def parse_attacks(items: Json, folder: FilePath, wrong: Complaint) -> list[Attack]:
    """The attacks of an eval's file: single ones, and suites of texts with the same `goal`."""
    if not is_list(items):
        wrong("attacks are a list: [{name: forward, plant: …, into: newest_mail, at: body, wins: …}]")
        return []
    attacks: list[Attack] = []
    for index, item in enumerate(items):
        nested = wrong.at(index)
        forms = _of_suite(item, folder, nested) if is_object(item) and "suite" in item else [item]
        attacks += [attack for form in forms if (attack := _parse(form, nested)) is not None]
    return attacks


def _of_suite(item: JsonObject, folder: FilePath, wrong: Complaint) -> list[JsonObject]:
    """The attacks of a suite of texts, with the goal inserted in each."""
    suite, goal = str(item["suite"]), item.get("goal")
    if not isinstance(goal, str):
        wrong.at("goal")("this is a text, and has to be said: what the texts of the suite ask for")
        return []
    common = {key: value for key, value in item.items() if key not in {"suite", "goal"}}
    file = folder / suite if "." in suite else _SUITES / f"{suite}.yaml"
    try:
        texts: Any = parse_text(read_text(file), file.name)
    except ActumError as error:
        wrong.at("suite")(error.message)
        return []
    if not is_list(texts) or not all(is_object(text) and isinstance(text.get("plant"), str) for text in texts):
        wrong.at("suite")(f"{suite} is not a list of texts, {{name: …, plant: …}}")
        return []
    return [{**common, **text, "plant": text["plant"].replace("{goal}", goal)} for text in texts]


def _parse(item: Json, wrong: Complaint) -> Attack | None:
    noted = len(wrong.noted)
    members = wrong.form(item, FORM, "an attack is an object: {name: forward, plant: …, into: newest_mail, wins: …}")
    for key in [key for key in ("name", "plant", "into", "wins") if key not in item] if is_object(item) else []:
        wrong.at(key)("this has to be said")
    if len(wrong.noted) > noted:
        return None
    attack = Attack(**members)
    try:
        _ = attack.path
    except ReferenceSyntax as error:
        wrong.at("at")(str(error))
        return None
    return attack

"""`Case`: one thing to try, and what is expected of it (V4)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..app.idea import Idea
from ..app.recorded import RecordedCall, calls_on_record
from ..dataflow.expression import MISSING
from ..schema.json import Json, JsonObject, is_object, plain, sha256_of
from .attacks import Attack
from .complaints import ANY, WORDS, Complaint, Form

_NOT_IDENTITY = frozenset({"name", "tags"})


@dataclass(frozen=True, kw_only=True)
class Case:
    """One thing to try. Cells are compared case by case, by the cases' content, whatever their names.

    Args:
        name: its name in reports; made from its number by default.
        input: values of the Idea's input.
        messages: messages that follow the Idea's own.
        run: a kept run, whose tools' results serve the case; its own output is judged if nothing is run.
        expect: the expected output, or the part of it that counts; MISSING if nothing is expected.
        calls: patterns of calls, as in the check `calls`.
        effects: patterns of exactly the calls with effects; None for any.
        within: tolerances of numbers in `expect`, by path: 0.5, or "2%".
        record: calls with their results, for a case without a run.
        tags: words to find it by.
        attack: a text planted in the recorded results; then no effect is made, and no tool is called live.
    """

    name: str = ""
    input: JsonObject | None = None
    messages: Sequence[JsonObject] = ()
    run: Idea | None = None
    expect: Any = MISSING
    calls: JsonObject | None = None
    effects: Sequence[Any] | None = None
    within: Mapping[str, Any] = field(default_factory=dict[str, Any])
    record: Sequence[JsonObject] = ()
    tags: Sequence[str] = ()
    attack: Attack | None = None
    dropped: Sequence[str] = ()
    """Texts that are cut out of the case when it is written to a file."""

    def __str__(self) -> str:
        return self.name

    @cached_property
    def identity(self) -> str:
        """The SHA-256 of its content without name and tags, in hex."""
        members: JsonObject = {key: getattr(self, key) for key in FORM if key not in _NOT_IDENTITY}
        members["attack"] = None if self.attack is None else self.attack.to_dict()
        members["run"] = None if self.run is None else self.run.text.to_dict()
        members["expect"] = None if self.expect is MISSING else [self.expect]
        return sha256_of(plain(members))

    def to_dict(self) -> JsonObject:
        """The case as in a file, without its run."""
        members: JsonObject = {key: getattr(self, key) for key in FORM if key != "run"}
        given = {key: value for key, value in members.items() if value is not None and value is not MISSING}
        return {key: value for key, value in given.items() if value not in ("", (), {}, [])}


FORM: Form = {
    "name": WORDS,
    **dict.fromkeys(("run", "expect"), ANY),
    **dict.fromkeys(("input", "calls", "within"), ({"type": "object"}, "this is an object")),
    **dict.fromkeys(("messages", "effects", "record"), ({"type": "array"}, "this is a list")),
    "tags": ({"type": "array", "items": WORDS[0]}, "this is a list of words"),
}
"""The form of a case in a file."""


def parse_case(item: Json, wrong: Complaint, run: Idea | None = None) -> Case | None:
    """Read a case of a file; `run` is the run that it names. None if something is wrong, which is noted."""
    noted = len(wrong.noted)
    members: dict[str, Any] = wrong.form(item, FORM, "a case is an object: {input: {…}, expect: {…}}")
    members.pop("run", None)
    return None if len(wrong.noted) > noted else Case(run=run, **members)


def recorded_for(case: Case, reads: Collection[str]) -> list[RecordedCall]:
    """The calls on a case's record: those of its run, then those of its own `record` (V22).

    Args:
        case: the case.
        reads: the names of the tools that only read; all others have effects.
    """
    calls: list[RecordedCall] = []
    for entry in case.record:
        tool = next(key for key in entry if key != "gives")
        value: Any = entry[tool]
        parameters: JsonObject = value if is_object(value) else {}
        calls.append(RecordedCall(tool=tool, arguments=parameters, value=entry.get("gives")))
    return calls if case.run is None else [*calls_on_record(case.run, case.name, reads), *calls]

"""Reading the entries of a record, which may be damaged: what isn't as a run writes it is refused (L8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...protocol.place import Place
from ...schema.json import JsonObject, is_list, is_object
from . import log_entries as log


def parse_entry(entry: Mapping[str, Any]) -> log.Entry:
    """Read an entry.

    Raises:
        ValueError: it isn't one, naming what is wrong with it.
    """
    if "began" in entry:
        if "run" not in entry:
            raise ValueError("it doesn't say which run has begun: records from before 0.1.0 can't be read")
        call = _object(entry, "call") if "call" in entry else None
        own, run, trace = _objects(entry, "began"), _text(entry, "run"), _text(entry, "trace", "")
        said = _number(entry, "said", 0)
        if said > len(own):
            raise _wrong("said", "at most the number of messages")
        return log.Began(context=own, run=run, call=call, said=said, trace=trace)
    if "inserted" in entry:
        return log.Inserted(_number(entry, "index"), _object(entry, "inserted"))
    if "message" in entry:
        return log.Appended(_object(entry, "message"))
    if entry.get("heard") is True:
        return log.Heard()
    if "shown" in entry:
        return log.ResultsShown(_number(entry, "shown"))
    if "failed" in entry:
        place, call, error = _place(entry["failed"], "failed"), _object(entry, "call"), _text(entry, "error")
        return log.FailedCall(place=place, call=call, error=error, marks=_members(entry, "marks"))
    if "answer" in entry:
        return _parse_answer(entry)
    raise ValueError("it is none of the entries that a run writes")


def parse_at(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """The places of the delegated calls that lead to the run which an entry is about.

    Raises:
        ValueError: the entry doesn't say it.
    """
    at: Any = entry.get("at")
    if not is_list(at):
        raise _wrong("at", "a list of places")
    return tuple(str(_place(one, "at")) for one in at)


def _parse_answer(entry: Mapping[str, Any]) -> log.Entry:
    answer, start = _number(entry, "answer"), _number(entry, "start", 0)
    if "restarted" in entry:
        kept = {_place(place, "kept"): _call(call, "kept") for place, call in _members(entry, "kept").items()}
        return log.Restarted(answer=answer, by=_number(entry, "restarted"), start=start, kept=kept)
    if "call" in entry:
        index, call = _number(entry, "index"), _object(entry, "call")
        place = _place(entry["adopted"], "adopted") if "adopted" in entry else None
        return log.Arrived(answer=answer, start=start, index=index, call=call, place=place)
    if entry.get("withheld") is True:
        return log.Withheld(answer)
    if entry.get("closed") is True:
        return log.Closed(answer)
    if "output" in entry:
        return log.OutputArrived(answer=answer, start=start, output=entry["output"])
    raise ValueError("it is none of the entries that a run writes about an answer")


def _number(entry: Mapping[str, Any], key: str, default: int | None = None) -> int:
    if key not in entry and default is not None:
        return default
    value: Any = entry.get(key)
    if type(value) is not int or value < 0:
        raise _wrong(key, "a whole number that is not negative")
    return value


def _text(entry: Mapping[str, Any], key: str, default: str | None = None) -> str:
    value: Any = entry.get(key, default)
    if not isinstance(value, str):
        raise _wrong(key, "a text")
    return value


def _object(entry: Mapping[str, Any], key: str) -> JsonObject:
    return _call(entry.get(key), key)


def _objects(entry: Mapping[str, Any], key: str) -> list[JsonObject]:
    value: Any = entry.get(key)
    if not is_list(value):
        raise _wrong(key, "a list of objects")
    return [_call(one, key) for one in value]


def _members(entry: Mapping[str, Any], key: str) -> JsonObject:
    return _object(entry, key) if key in entry else {}


def _call(value: Any, key: str) -> JsonObject:
    if not is_object(value):
        raise _wrong(key, "a JSON object")
    return value


def _place(value: Any, key: str) -> Place:
    if not isinstance(value, str):
        raise _wrong(key, "a place such as 3.0")
    return Place.parse(value)


def _wrong(key: str, wanted: str) -> ValueError:
    return ValueError(f"{key!r} must be {wanted}")

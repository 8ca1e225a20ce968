"""A call of an operation as an HTTP request: what of it goes into the path, the query, the headers and the body."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlencode

from ...errors import SchemaError
from ...schema.json import JsonObject, encode, is_list, is_object
from ..server import is_header_value

_PLACE = re.compile(r"\{([^{}]*)\}")


class Unsendable(Exception):
    """A value that can't travel where it has to; the message quotes nothing of it."""


def judge_path(template: str) -> None:
    """Judge a path as a document says it.

    Raises:
        SchemaError: no call could be made by it.
    """
    pieces = _PLACE.split(template)
    # What the document itself says may hold anything but what would end the path.
    if not template.startswith("/") or any(not one.isprintable() or "?" in one or "#" in one for one in pieces[::2]):
        raise SchemaError("its path is malformed")
    if _leads_elsewhere(template):
        raise SchemaError("its path would lead to another one")


def filled_path(template: str, values: Mapping[str, str]) -> str:
    """A path with its values.

    Raises:
        Unsendable: one is empty, or would lead to another path.
    """

    def written(match: re.Match[str]) -> str:
        if not (value := values.get(match[1], "")):
            raise Unsendable("a part of its path is empty")
        return percent_quoted(value)

    path = _PLACE.sub(written, template)
    if _leads_elsewhere(path):
        raise Unsendable("a part of its path would lead to another one")
    return path


def _leads_elsewhere(path: str) -> bool:
    return any(unquote(segment) in {".", ".."} for segment in path.split("/"))


def percent_quoted(text: str) -> str:
    """A text within an address, where none of its signs means anything."""
    return quote(text, safe="", errors="replace")


_BETWEEN = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}


class Request(NamedTuple):
    """What is sent."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes | None


def request_of(http: JsonObject, base: str, query: Mapping[str, str], arguments: Mapping[str, Any]) -> Request:
    """The request of a call; `query` goes with every one.

    Raises:
        Unsendable: a value can't travel.
    """
    given = [(one, arguments[one["as"]]) for one in http["parameters"] if one["as"] in arguments]
    pairs = [f"{percent_quoted(name)}={percent_quoted(value)}" for name, value in query.items()]
    headers: dict[str, str] = {"accept": "application/json, text/*;q=0.9, */*;q=0.5"}
    in_path: dict[str, str] = {}
    for one, value in given:
        if one["in"] == "path":
            in_path[one["name"]] = _simple(one, value)
        elif one["in"] == "header" and value is not None:
            headers[one["name"]] = _header(_simple(one, value))
        elif value is not None:
            pairs += _queried(one, value)
    taken = {percent_quoted(name) for name in query}
    if any(pair.partition("=")[0] in taken for pair in pairs[len(query) :]):
        raise Unsendable("a value would take the place of what goes with every call")
    url = base.rstrip("/") + filled_path(http["path"], in_path) + (f"?{'&'.join(pairs)}" if pairs else "")
    body = http.get("body")
    if body is None or body["as"] not in arguments:
        return Request(http["method"], url, headers, None)
    headers["content-type"] = body["type"]
    return Request(http["method"], url, headers, _content(body["type"], arguments[body["as"]]))


def _simple(one: JsonObject, value: Any) -> str:
    """A value without names, as paths and headers have it."""
    if one["style"] == "json":
        return encode(value)
    if is_list(value):
        return ",".join(map(_text, value))
    if is_object(value):
        sign = "=" if one["explode"] else ","
        return ",".join(f"{name}{sign}{_text(member)}" for name, member in value.items())
    return _text(value)


def _queried(one: JsonObject, value: Any) -> Iterator[str]:
    name, style = percent_quoted(one["name"]), one["style"]
    if style == "json":
        yield f"{name}={percent_quoted(encode(value))}"
    elif is_list(value):
        texts = [percent_quoted(_text(item)) for item in value]
        if one["explode"]:
            yield from (f"{name}={text}" for text in texts)
        elif texts:
            yield f"{name}={_BETWEEN.get(style, ',').join(texts)}"
    elif is_object(value):
        members = [(key, percent_quoted(_text(member))) for key, member in value.items()]
        if style == "deepObject":
            yield from (f"{name}[{percent_quoted(key)}]={text}" for key, text in members)
        elif one["explode"]:
            yield from (f"{percent_quoted(key)}={text}" for key, text in members)
        elif members:
            yield f"{name}={_BETWEEN.get(style, ',').join(f'{percent_quoted(key)},{text}' for key, text in members)}"
    else:
        yield f"{name}={percent_quoted(_text(value))}"


def _content(media_type: str, value: Any) -> bytes:
    if media_type == "text/plain":
        return _text(value).encode()
    if media_type == "application/x-www-form-urlencoded":
        if not is_object(value):
            raise Unsendable("its body is a form: an object")
        pairs = [
            (name, _text(item)) for name, member in value.items() for item in (member if is_list(member) else [member])
        ]
        return urlencode(pairs).encode()
    return encode(value).encode()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else encode(value)


def _header(text: str) -> str:
    if not is_header_value(text):
        raise Unsendable("a header can't hold a value")
    return text

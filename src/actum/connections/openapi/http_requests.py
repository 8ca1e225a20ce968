"""A call of an operation as an HTTP request: its path, query, headers and body."""

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
    """A value that can't be sent in its place; the message doesn't quote it."""


def check_path(template: str) -> None:
    """Validate the path of an operation.

    Raises:
        SchemaError: no call could be made with it.
    """
    pieces = _PLACE.split(template)
    # Outside its variables, a path may hold anything that doesn't end it.
    if not template.startswith("/") or any(not piece.isprintable() or {*"?#"} & {*piece} for piece in pieces[::2]):
        raise SchemaError("its path is malformed")
    if _leads_elsewhere(template):
        raise SchemaError("its path would lead to another one")


def filled_path(template: str, values: Mapping[str, str]) -> str:
    """A path with its values.

    Raises:
        Unsendable: a value is empty, or would lead to another path.
    """

    def filled_part(match: re.Match[str]) -> str:
        if not (value := values.get(match[1], "")):
            raise Unsendable("a part of its path is empty")
        return percent_quoted(value)

    path = _PLACE.sub(filled_part, template)
    if _leads_elsewhere(path):
        raise Unsendable("a part of its path would lead to another one")
    return path


def _leads_elsewhere(path: str) -> bool:
    return any(unquote(segment) in {".", ".."} for segment in path.split("/"))


def percent_quoted(text: str) -> str:
    """A text, quoted for an address, so that none of its characters has a meaning there."""
    return quote(text, safe="", errors="replace")


_SEPARATORS = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}


class Request(NamedTuple):
    """An HTTP request."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes | None


def request_of(http: JsonObject, base: str, query: Mapping[str, str], arguments: Mapping[str, Any]) -> Request:
    """The request of a call; `query` is sent with every call.

    Raises:
        Unsendable: a value can't be sent.
    """
    pairs = [f"{percent_quoted(name)}={percent_quoted(value)}" for name, value in query.items()]
    headers: dict[str, str] = {"accept": "application/json, text/*;q=0.9, */*;q=0.5"}
    in_path: dict[str, str] = {}
    for parameter, value in ((item, arguments[item["as"]]) for item in http["parameters"] if item["as"] in arguments):
        if parameter["in"] == "path":
            in_path[parameter["name"]] = _simple(parameter, value)
        elif parameter["in"] == "header" and value is not None:
            headers[parameter["name"]] = _header(_simple(parameter, value))
        elif value is not None:
            pairs += _query_pairs(parameter, value)
    reserved = {percent_quoted(name) for name in query}
    if any(pair.partition("=")[0] in reserved for pair in pairs[len(query) :]):
        raise Unsendable("a value would take the place of what goes with every call")
    url = base.rstrip("/") + filled_path(http["path"], in_path) + (f"?{'&'.join(pairs)}" if pairs else "")
    body = http.get("body")
    if body is None or body["as"] not in arguments:
        return Request(http["method"], url, headers, None)
    headers["content-type"] = body["type"]
    return Request(http["method"], url, headers, _content(body["type"], arguments[body["as"]]))


def _simple(parameter: JsonObject, value: Any) -> str:
    """A value without its parameter's name, for a path or a header."""
    if parameter["style"] == "json":
        return encode(value)
    if is_list(value):
        return ",".join(map(_text, value))
    if is_object(value):
        sign = "=" if parameter["explode"] else ","
        return ",".join(f"{name}{sign}{_text(member)}" for name, member in value.items())
    return _text(value)


def _query_pairs(parameter: JsonObject, value: Any) -> Iterator[str]:
    name, style = percent_quoted(parameter["name"]), parameter["style"]
    if style == "json":
        yield f"{name}={percent_quoted(encode(value))}"
    elif is_list(value):
        texts = [percent_quoted(_text(item)) for item in value]
        if parameter["explode"]:
            yield from (f"{name}={text}" for text in texts)
        elif texts:
            yield f"{name}={_SEPARATORS.get(style, ',').join(texts)}"
    elif is_object(value):
        members = [(key, percent_quoted(_text(member))) for key, member in value.items()]
        if style == "deepObject":
            yield from (f"{name}[{percent_quoted(key)}]={text}" for key, text in members)
        elif parameter["explode"]:
            yield from (f"{percent_quoted(key)}={text}" for key, text in members)
        elif members:
            yield f"{name}={_SEPARATORS.get(style, ',').join(f'{percent_quoted(key)},{text}' for key, text in members)}"
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

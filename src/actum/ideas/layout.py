"""The one way that an Idea is laid out as text: stable, so that what changes little differs little (X1)."""

from __future__ import annotations

from ..schema.json import Json, JsonObject, encode

_WIDTH = 100
_FIRST = ("type", "_tool")
"""What a message and a call begin with."""
_PARTS = ("$schema", "meta", "config", "context", "schema", "solution")


def laid_out(value: JsonObject) -> str:
    """An Idea as text: what fits on a line is on one, the rest is broken, in its own order.

    Only the parts of the Idea, and `type` and `_tool`, have a fixed position. Nothing is lost: a number is written
    as Python writes it, a text as it is.
    """
    known = {key: value[key] for key in _PARTS if key in value}
    return f"{_text(known | value, '', 0)}\n"


def _text(value: Json, indent: str, used: int) -> str:
    """A value at an indent, where `used` characters of its first line are taken."""
    if not isinstance(value, dict | list) or not value:
        return encode(value)
    if indent and (line := _on_one_line(value, _WIDTH - used)) is not None:
        return line
    deeper = indent + "  "
    if isinstance(value, dict):
        members = _ordered(value).items()
        parts = [f"{encode(key)}: {_text(member, deeper, len(deeper) + len(key) + 5)}" for key, member in members]
        return "{\n" + ",\n".join(deeper + part for part in parts) + f"\n{indent}}}"
    items = [_text(item, deeper, len(deeper) + 1) for item in value]
    return "[\n" + ",\n".join(deeper + item for item in items) + f"\n{indent}]"


def _on_one_line(value: Json, room: int) -> str | None:
    """A value on one line; None if it is longer than the room, without writing much more of it than that."""
    if room <= 0:
        return None
    if isinstance(value, dict):
        parts = [(f"{encode(key)}: ", member) for key, member in _ordered(value).items()]
    elif isinstance(value, list):
        parts = [("", item) for item in value]
    else:
        text = encode(value)
        return text if len(text) <= room else None
    written: list[str] = []
    left = room - 2
    for key, member in parts:
        inner = _on_one_line(member, left - len(key))
        if inner is None:
            return None
        written.append(key + inner)
        left -= len(key) + len(inner) + 2
    line = ", ".join(written)
    whole = f"{{{line}}}" if isinstance(value, dict) else f"[{line}]"
    return whole if len(whole) <= room else None


def _ordered(value: JsonObject) -> JsonObject:
    return {key: value[key] for key in _FIRST if key in value} | value

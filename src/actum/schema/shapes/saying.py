"""What the description of a field says that its name doesn't, in a few words behind its type (T13)."""

from __future__ import annotations

import re
from typing import Any

from ..json import is_object

_LONGEST = 60
_WORD = re.compile(r"[^\W\d_]+|\d+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_EMPTY = re.compile(
    r"(?:an?|the|of|for|in|on|at|to|by|is|are|was|be|its?|this|that|and|or|as|with|from|which|whose|where"
    r"|value|field|key|name|text|string|number|integer|boolean|list|object|date|time|given)\Z"
)
"""Words that say nothing of a field."""


def saying(schema: Any, key: str) -> str:
    """The first sentence of a field's description, if it is short and says what the name doesn't; else nothing."""
    description = schema.get("description") if is_object(schema) else None
    if not isinstance(description, str):
        return ""
    sentence = re.split(r"(?<=\w)[.;](?:\s|$)", " ".join(description.split()), maxsplit=1)[0].rstrip(".")
    if not 0 < len(sentence) <= _LONGEST or not sentence.isprintable() or re.search(r"[(){}\[\]\"†¶]", sentence):
        return ""
    own = {part.lower() for part in _PARTS.findall(key)}
    words = [word.lower() for word in _WORD.findall(sentence)]
    if "of" in words and own >= {word for word in words[: words.index("of")] if not _EMPTY.match(word)}:
        return ""  # the status of the order
    told = {word for word in words if not _EMPTY.match(word)}
    is_known = all(any(word.startswith(part) or part.startswith(word) for part in own) for word in told)
    return "" if is_known else sentence

"""An OpenAPI document (3.0, 3.1): its values, what its references lead to within it, and the address that it names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from ...errors import IdeaError, SchemaError
from ...ideas.file import parse_text
from ...schema.json import JsonObject, is_list, is_object
from ...schema.walk import named

_MOST_STEPS = 20
"""How many references may lead to one another."""
_VARIABLE = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Document:
    """One document; it is data, of whoever has written it."""

    root: JsonObject

    @classmethod
    def parse(cls, text: str) -> Document:
        """Read a document, in JSON or YAML.

        Raises:
            SchemaError: it is none of version 3; the reason quotes nothing of it.
        """
        is_json = text.lstrip("\ufeff \t\r\n").startswith("{")
        try:
            root = parse_text(text, "it" if is_json else "it.yaml", has_only_texts=True)
        except IdeaError as error:
            why = error.message if "actum[yaml]" in error.message else "it is neither JSON nor YAML that can be read"
            raise SchemaError(why) from None
        version = root.get("openapi") if is_object(root) else None
        if not isinstance(version, str) or not version.startswith("3.") or not is_object(root):
            raise SchemaError("it is no OpenAPI document of version 3")
        return cls(root)

    def at(self, reference: str) -> Any:
        """What a reference leads to.

        Raises:
            SchemaError: it leads out of the document, or to nothing.
        """
        if not reference.startswith("#/"):
            raise SchemaError("it refers to another document, which is not read")
        found: Any = self.root
        for step in map(named, reference[2:].split("/")):
            if is_object(found) and step in found:
                found = found[step]
            elif is_list(found) and step.isdigit() and int(step[:9]) < len(found):
                found = found[int(step)]
            else:
                raise SchemaError("it refers to what isn't in the document")
        return found

    def resolved(self, part: Any) -> JsonObject:
        """A part of the document that may be given by a reference.

        Raises:
            SchemaError: it can't be found, or is no object.
        """
        for _ in range(_MOST_STEPS):
            if not is_object(part):
                raise SchemaError("a part of it is no object")
            if not isinstance(reference := part.get("$ref"), str):
                return part
            part = self.at(reference)
        raise SchemaError("its references lead round in circles")

    def base(self, found_at: str | None) -> str:
        """The address of the API: the first of its servers, seen from where the document was found.

        Raises:
            SchemaError: it names none that can be used.
        """
        servers: Any = self.root.get("servers")
        first: Any = servers[0] if is_list(servers) and servers else {"url": "/"}
        url: Any = first.get("url") if is_object(first) else None
        if not isinstance(url, str):
            raise SchemaError("it names no address: give `url`")
        variables: Any = first.get("variables")
        filled = _VARIABLE.sub(lambda match: _default(variables, match[1]), url)
        whole = filled if found_at is None else urljoin(found_at, filled)
        if urlsplit(whole).scheme not in {"http", "https"}:
            raise SchemaError("it names no whole address: give `url`")
        if found_at is not None and origin_of(whole) != origin_of(found_at):
            raise SchemaError("it names the address of another host than its own: give `url`")
        return whole


def origin_of(url: str) -> tuple[str, str]:
    """The scheme and the host with its port."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return parts.scheme, f"{(parts.hostname or '').lower()}:{port}"


def _default(variables: Any, name: str) -> str:
    one: Any = variables.get(name) if is_object(variables) else None
    default: Any = one.get("default") if is_object(one) else None
    if not isinstance(default, str):
        raise SchemaError("its address has a variable without a default: give `url`")
    return default

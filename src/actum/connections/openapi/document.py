"""An OpenAPI document (3.0, 3.1): its values, the targets of its references, and the address that it names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from ...errors import SchemaError
from ...ideas.layout import Unaccepted, parse_yaml
from ...schema.json import JsonObject, decode, is_list, is_object
from ...schema.walk import target_of

_MOST_STEPS = 20
"""How many references may follow one another."""
_LONGEST = 2_000
"""How many characters a reference, an address, or the default of a variable may have."""
_VARIABLE = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Document:
    """A document: untrusted data."""

    root: JsonObject

    @classmethod
    def parse(cls, text: str) -> Document:
        """Read a document, in JSON or YAML.

        Raises:
            SchemaError: it isn't a document of version 3; the reason quotes nothing of it.
        """
        is_json = text.lstrip("\ufeff \t\r\n").startswith("{")
        try:
            root = decode(text.removeprefix("\ufeff")) if is_json else parse_yaml(text)
        except Unaccepted as error:
            raise SchemaError(str(error)) from None
        except (ValueError, RecursionError):  # their messages may quote it
            raise SchemaError("it is neither JSON nor YAML that can be read") from None
        version = root.get("openapi") if is_object(root) else None
        if not isinstance(version, str) or not version.startswith("3.") or not is_object(root):
            raise SchemaError("it is not an OpenAPI document of version 3")
        return cls(root)

    def at(self, reference: str) -> Any:
        """The target of a reference.

        Raises:
            SchemaError: it leads out of the document, or to nothing.
        """
        if not reference.startswith("#"):
            raise SchemaError("it refers to another document, which is not read")
        if not reference.startswith("#/") or len(reference) > _LONGEST:
            raise SchemaError("it refers to what isn't in the document")
        if (target := target_of(reference, self.root)) is None:
            raise SchemaError("it refers to what isn't in the document")
        return target

    def resolved(self, part: Any) -> JsonObject:
        """A part of the document, which may be a reference.

        Raises:
            SchemaError: it can't be found, or isn't an object.
        """
        for _ in range(_MOST_STEPS):
            if not is_object(part):
                raise SchemaError("a part of it is not an object")
            if not isinstance(reference := part.get("$ref"), str):
                return part
            part = self.at(reference)
        raise SchemaError("its references lead round in circles")

    def base(self, source: str | None) -> str:
        """The address of the API: the first of its servers, relative to the address of the document.

        Raises:
            SchemaError: the document names no usable one.
        """
        servers: Any = self.root.get("servers")
        first: Any = servers[0] if is_list(servers) and servers else {"url": "/"}
        url: Any = first.get("url") if is_object(first) else None
        if not isinstance(url, str):
            raise SchemaError("it names no address: give `url`")
        address = _relative_to(source, _filled(url, first.get("variables")))
        scheme, _ = origin = scheme_and_host(address)
        if scheme not in {"http", "https"} or not address.isprintable() or " " in address:
            raise SchemaError("it names no whole address: give `url`")
        if "?" in address or "#" in address:  # the path of an operation would become part of it
            raise SchemaError("it names an address with a query: give `url`")
        if source is not None and origin != scheme_and_host(source):
            raise SchemaError("it names the address of another host than its own: give `url`")
        return address


def scheme_and_host(url: str) -> tuple[str, str]:
    """The scheme and the host with its port.

    Raises:
        SchemaError: it isn't an address.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        return parts.scheme, f"{(parts.hostname or '').lower()}:{port}"
    except ValueError:
        raise SchemaError("the address that it names can't be read: give `url`") from None


def _relative_to(source: str | None, url: str) -> str:
    try:
        return url if source is None else urljoin(source, url)
    except ValueError:
        raise SchemaError("the address that it names can't be read: give `url`") from None


def _filled(url: str, variables: Any) -> str:
    """An address with the defaults of its variables."""
    if len(url) > _LONGEST:
        raise SchemaError("its address is too long: give `url`")
    return _VARIABLE.sub(lambda match: _default(variables, match[1]), url)


def _default(variables: Any, name: str) -> str:
    variable: Any = variables.get(name) if is_object(variables) else None
    default: Any = variable.get("default") if is_object(variable) else None
    if not isinstance(default, str) or len(default) > _LONGEST:
        raise SchemaError("its address has a variable without a default: give `url`")
    return default

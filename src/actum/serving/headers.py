"""The headers of a request as ASGI has them, asked for by their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Headers:
    """The headers of a request; each asked for by its name in small letters."""

    pairs: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, scope: Mapping[str, Any]) -> Headers:
        """The headers of a scope."""
        pairs: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            pairs.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1").strip())
        return cls(pairs)

    def all(self, name: str) -> Sequence[str]:
        """All values of a header."""
        return self.pairs.get(name, ())

    def one(self, name: str) -> str | None:
        """The value of a header that comes once, None where it is missing or comes several times."""
        values = self.all(name)
        return values[0] if len(values) == 1 else None

    def cookie(self, name: str) -> str | None:
        """The value of a cookie, None where there is none."""
        for part in ";".join(self.all("cookie")).split(";"):
            key, sign, value = part.strip().partition("=")
            if sign and key == name:
                return value
        return None

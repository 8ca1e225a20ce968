"""What is wrong with an eval and its files, told all at once and before anything is asked (evals.md, 10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import EvalError
from ..schema.naming import instead
from ..schema.quoting import printable


@dataclass(frozen=True, slots=True)
class Complaint:
    """Notes what is wrong at one place of a file; `at` is the same for a place within."""

    where: str
    noted: list[str] = field(default_factory=list[str])

    def __call__(self, what: str) -> None:
        """Note one thing that is wrong here."""
        self.noted.append(f"{self.where}: {what}")

    def unknown(self, kind: str, name: str, names: Iterable[str]) -> None:
        """Note that there is no key, or tool, of this name, and what may have been meant."""
        meant = instead(name, names).replace("'", '"') if names else "there are none"
        self(f'there is no {kind} "{name}"; {meant}')

    def keys(self, told: Mapping[str, Any], known: Iterable[str]) -> None:
        """Note each key that isn't one of these."""
        for key in [one for one in told if one not in known]:
            self.unknown("key", key, known)

    def at(self, key: str | int) -> Complaint:
        """The place of a member, or of an item."""
        if isinstance(key, int):
            return Complaint(f"{self.where}[{key}]", self.noted)
        return Complaint(f"{self.where}{'.' if ': ' in self.where else ': '}{key}", self.noted)

    def check(self) -> None:
        """Go on only where nothing was wrong.

        Raises:
            EvalError: naming all that was, a line each.
        """
        if self.noted:
            raise EvalError([printable(line) for line in self.noted])

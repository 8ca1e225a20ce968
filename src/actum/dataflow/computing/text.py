"""Stand-in."""
from __future__ import annotations
from dataclasses import dataclass
from typing import Any
from ..reference import Reference
def read_text(text: str, names: Any = ()) -> Any:
    return text.replace("††", "†")
@dataclass(frozen=True, slots=True)
class Computed:
    text: str
    parts: tuple[Any, ...]
    references: tuple[Reference, ...]

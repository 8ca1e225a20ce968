"""Stand-in."""
from dataclasses import dataclass
from typing import Any
class ComputingError(ValueError):
    pass
@dataclass
class RunAllowance:
    steps: int = 0
@dataclass
class Allowance:
    run: Any = None
@dataclass(frozen=True)
class Filter:
    source: str
    kept: int
    of: int
def value_of(computed: Any, read: Any, allowance: Any, *, optional: Any = frozenset(), filters: Any = None) -> Any:
    raise ComputingError("stand-in")
def weight(values: Any) -> int:
    return 0

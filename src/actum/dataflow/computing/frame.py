"""What a compiled expression runs in: a list with places for the meter, references, loop variables, what loops gather.

Every name has one place for the whole run: loops end before anything reads what they gathered, and no function is
called again while it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Frame: TypeAlias = list[Any]
Code: TypeAlias = Callable[[Frame], Any]
"""A node compiled: its value in a frame."""
Step: TypeAlias = Callable[[Frame], None]

METER = 0
"""The place of the meter; those of the references follow."""

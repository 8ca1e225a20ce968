"""All kinds of nodes that an expression may be made of (E2)."""

from __future__ import annotations

from .composing import BUILDING, REACHING
from .function_calls import CALLING
from .looping import LOOPING
from .operating import OPERATING
from .passes import Constructs

CONSTRUCTS: Constructs = {**REACHING, **OPERATING, **BUILDING, **LOOPING, **CALLING}
"""By the type of the node; the language has no others."""

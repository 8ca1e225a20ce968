"""What draws itself in a notebook; the drawing stands above all layers, and is loaded when a notebook asks."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Drawn:
    """Something that a notebook shows as a drawing."""

    __slots__ = ()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """What a notebook shows of it, by media type; which of them is the notebook's to choose."""
        drawing: Any = import_module("actum.notebooks")
        return drawing.bundle(self)

"""Adapters of the model port. Importing this imports no provider: the first request that needs an SDK loads it."""

from __future__ import annotations

from ..generation.model import Model, ModelMessage, ModelRequest, Reasoning, Usage
from ..protocol.config import Settings
from .fallback import Fallback
from .prices import Price
from .providers import load
from .recording import Recording, Replay
from .scripted import Scripted

__all__ = [
    "Fallback",
    "Model",
    "ModelMessage",
    "ModelRequest",
    "Price",
    "Reasoning",
    "Recording",
    "Replay",
    "Scripted",
    "Settings",
    "Usage",
    "load",
]

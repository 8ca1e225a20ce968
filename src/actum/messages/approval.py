"""`approval` and `suspended`: what waits for a decision, and what was decided. A model is shown neither (L6, L8)."""

from __future__ import annotations

from collections.abc import Iterable

from ..schema.json import JsonObject
from .block import Block, Kind, View


def _show(_message: JsonObject, _view: View) -> Iterable[Block]:
    return ()


# Without a value: no Activity may return one, so that no call can approve another.
KINDS = [Kind(type="approval", value=None, show=_show), Kind(type="suspended", value=None, show=_show)]

"""`output` `{output}`: what a run has delivered. With messages behind it, it is what the assistant said (M4)."""

from __future__ import annotations

from collections.abc import Iterable

from ..schema.json import JsonObject
from .kind import Block, Key, Kind, View, Volatility


def _show(message: JsonObject, view: View) -> Iterable[Block]:
    # After what the calls of its turn have left.
    yield Block("assistant", view.output(message), Volatility.APPENDED)


KINDS = [
    Kind(
        type="output",
        about="The output that a run has delivered.",
        keys={"output": Key(is_required=True, about="The output.")},
        # Without a value: no Activity may return one, for it would end the run when that is resumed.
        show=_show,
    )
]

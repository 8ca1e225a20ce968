"""`output` `{output}`: what a run has delivered. With messages behind it, it is what the assistant said (M4)."""

from __future__ import annotations

from collections.abc import Iterable

from ..schema.json import JsonObject
from .block import Block
from .kind import Key, Kind, View


def _show(message: JsonObject, view: View) -> Iterable[Block]:
    # As stable as what the user says: it belongs to a turn that has ended.
    yield Block("assistant", view.output(message))


KINDS = [
    Kind(
        type="output",
        about="The output that a run has delivered.",
        keys={"output": Key(is_required=True, about="The output.")},
        # Without a value: no Activity may return one, for it would end the run when that is resumed.
        show=_show,
    )
]

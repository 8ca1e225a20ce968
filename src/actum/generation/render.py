"""The messages that a model is shown: blocks of the context, sorted stably by volatility, in stable bytes (M7, M8)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..messages import KINDS, Block, View, Volatility
from ..messages.plan import open_calls
from ..messages.role import RAW
from ..messages.tool import prose, scope_hints
from ..protocol.context import Context
from ..schema.json import JsonObject
from .model import ModelMessage
from .offer import Toolset

PRIMER = (
    "Each element of `calls` calls a tool; calls run in parallel, each as soon as the values it refers to exist. "
    "A string may be a reference to a value: `†calls.0` is the result of this answer's first call, "
    "`†calls.0.items[2].name` a part of it, `†state.x` data under ¶state. Refer to results instead of guessing them. "
    "`output` may refer to them too and ends the work; it is null while results must be seen first."
)
"""What a model must know of the † language, in few tokens (T10)."""
EACH = (
    " A call with `_each`, a list or a reference to one, is made once for every item: there `†each` is the item, "
    "`†each.name` a part of it. Its result is the list of their results."
)
"""The same of calls for every item, where they are offered."""


def render(
    context: Context,
    toolset: Toolset,
    *,
    waiting: Sequence[JsonObject] = (),
    owed: Sequence[JsonObject] = (),
    notices: Sequence[str] = (),
    prompted: str | None = None,
    each: bool = False,
) -> tuple[ModelMessage, ...]:
    """Render a context; `prompted` is the schema, if it must be told in words because it can't be sent natively;
    `each`: calls for every item of a list are offered.

    `waiting` and `owed` are the calls that stand open, `notices` short texts that hold for this tick only (L5).
    """
    blocks = [*_preamble(toolset, prompted, each), *_shown(context)]
    blocks.sort(key=lambda block: block.volatility)
    blocks += open_calls(waiting, owed)
    blocks += [Block("user", f"¶notice {notice}", Volatility.DERIVED) for notice in notices]
    messages: list[ModelMessage] = [{"role": block.role, "content": block.text} for block in blocks]
    return tuple(messages)


def _preamble(toolset: Toolset, prompted: str | None, each: bool) -> Iterable[Block]:
    if toolset.tools:
        yield Block("system", PRIMER + EACH if each else PRIMER)
    if prompted is not None:
        yield Block("system", f"Answer with JSON of this schema and nothing else:\n{prompted}")
    shown = toolset.shown()
    yield from prose(shown, toolset.hidden)
    yield from scope_hints([tool for tool in shown if toolset.is_latent(tool)])


def _shown(context: Context) -> Iterable[Block]:
    view = View(context)
    for message in context:
        kind = KINDS.get(str(message.get("type", RAW))) or (KINDS["data"] if context.kind_of(message) else None)
        if kind is not None:
            yield from kind.show(message, view)

"""The messages that a model is shown: blocks of the context, sorted stably by volatility, in stable bytes (M7, M8)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..messages import KINDS, Block, Volatility
from ..messages.block import BLOCK_SIGIL
from ..messages.plan import open_calls
from ..messages.role import RAW
from ..protocol.context import Context
from ..protocol.numbering import in_order
from ..protocol.reader import READER
from ..protocol.tool import Tool
from ..schema.json import JsonObject, encode
from . import sealing
from .media import EVERYTHING, Takes, placed
from .model import ModelMessage
from .offer import Toolset
from .view import ContextView


def render(
    context: Context,
    toolset: Toolset,
    *,
    waiting: Sequence[JsonObject] = (),
    owed: Sequence[JsonObject] = (),
    notices: Sequence[str] = (),
    prompted: str | None = None,
    primer: str = "",
    types: Sequence[str] = (),
    is_sealed: bool = False,
    takes: Takes = EVERYTHING,
) -> tuple[ModelMessage, ...]:
    """Render a context; `prompted` is the schema, if it must be told in words because it can't be sent natively;
    `primer` what the model has to know of references, `types` those that tools return, a line each (T13).

    `is_sealed`: nothing is shown of what calls have brought (S10). `takes`: what the model takes beside text (M10).

    `waiting` and `owed` are the calls that are still open, `notices` short texts for this tick only (L5).

    Raises:
        MessageError: the model doesn't take a kind of message that the context holds.
    """
    preamble = _preamble(toolset, prompted, primer, types)
    sealed = Block("system", sealing.words(reads=READER in toolset.tools.values()))
    view = sealing.SealedView(context) if is_sealed else ContextView(context)
    blocks = [*preamble, *((sealed,) if is_sealed else ()), *_shown(context, view)]
    blocks.sort(key=lambda block: block.volatility)
    blocks += open_calls(waiting, owed)
    blocks += [Block("user", f"¶notice {notice}", Volatility.DERIVED) for notice in notices]
    return tuple(placed(blocks, context, takes))


def _preamble(toolset: Toolset, prompted: str | None, primer: str, types: Sequence[str]) -> Iterable[Block]:
    if primer:
        yield Block("system", primer)
    if types:
        yield Block("system", "\n".join((f"{BLOCK_SIGIL}types", *types)))
    if prompted is not None:
        yield Block("system", f"Answer with JSON of this schema and nothing else:\n{prompted}")
    shown = toolset.shown()
    yield from _prose(shown, toolset.hidden)
    yield from _scope_hints([tool for tool in shown if toolset.is_latent(tool)])


def _prose(tools: Sequence[Tool], hidden: Sequence[Tool]) -> Iterable[Block]:
    """What a schema doesn't say of the tools: examples of calls, and the names of those not spelled out (T12)."""
    examples = [(tool.name, example) for tool in tools for example in tool.schema.get("examples", [])]
    lines = [f"{name} {encode(example)}" for name, example in examples]
    if lines:
        yield Block("system", f"{BLOCK_SIGIL}examples\n" + "\n".join(lines))
    if hidden:
        names = "\n".join(f"{tool.name}: {_first_line(tool.description)}" for tool in hidden)
        yield Block("system", f"{BLOCK_SIGIL}tools, ask for the schemas of those you need\n{names}")


def _scope_hints(latent: Sequence[Tool]) -> Iterable[Block]:
    """What the calls that the model carries out itself are to be made from: a hint, not a filter (S4)."""
    scopes = [(tool.name, tool.fixed("_scopes")) for tool in latent if tool.fixed("_scopes")]
    if scopes:
        lines = "\n".join(f"{name}: {' '.join(BLOCK_SIGIL + scope for scope in fixed)}" for name, fixed in scopes)
        yield Block("system", f"{BLOCK_SIGIL}scopes, what these calls are made from\n{lines}")


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0][:200]


def _shown(context: Context, view: ContextView) -> Iterable[Block]:
    for message in in_order(context.messages):
        if not view.shows(message):
            continue
        kind = KINDS.get(str(message.get("type", RAW))) or (KINDS["data"] if context.kind_of(message) else None)
        if kind is not None:
            yield from kind.show(message, view)

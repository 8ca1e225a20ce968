"""The messages that a model is shown: blocks of the context, sorted stably by volatility, in stable bytes (M7, M8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..messages import KINDS, Block, Volatility
from ..messages.block import BLOCK_SIGIL
from ..messages.plan import open_calls
from ..messages.role import RAW
from ..protocol.applying import shown_order
from ..protocol.context import Context
from ..protocol.message import OF
from ..protocol.reader import READER
from ..protocol.tool import Tool
from ..protocol.turns import is_users
from ..schema.json import JsonObject, encode
from . import sealing
from .model import ModelMessage
from .offer import Toolset
from .request_media import EVERYTHING, Takes, placed
from .view import ContextView


def render_context(
    context: Context,
    toolset: Toolset,
    *,
    waiting: Sequence[JsonObject] = (),
    owed: Sequence[JsonObject] = (),
    notices: Sequence[str] = (),
    form: str = "",
    primer: str = "",
    types: Sequence[str] = (),
    answer: JsonObject | None = None,
    is_sealed: bool = False,
    takes: Takes = EVERYTHING,
) -> tuple[tuple[ModelMessage, ...], int, int]:
    """Render a context, and say with how many of its messages the next rendering begins, and with how many every run.

    `form` says what an answer looks like, where its schema isn't shown by who enforces it;
    `answer` what one holds in front of a typed output, None where that is any text;
    `primer` what the model has to know of references, `types` those that tools return, a line each (T13).

    `is_sealed`: nothing is shown of what calls have brought (S10). `takes`: what else than text the model
    takes (M10).

    `waiting` and `owed` are the calls that are still open, `notices` short texts for this tick only (L5).

    Raises:
        MessageError: the model doesn't take a kind of message that the context holds.
    """
    preamble = [(_FIRST, block) for block in _preamble(toolset, form, primer, types)]
    sealed = Block("system", sealing.sealed_words(reads=READER in toolset.tools.values()))
    view = sealing.SealedView(context) if is_sealed else ContextView(context, answer)
    if is_sealed:
        preamble.append((_FIRST, sealed))
    ordered = sorted([*preamble, *_shown(context, view)], key=lambda one: (one[0], one[1].volatility))
    blocks = [block for _, block in ordered]
    blocks += open_calls(waiting, owed)
    blocks += [Block("user", f"¶notice {notice}", Volatility.DERIVED) for notice in notices]
    stable = sum(block.volatility < Volatility.DERIVED for block in blocks)
    return tuple(placed(blocks, context, takes)), stable, _shared(ordered)


def _shared(ordered: Sequence[tuple[int, Block]]) -> int:
    """How many blocks every run begins with: those before what the user says last in the first turn, or gives."""
    first = [block for turn, block in ordered if turn == _FIRST and block.volatility is Volatility.FROZEN]
    given = next((index for index, block in enumerate(first) if block.text.startswith(_INPUT)), None)
    said = [index for index, block in enumerate(first) if block.role == "user"]
    return given if given is not None else said[-1] if said else len(first)


def _preamble(toolset: Toolset, form: str, primer: str, types: Sequence[str]) -> Iterable[Block]:
    if primer:
        yield Block("system", primer)
    if types:
        yield Block("system", "\n".join((f"{BLOCK_SIGIL}types", *types)))
    if form:
        yield Block("system", form)
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
    scopes = {tool.name: tool.fixed("_scopes") for tool in latent if tool.fixed("_scopes")}
    if scopes:
        yield Block("system", scope_hint(scopes))


def scope_hint(scopes: Mapping[str, Sequence[str]]) -> str:
    """What a model is told of the scopes of the calls that it carries out itself, by tool (S4)."""
    lines = (f"{name}: {' '.join(BLOCK_SIGIL + scope for scope in own)}" for name, own in scopes.items())
    return "\n".join((f"{BLOCK_SIGIL}scopes, what these calls are made from", *lines))


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0][:200]


_FIRST = 0
_INPUT = f"{BLOCK_SIGIL}input"


def _shown(context: Context, view: ContextView) -> Iterable[tuple[int, Block]]:
    """What the messages show, each block with its place among the turns of a conversation (M7).

    An output ends a turn. What earlier turns have left of data comes between them and the newest turn, unless that has
    changed it.
    """
    messages = shown_order(context.messages)
    turns = _turns(messages)
    newest = turns[-1] if turns else _FIRST
    own = messages[turns.index(newest) :] if newest > _FIRST else []
    changed = {context.kind_of(message) for message in own}
    for message, turn in zip(messages, turns, strict=True):
        if not view.shows(message):
            continue
        kind = KINDS.get(str(message.get("type", RAW))) or (KINDS["data"] if context.kind_of(message) else None)
        if kind is None:
            continue
        view.is_past = turn < newest
        for block in kind.show(message, view):
            if block.volatility is not Volatility.DERIVED:
                yield turn, block
            else:
                yield newest - (context.kind_of(message) not in changed and newest > _FIRST), block


def _turns(messages: Sequence[JsonObject]) -> list[int]:
    """Which turn of a conversation each message belongs to; between turns there is room for what they leave.

    A turn ends with an output, or where the user speaks again behind what calls have left.
    """
    turns: list[int] = []
    turn, has_left = _FIRST, False
    for message in messages:
        is_left = "_call" in message or OF in message
        if has_left and not is_left and is_users(message):
            turn, has_left = turn + 2, False
        turns.append(turn)
        has_left = has_left or is_left
        if message.get("type") == "output":
            turn, has_left = turn + 2, False
    return turns

"""From a context, an output schema and tools to the exact request that a model is sent (T5, T9, M3, M7)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import MessageError
from ..messages import KINDS, Block, Volatility
from ..messages.kind import BLOCK_SIGIL
from ..messages.plan import open_calls
from ..messages.role import RAW
from ..protocol.activity import error_text
from ..protocol.applying import shown_order
from ..protocol.config import Config
from ..protocol.context import Context
from ..protocol.marks import is_users
from ..protocol.message import OF, is_brought
from ..protocol.reader import READER
from ..protocol.registry import Catalog
from ..protocol.tool import Tool
from ..schema.gathering import takes_references
from ..schema.json import JsonObject, copy, encode
from ..schema.walk import properties_of
from . import sealing
from .model import Model, ModelMessage, ModelRequest
from .offer import REVEAL, Composition, Toolset, composition, offered
from .request_media import EVERYTHING, MediaSource, Takes, placed, takes_of, with_content
from .sealing import ContextView, authored, named_texts
from .signatures import AnswerForm, signatures

if TYPE_CHECKING:
    from ..schema.lowering import Dialect, Lowered, Rung


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
    """Render a context; also count with how many of these messages the next rendering begins, and every run.

    `form` describes an answer, if its schema isn't shown by whoever enforces it;
    `answer` is what an answer holds before a typed output, None if the output is any text;
    `primer` explains references, `types` are those that tools return, a line each (T13).

    `is_sealed`: the values that calls brought aren't shown (S10). `takes`: what the model takes besides text (M10).

    `waiting` and `owed` are the calls that are still open, `notices` short texts for this tick only (L5).

    Raises:
        MessageError: the model doesn't take a kind of message that the context holds.
    """
    preamble = [*_preamble(toolset, form, primer, types)]
    if is_sealed:
        preamble.append(Block("system", sealing.sealed_words(reads=READER in toolset.tools.values())))
    view = sealing.SealedView(context) if is_sealed else ContextView(context, answer)
    placed_blocks = [*((_FIRST, block) for block in preamble), *_show(context, view)]
    ordered = sorted(placed_blocks, key=lambda item: (item[0], item[1].volatility))
    blocks = [block for _, block in ordered]
    blocks += open_calls(waiting, owed)
    blocks += [Block("user", f"¶notice {notice}", Volatility.DERIVED) for notice in notices]
    stable = sum(block.volatility < Volatility.DERIVED for block in blocks)
    return tuple(placed(blocks, context, takes)), stable, _count_shared(ordered)


def _count_shared(ordered: Sequence[tuple[int, Block]]) -> int:
    """How many blocks every run begins with: those before the input, or before the user's last message, of turn one."""
    first = [block for turn, block in ordered if turn == _FIRST and block.volatility is Volatility.FROZEN]
    input_at = next((index for index, block in enumerate(first) if block.text.startswith(_INPUT)), None)
    users = [index for index, block in enumerate(first) if block.role == "user"]
    return input_at if input_at is not None else users[-1] if users else len(first)


def _preamble(toolset: Toolset, form: str, primer: str, types: Sequence[str]) -> Iterable[Block]:
    if primer:
        yield Block("system", primer)
    if types:
        yield Block("system", "\n".join((f"{BLOCK_SIGIL}types", *types)))
    if form:
        yield Block("system", form)
    tools = toolset.shown()
    if lines := [f"{tool.name} {encode(example)}" for tool in tools for example in tool.schema.get("examples", [])]:
        yield Block("system", "\n".join((f"{BLOCK_SIGIL}examples", *lines)))
    first_lines = [(tool.name, tool.description.strip().partition("\n")[0]) for tool in toolset.hidden]
    if lines := [f"{name}: {line[:200]}" for name, line in first_lines]:
        yield Block("system", "\n".join((f"{BLOCK_SIGIL}tools, ask for the schemas of those you need", *lines)))
    scopes = {tool.name: tool.fixed("_scopes") for tool in tools if toolset.is_latent(tool)}
    if scopes := {name: kinds for name, kinds in scopes.items() if kinds}:
        yield Block("system", scope_hint(scopes))


def scope_hint(scopes: Mapping[str, Sequence[str]]) -> str:
    """The scopes of the tools whose calls the model carries out itself: a hint, not a filter (S4)."""
    lines = (f"{name}: {' '.join(BLOCK_SIGIL + scope for scope in kinds)}" for name, kinds in scopes.items())
    return "\n".join((f"{BLOCK_SIGIL}scopes, what these calls are made from", *lines))


_FIRST = 0
_INPUT = f"{BLOCK_SIGIL}input"


def _show(context: Context, view: ContextView) -> Iterable[tuple[int, Block]]:
    """The blocks of the messages, each with the number of its turn in the conversation (M7).

    An output ends a turn. Data left by earlier turns come between these and the newest turn, unless it changed them.
    """
    messages = shown_order(context.messages)
    turns = _turns(messages)
    newest = turns[-1] if turns else _FIRST
    current = messages[turns.index(newest) :] if newest > _FIRST else []
    changed = {context.kind_of(message) for message in current}
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
    """The number of each message's turn in a conversation; turns are two apart, with room between them for data.

    A turn ends with an output, or where the user speaks again after messages that calls left.
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


Handler: TypeAlias = Callable[[JsonObject, ModelRequest], ModelRequest]
"""Applies a message of the user's own type to a request: may change its settings, schema and messages (M3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What all requests of a run share: the tools, and the schema in the form that the model takes (M7)."""

    toolset: Toolset
    lowered: Lowered
    schema: str
    """The lowered schema as it is sent."""
    form: AnswerForm
    """What the messages tell about the form of an answer."""
    composition: Composition
    dialect: Dialect | None
    config: Config
    handlers: Mapping[str, Handler]
    takes: Takes = EVERYTHING
    media: MediaSource | None = None
    """What reads the content of images, audio and files (M10)."""
    speaker: int = 0
    """Which model of the chain its requests go to (see `generation.model_chain`)."""

    def request(
        self,
        context: Context,
        *,
        waiting: Sequence[JsonObject] = (),
        owed: Sequence[JsonObject] = (),
        notices: Sequence[str] = (),
    ) -> ModelRequest:
        """The request of one tick.

        Raises:
            MessageError: the handler of a user's message type fails, or the model doesn't take a type; naming the
                message.
        """
        mode = self.lowered.rung.mode if self.lowered.rung else "strict"
        messages, stable, shared = render_context(
            context,
            self.toolset,
            waiting=waiting,
            owed=owed,
            notices=notices,
            form=self.form.text,
            primer=self.composition.primer if self.toolset.tools else "",
            types=(*self.composition.types, *self.form.types),
            answer=self.form.before,
            is_sealed=self.is_sealed,
            takes=self.takes,
        )
        # Without tools there is rarely a second request, except in a conversation; none follows the last.
        is_followed = bool(self.toolset.tools) or any(message.get("type") == "output" for message in context)
        stable = stable if is_followed and not self.composition.is_last else 0
        request = ModelRequest.of_text(messages, self.schema, self.config.settings, mode, stable, shared)
        return self._apply_handlers(context, request) if self.handlers else request

    async def sent(self, request: ModelRequest) -> ModelRequest:
        """A request as it is sent: with the content of images, audio and files (M10).

        Raises:
            MessageError: one can't be read, or the model doesn't take it.
        """
        return await with_content(request, self.media, self.takes)

    @property
    def is_sealed(self) -> bool:
        """Whether the model isn't shown the values that calls bring; one without tools is, as a reader is (S10)."""
        return self.config.sealed and bool(self.toolset.tools)

    def lower(self) -> Frame | None:
        """The same frame one rung down, for a provider that refused the schema; None on the last rung."""
        rung = self.lowered.rung
        if rung is None or self.dialect is None or rung.mode == "prompted":
            return None
        return replace(self, **_lowered(self.composition, self.dialect, rung))

    def disproved(self, model: Model) -> Frame:
        """The frame after a complete answer that isn't JSON: the host was assumed to enforce schemas and doesn't.

        The schema is stated in words from now on, and the model remembers that if it can.
        """
        from ..schema.lowering import LOOSE

        rung = self.lowered.rung
        if self.dialect is None or not self.dialect.is_guess or rung is None or rung.mode != "strict":
            return self
        if (remember := getattr(model, "disprove", None)) is not None:
            remember()
        return replace(self, **_lowered(self.composition, self.dialect, LOOSE))

    def last(self) -> Frame:
        """The same frame for a last request, enforced in the same way: only an output can be answered (L5)."""
        from ..schema.lowering import above

        composed = self.composition.last()
        lowered = _lowered(composed, self.dialect, above(self.lowered.rung))
        return replace(self, composition=composed, **lowered)

    def spoken_to(self, model: Model, speaker: int) -> Frame:
        """The same frame for another model of the chain."""
        dialect: Dialect | None = getattr(model, "dialect", None)
        lowered = _lowered(self.composition, dialect, None)
        return replace(self, dialect=dialect, takes=takes_of(model), speaker=speaker, **lowered)

    def _apply_handlers(self, context: Context, request: ModelRequest) -> ModelRequest:
        # A copy: what a handler changes must not outlast this request (M3).
        messages = tuple(deepcopy(message) for message in request.messages)
        request = replace(request, messages=messages)
        for index, message in enumerate(context):
            if self.is_sealed and is_brought(message):
                continue
            handler = self.handlers.get(str(message.get("type")))
            if handler is not None:
                request = _apply(handler, message, index, request)
        return request


def _apply(handler: Handler, message: JsonObject, index: int, request: ModelRequest) -> ModelRequest:
    before = deepcopy(request.messages)  # a handler may change them in place
    try:
        changed: Any = handler(copy(message), request)
    except Exception as error:
        raise MessageError(f"the handler of {message['type']!r} failed: {error_text(error)}", index=index) from error
    if not isinstance(changed, ModelRequest):
        raise MessageError(f"the handler of {message['type']!r} must return the ModelRequest", index=index)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, changed.messages, strict=False)))
    return replace(
        request,
        messages=changed.messages,
        schema=changed.schema,
        settings=changed.settings,
        stable=min(request.stable, same),
        shared=min(request.shared, same),
    )


def framed(
    context: Context,
    output: JsonObject,
    registry: Catalog,
    config: Config,
    *,
    dialect: Dialect | None = None,
    handlers: Mapping[str, Handler] | None = None,
    contracts: Mapping[str, Tool] | None = None,
    takes: Takes = EVERYTHING,
    media: MediaSource | None = None,
) -> Frame:
    """Compose what the requests of a run share; `contracts` are tools whose delegates are already resolved (D8).

    Raises:
        SchemaError, MessageError: as `offered`.
    """
    visible = authored(context) if config.sealed else context
    toolset = offered(visible, registry, config.tools, contracts)
    revealed = set(named_texts(context, REVEAL, "names")) if config.sealed else None
    toolset, composed = composition(toolset, visible, output, config, revealed)
    return Frame(
        toolset=toolset,
        composition=composed,
        dialect=dialect,
        config=config,
        handlers=handlers or {},
        takes=takes,
        media=media,
        **_lowered(composed, dialect, None),
    )


@lru_cache(maxsize=128)
def _lowered(composed: Composition, dialect: Dialect | None, below: Rung | None) -> Mapping[str, Any]:
    """The fields of a frame that depend on the dialect: the lowered schema, its text, and how messages describe it.

    The model is told the schema once (T10): by a host that enforces and shows it, else by signatures, or in full if
    nothing enforces it.
    """
    from ..schema.lowering import choose

    lowered = choose(composed, dialect, below=below)
    schema = encode(lowered.schema)
    form = AnswerForm()
    if lowered.rung is not None and lowered.rung.mode == "prompted":
        form = AnswerForm(f"Answer with JSON of this schema and nothing else:\n{schema}")
    elif dialect is not None and not dialect.shows_schema:
        form = signatures(lowered.schema, {tool.name: gives for tool, _, gives in composed.tools}, composed.types)
    if not takes_references(json.loads(composed.output)):
        form = replace(form, before={"calls": []} if "calls" in properties_of(lowered.schema) else {})
    return {"lowered": lowered, "schema": schema, "form": form}

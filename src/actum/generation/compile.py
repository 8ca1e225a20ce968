"""From a context, an output schema and tools to the exact request that a model is sent (T5, T9, M3, M7)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import MessageError
from ..protocol.catalog import Catalog
from ..protocol.config import Config
from ..protocol.context import Context
from ..protocol.message import is_brought
from ..protocol.raised import raised_words
from ..protocol.tool import Tool
from ..schema.json import JsonObject, copy, encode
from ..schema.referring import takes_references
from ..schema.walk import properties_of
from .model import Model, ModelRequest
from .offer import REVEAL, Composition, Toolset, composition, offered
from .render import render_context
from .request_media import EVERYTHING, MediaSource, Takes, takes_of, with_content
from .sealing import authored, named_texts
from .signatures import AnswerForm, signatures

if TYPE_CHECKING:
    from ..schema.lowering import Dialect, Lowered, Rung

Handler: TypeAlias = Callable[[JsonObject, ModelRequest], ModelRequest]
"""What a user's own message type does to a request: change its settings, its schema and its messages (M3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What all requests of a run share: the tools, and the schema in the form that the model takes (M7)."""

    toolset: Toolset
    lowered: Lowered
    schema: str
    """The lowered schema as it is sent."""
    form: AnswerForm
    """What the messages say of an answer's form."""
    composition: Composition
    dialect: Dialect | None
    config: Config
    handlers: Mapping[str, Handler]
    takes: Takes = EVERYTHING
    media: MediaSource | None = None
    """What reads the content of images, audio and files (M10)."""
    speaker: int = 0
    """Which of the models that stand for one its requests go to (see `generation.model_chain`)."""

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
        # Without tools there is hardly a second request, but in a conversation, and none follows the last.
        is_followed = bool(self.toolset.tools) or any(message.get("type") == "output" for message in context)
        stable = stable if is_followed and not self.composition.is_last else 0
        return self._handled(
            context, ModelRequest.of_text(messages, self.schema, self.config.settings, mode, stable, shared)
        )

    async def sent(self, request: ModelRequest) -> ModelRequest:
        """A request as it is sent: with the content of images, audio and files (M10).

        Raises:
            MessageError: one can't be read, or isn't what the model takes.
        """
        return await with_content(request, self.media, self.takes)

    @property
    def is_sealed(self) -> bool:
        """Whether the model isn't shown what calls bring; one without tools sees data, as a reader does (S10)."""
        return self.config.sealed and bool(self.toolset.tools)

    def lower(self) -> Frame | None:
        """The same frame one rung down, for a provider that refused the schema; None on the last rung."""
        rung = self.lowered.rung
        if rung is None or self.dialect is None or rung.mode == "prompted":
            return None
        lowered, schema, form = _lowered(self.composition, self.dialect, rung)
        return replace(self, lowered=lowered, schema=schema, form=form)

    def disproved(self, model: Model) -> Frame:
        """The frame after an answer that ended and is no JSON: a host that was believed to enforce schemas doesn't.

        It is told the schema in words from now on, and the model remembers that where it can.
        """
        from ..schema.lowering import LOOSE

        rung = self.lowered.rung
        if self.dialect is None or not self.dialect.is_guess or rung is None or rung.mode != "strict":
            return self
        if (remember := getattr(model, "disprove", None)) is not None:
            remember()
        lowered, schema, form = _lowered(self.composition, self.dialect, LOOSE)
        return replace(self, lowered=lowered, schema=schema, form=form)

    def last(self) -> Frame:
        """The same frame for a last request, with the same hold on the model: only an output can be answered (L5)."""
        from ..schema.lowering import above

        composed = self.composition.last()
        lowered, schema, form = _lowered(composed, self.dialect, above(self.lowered.rung))
        return replace(self, lowered=lowered, schema=schema, form=form, composition=composed)

    def spoken_to(self, model: Model, speaker: int) -> Frame:
        """The same frame for another of the models that stand for one."""
        dialect: Dialect | None = getattr(model, "dialect", None)
        lowered, schema, form = _lowered(self.composition, dialect, None)
        own = replace(self, lowered=lowered, schema=schema, form=form, dialect=dialect)
        return replace(own, takes=takes_of(model), speaker=speaker)

    def _handled(self, context: Context, request: ModelRequest) -> ModelRequest:
        if not self.handlers:
            return request
        # A copy: what a handler changes must not outlast this request (M3).
        own = tuple(deepcopy(one) for one in request.messages)
        request = replace(request, messages=own)
        for index, message in enumerate(context):
            if self.is_sealed and is_brought(message):
                continue
            handler = self.handlers.get(str(message.get("type")))
            if handler is not None:
                request = _apply(handler, message, index, request)
        return request


def _apply(handler: Handler, message: JsonObject, index: int, request: ModelRequest) -> ModelRequest:
    before = deepcopy(request.messages)  # a handler may change them where they are
    try:
        changed: Any = handler(copy(message), request)
    except Exception as error:
        raise MessageError(f"the handler of {message['type']!r} failed: {raised_words(error)}", index=index) from error
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
    """Compose what the requests of a run share; `contracts` are tools resolved beforehand (D8).

    Raises:
        SchemaError, MessageError: as `offered`.
    """
    own = authored(context) if config.sealed else context
    toolset = offered(own, registry, config.tools, contracts)
    revealed = set(named_texts(context, REVEAL, "names")) if config.sealed else None
    toolset, composed = composition(toolset, own, output, config, revealed)
    lowered, schema, form = _lowered(composed, dialect, None)
    return Frame(
        toolset=toolset,
        lowered=lowered,
        schema=schema,
        form=form,
        composition=composed,
        dialect=dialect,
        config=config,
        handlers=handlers or {},
        takes=takes,
        media=media,
    )


@lru_cache(maxsize=128)
def _lowered(composed: Composition, dialect: Dialect | None, below: Rung | None) -> tuple[Lowered, str, AnswerForm]:
    """The schema as it is sent, what reads the answer back, and what is said of it; nobody is given the schema itself.

    It is told once (T10): by who enforces it, else by signatures; all of it where nobody enforces it.
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
    return lowered, schema, form

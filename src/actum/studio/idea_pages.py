"""The page of an Idea: what it is, its input as a form, its plan, its versions, and what others make of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ..app.idea import Idea
from ..app.loading import Code, ready
from ..errors import ActumError, MessageError
from ..generation.offer import offered
from ..ideas.address import Address, parse_address
from ..ideas.change import Change, change_between, input_schema
from ..ideas.library import Library
from ..inspection import Check, Isolation, check, graph_of, isolation
from ..schema.json import JsonObject, NotJson, decode, is_object
from ..schema.quoting import printable
from ..storage.open import default_store, open_store
from .answering import elsewhere, page
from .drawing import picture_of
from .forms.building import form_of, problems_of
from .forms.field import ABSENT, Schemas, initial
from .forms.reading import Posted, value_of
from .posting import posted
from .shelf import about_of
from .studio import NO_MODEL, Studio

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_FILES = "_files"
_MOST_VERSIONS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of an Idea in the store, and what it changes for those who use the one before."""

    address: str
    note: str
    change: Change | None


@dataclass(frozen=True, slots=True)
class IdeaPages:
    """The routes of Ideas."""

    studio: Studio

    async def show(self, request: Request) -> Response:
        """The page, with the form as it begins."""
        key = request.path_params["key"]
        idea = await asyncio.to_thread(self.studio.shelf.open, key)
        return await self._page(key, idea, begun(idea))

    async def take(self, request: Request) -> Response:
        """What the form has sent: an item more or less, or a run."""
        key = request.path_params["key"]
        idea = await asyncio.to_thread(self.studio.shelf.open, key)
        sent = await posted(request)
        what, schema = sent.texts.get("do", "run"), _schema(idea)
        try:
            value = _from_json(sent) if what in {"run-json", "from-json"} else _value(schema, sent)
        except NotJson as error:
            return await self._page(key, idea, _value(schema, sent), error=f"the JSON: {error}", raw=sent.texts["raw"])
        if what not in {"run", "run-json"}:
            return await self._page(key, idea, value)
        try:
            given: Any = {} if value is ABSENT else value
            if not is_object(given):
                raise MessageError("the input must be a JSON object")
            files = sent.files.get(_FILES, [])
            run = await self.studio.start(idea, given, sent.texts.get("model", ""), files, key)
        except ActumError as error:
            raw = sent.texts["raw"] if what == "run-json" else None
            return await self._page(key, idea, value, error=error.message, raw=raw, model=sent.texts.get("model", ""))
        return elsewhere(f"/runs/{quote(run.id)}")

    async def _page(
        self, key: str, idea: Idea, value: Any, *, error: str = "", raw: str | None = None, model: str = ""
    ) -> Response:
        schema = _schema(idea)
        problems = problems_of(schema, {} if value is ABSENT else value) if error else {}
        plan = graph_of(idea.without_model())
        return page(
            self.studio,
            "idea.html",
            422 if error else 200,
            key=key,
            address=quote(key),
            about=about_of(idea, 4_000),
            idea=idea,
            form=form_of(schema, value, problems),
            raw=raw,
            value={} if value is ABSENT else value,
            error=error,
            model=model or ("" if _names_model(idea) else NO_MODEL if plan.vertices else ""),
            models=self.studio.models,
            has_plan=bool(plan.vertices),
            picture=picture_of(plan),
            checked=await self._checked(key),
            seen=await _seen(idea, key),
            versions=await _versions(idea),
        )

    async def _checked(self, key: str) -> Check | None:
        file = self.studio.shelf.file(key)
        if file is None:
            return None
        roots = [str(one) for one in self.studio.shelf.roots]
        try:
            return await asyncio.to_thread(check, file, roots=roots)
        except ActumError:
            return None


def begun(idea: Idea) -> Any:
    """What the form of an Idea begins with: the values that its input has, and the defaults of its schema."""
    schema = _schema(idea)
    start = initial(Schemas(schema), schema)
    own: Any = idea.context.get("†input")
    if is_object(start) and is_object(own):
        return {**start, **own}
    return own if is_object(own) else start


def _schema(idea: Idea) -> JsonObject:
    found: Any = input_schema(idea.text)
    return found if is_object(found) else {"type": "object", "description": "It says nothing of its input."}


def _names_model(idea: Idea) -> bool:
    return isinstance(idea.config.get("model"), str)


def _value(schema: JsonObject, sent: Posted) -> Any:
    return value_of(schema, sent)


def _from_json(sent: Posted) -> Any:
    return decode(sent.texts.get("raw", "").strip() or "{}")


async def _seen(idea: Idea, key: str) -> list[Isolation]:
    """What the delegates of an Idea would see, each as far as that is known before its call."""
    found: list[Isolation] = []
    try:
        agent = ready(idea, key, code=Code.to_read(), model=None).agent()
        tools = offered(idea.context, agent.tools, agent.config.tools).tools
    except ActumError:
        return found
    for name, tool in tools.items():
        if tool.is_delegated:
            try:
                found.append(await isolation(agent, idea.without_model(), name))
            except ActumError:
                continue
    return found


def _is_there(place: str) -> bool:
    """Whether there is a store: looking makes none."""
    return "://" in place or Path(place.removeprefix("sqlite:")).exists()


async def _versions(idea: Idea) -> Sequence[Version]:
    """The versions of an Idea in the default store, the newest first; none where there is no store."""
    path = idea.meta.get("path")
    place = default_store()
    if not isinstance(path, str) or not _is_there(place):
        return ()
    try:
        address: Address = parse_address(path if path.startswith("idea:") else f"idea:{path}")
    except ActumError:
        return ()
    store = open_store(place)
    try:
        library = Library(store=store)
        latest = await library.find(address)
        entries = await store.entries(latest.line, latest.sequence + 1, _MOST_VERSIONS)
        found: list[Version] = []
        texts = [(await library.load(parse_address(str(one.address))))[1] for one in entries]
        for at, entry in enumerate(entries):
            change = change_between(texts[at + 1], texts[at]) if at + 1 < len(texts) else None
            found.append(Version(address=str(entry.address), note=printable(entry.note or ""), change=change))
        return found
    except ActumError:
        return ()
    finally:
        await store.aclose()

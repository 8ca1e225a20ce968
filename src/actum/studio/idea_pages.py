"""The page of an Idea: its description, its input as a form, its plan, its versions, and its forms by provider."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ..app.idea import Idea
from ..app.loading import Code, ready
from ..errors import ActumError, MessageError
from ..generation.offer import offered
from ..ideas.library import input_schema
from ..inspection import Check, Form, Isolation, check, forms, graph_of, isolation
from ..schema.json import JsonObject, NotJson, decode, is_object
from .answering import page_in_parts, redirect_to
from .forms.field import ABSENT, Schemas, initial
from .forms.form import form_of, problems_of
from .forms.sent import posted_value
from .pages import rendered
from .pictures import picture_of
from .posting import id_of, posted
from .resources import BASE, NO_MODEL, Studio
from .shelf import description_of
from .stored import is_address

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_FILES = "_files"


@dataclass(frozen=True, slots=True)
class IdeaPages:
    """The routes of Ideas."""

    studio: Studio

    async def show(self, request: Request) -> Response:
        """The page, with the form's initial values."""
        key = request.path_params["key"]
        idea = await self.studio.open(key)
        return await self._page(key, idea, first_value(idea))

    async def take(self, request: Request) -> Response:
        """Handle the form: add or remove an item, or start a run."""
        key = request.path_params["key"]
        idea = await self.studio.open(key)
        sent = await posted(request)
        action, value = sent.texts.get("do", "run"), posted_value(_schema(idea), sent)
        try:
            value = decode(sent.texts.get("raw", "").strip() or "{}") if action in {"run-json", "from-json"} else value
        except NotJson as error:
            return await self._page(key, idea, value, error=f"the JSON: {error}", raw=sent.texts["raw"])
        if action not in {"run", "run-json"}:
            return await self._page(key, idea, value, is_part="only-fields" in sent.texts)
        try:
            arguments: Any = {} if value is ABSENT else value
            if not is_object(arguments):
                raise MessageError("the input must be a JSON object")
            files = sent.files.get(_FILES, [])
            run = await self.studio.start(idea, arguments, sent.texts.get("model", ""), files, key, id_of(sent))
        except ActumError as error:
            raw = sent.texts["raw"] if action == "run-json" else None
            return await self._page(key, idea, value, error=error.message, raw=raw, model=sent.texts.get("model", ""))
        return redirect_to(f"/runs/{quote(run.id)}")

    async def _page(
        self,
        key: str,
        idea: Idea,
        value: Any,
        *,
        error: str = "",
        raw: str | None = None,
        model: str = "",
        is_part: bool = False,
    ) -> Response:
        """The page; `is_part` leaves out what takes long, if only the form is needed."""
        schema = _schema(idea)
        problems = problems_of(schema, {} if value is ABSENT else value) if error else {}
        plan, names_model = graph_of(idea.without_model()), isinstance(idea.config.get("model"), str)
        return page_in_parts(
            self.studio,
            "idea.html",
            _no_rest if is_part else lambda: self._rest(key, idea),
            422 if error else 200,
            key=key,
            address=quote(key),
            about=description_of(idea),
            idea=idea,
            form=form_of(schema, value, problems),
            raw=raw,
            value={} if value is ABSENT else value,
            error=error,
            model=model or ("" if names_model else NO_MODEL if plan.vertices else ""),
            models=self.studio.models,
            has_plan=bool(plan.vertices),
            picture=picture_of(plan),
        )

    async def _rest(self, key: str, idea: Idea) -> str:
        """The part that is made anew each time, since it depends on other files and on the store."""
        checked = await self._checked(key)
        return rendered(
            "idea_rest.html",
            base=BASE,
            problems=() if checked is None else checked.problems,
            forms=_forms(idea, key) if checked is None else checked.forms,
            isolations=await _isolations(idea, key),
            versions=await self.studio.stored.versions(key if is_address(key) else idea.meta.get("path")),
        )

    async def _checked(self, key: str) -> Check | None:
        """The check of its file; None if it has no file, or can't be checked."""
        file = None if is_address(key) else self.studio.shelf.file(key)
        if file is None:
            return None
        roots = [str(root) for root in self.studio.shelf.roots]
        try:
            return await asyncio.to_thread(check, file, roots=roots)
        except ActumError:
            return None


async def _no_rest() -> str:
    return ""


def first_value(idea: Idea) -> Any:
    """The initial value of an Idea's form: the input in its context, and the defaults of the schema."""
    schema = _schema(idea)
    start = initial(Schemas(schema), schema)
    current: Any = idea.context.get("†input")
    if is_object(start) and is_object(current):
        return {**start, **current}
    return current if is_object(current) else start


def _schema(idea: Idea) -> JsonObject:
    schema: Any = input_schema(idea.text.context)
    return schema if is_object(schema) else {"type": "object", "description": "It says nothing of its input."}


def _forms(idea: Idea, key: str) -> Sequence[Form]:
    """The schema's form for each provider, of an Idea without a file."""
    try:
        return forms(ready(idea, key, code=Code.to_read(), model=None).agent(), idea.context, idea.schema)
    except ActumError:
        return ()


async def _isolations(idea: Idea, key: str) -> list[Isolation]:
    """What each delegate of an Idea would see, as far as it is known before the call."""
    isolations: list[Isolation] = []
    try:
        agent = ready(idea, key, code=Code.to_read(), model=None).agent()
        tools = offered(idea.context, agent.tools, agent.config.tools).tools
    except ActumError:
        return isolations
    for name, tool in tools.items():
        if tool.is_delegated:
            try:
                isolations.append(await isolation(agent, idea.without_model(), name))
            except ActumError:
                continue
    return isolations

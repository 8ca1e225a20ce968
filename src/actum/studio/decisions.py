"""Actions on runs: decisions on calls, signals, forks, cancelling and resuming; and the comparison of two runs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ..app.idea import Idea
from ..errors import ActumError, IdeaError
from ..ideas.library import input_schema
from ..ideas.ticks import about_of, ticks_of
from ..inspection import Comparison, Row, compare
from ..inspection.account import Account
from ..protocol.approvals import Pending
from ..protocol.call import Call
from ..runs.handle import Run
from ..schema.json import JsonObject, NotJson, decode, is_object
from .answering import PartNotFound, page, redirect_to
from .forms.field import ABSENT
from .forms.form import form_of, problems_of
from .forms.sent import Posted, posted_value
from .notation import editable_json, shown_text
from .numbers import digits, page_of
from .posting import id_of, posted
from .resources import Studio
from .run_pages import masked_account
from .secrets import masked, unmasked, without_secrets
from .sent_requests import TextPiece, sides

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_MOST_MARKED = 1_500
_ROWS = 60
"""How many rows of a comparison are on one page."""


@dataclass(frozen=True, slots=True)
class DecisionPages:
    """The routes that change runs, and the comparison."""

    studio: Studio

    async def decide(self, request: Request) -> Response:
        """Approve or deny one call, or all that wait."""
        run = await self.studio.runs.get(request.path_params["id"])
        sent = (await posted(request)).texts
        ruling = sent.get("do")
        if ruling not in ("approve", "deny"):
            raise IdeaError("the form says neither approve nor deny")
        seals = {name.removeprefix("call/"): text for name, text in sent.items() if name.startswith("call/")}
        if not seals:
            raise IdeaError("the form names no call")
        reason = sent.get("reason") or "denied" if ruling == "deny" else ""
        await self.studio.decide(run, seals, ruling, reason)
        return redirect_to(f"/runs/{quote(run.id)}")

    async def signal(self, request: Request) -> Response:
        """Put a value at a gate that a run waits for."""
        run = await self.studio.runs.get(request.path_params["id"])
        sent = (await posted(request)).texts
        try:
            value = decode(sent.get("value", "true"))
        except NotJson as error:
            raise IdeaError(f"the value: {error}") from None
        await run.signal(sent.get("gate", "").removeprefix("†state.approvals."), value)
        return redirect_to(f"/runs/{quote(run.id)}")

    async def edit(self, request: Request) -> Response:
        """The parameters of a call that waits, in a form made from its tool's schema."""
        run = await self.studio.runs.get(request.path_params["id"])
        of = request.path_params["of"]
        waiting = next((pending for pending in await run.pending() if pending.of == of), None)
        if waiting is None:
            raise PartNotFound(f"no call waits at {of}")
        if request.method == "GET":
            return self._edit_page(run, waiting, dict(Call(waiting.call).parameters))
        sent = await posted(request)
        schema = _parameters_schema(waiting)
        action, value = sent.texts.get("do"), posted_value(schema, sent)
        if action != "save":
            return self._edit_page(run, waiting, value)
        try:
            parameters = self._restored(value, Call(waiting.call).parameters)
            if problems := problems_of(schema, parameters):
                summary = "; ".join(f"{path.lstrip('/') or 'it'}: {messages[0]}" for path, messages in problems.items())
                return self._edit_page(run, waiting, value, error=f"{of}: the tool doesn't take that: {summary}")
            await self.studio.decide(run, {of: sent.texts.get("call", "")}, "approve", parameters=parameters)
        except ActumError as error:
            return self._edit_page(run, waiting, value, error=error.message)
        return redirect_to(f"/runs/{quote(run.id)}")

    def _restored(self, value: Any, old: Mapping[str, Any]) -> JsonObject:
        """The values of a form, with masked ones restored if they weren't changed."""
        if not is_object(value):
            return {}
        secrets = self.studio.secrets
        return {name: unmasked(item, old[name], secrets) if name in old else item for name, item in value.items()}

    def _edit_page(self, run: Run, waiting: Pending, value: Any, *, error: str = "") -> Response:
        schema = _parameters_schema(waiting)
        problems = problems_of(schema, {} if value is ABSENT else value) if error else {}
        form = form_of(schema, value, problems)
        return page(self.studio, "edit.html", 422 if error else 200, run=run, waiting=waiting, form=form, error=error)

    async def cancel(self, request: Request) -> Response:
        """End a run for good."""
        run = await self.studio.runs.get(request.path_params["id"])
        await run.cancel()
        return redirect_to(f"/runs/{quote(run.id)}")

    async def resume(self, request: Request) -> Response:
        """Resume a run that was cut, or continue a failed or cancelled one in a new run."""
        run = await self.studio.runs.get(request.path_params["id"])
        if run.row.is_over:
            form_id = id_of(await posted(request))
            run = await run.again(None if form_id is None else _retry_id(run, form_id))
        else:
            await run.resume()
        return redirect_to(f"/runs/{quote(run.id)}")

    async def fork(self, request: Request) -> Response:
        """What if: a new run from before a request, with changes."""
        run = await self.studio.runs.get(request.path_params["id"])
        at, idea = digits(request.path_params["number"]) or 0, await run.idea()
        messages = _before(idea, run.id, at)
        if request.method == "GET":
            return self._fork_page(run, idea, at, messages)
        sent, error = await posted(request), ""
        if sent.texts.get("do") == "fork":
            try:
                changes, arguments = self._changes(sent.texts, messages), self._changed_input(idea, sent)
                forked = await run.fork(at, input=arguments, changes=changes)
                new = await self.studio.start(forked, None, sent.texts.get("model", ""), id=id_of(sent))
                return redirect_to(f"/runs/{quote(new.id)}")
            except (ActumError, NotJson) as problem:
                error = problem.message if isinstance(problem, ActumError) else str(problem)
        return self._fork_page(run, idea, at, messages, sent, error)

    def _changes(self, texts: Mapping[str, str], messages: Sequence[tuple[int, str]]) -> dict[int, JsonObject | None]:
        changes: dict[int, JsonObject | None] = {}
        for index, text in messages:
            edited = texts.get(f"m{index}", text).replace("\r\n", "\n").strip()
            if edited in (text.strip(), masked(text, self.studio.secrets).strip()):
                continue
            original = decode(text)
            changes[index] = unmasked(_message(edited, index), original, self.studio.secrets) if edited else None
        return changes

    def _changed_input(self, idea: Idea, sent: Posted) -> JsonObject | None:
        """The input of a fork, None if it wasn't changed."""
        schema, current = input_schema(idea.text.context), idea.context.get("†input")
        if not is_object(schema):
            return None
        value = posted_value(schema, sent)
        if not is_object(value):
            return None
        edited = self._restored(value, current if is_object(current) else {})
        return None if edited == current else edited

    def _fork_page(
        self,
        run: Run,
        idea: Idea,
        at: int,
        messages: Sequence[tuple[int, str]],
        sent: Posted | None = None,
        error: str = "",
    ) -> Response:
        """The form of a fork: with the run's values, or with those that were sent."""
        schema: Any = input_schema(idea.text.context)
        texts: Mapping[str, str] = {} if sent is None else sent.texts
        form = None
        if is_object(schema):
            value: Any = idea.context.get("†input") if sent is None else posted_value(schema, sent)
            problems = problems_of(schema, {} if value is ABSENT else value) if error else {}
            form = form_of(schema, value if is_object(value) else ABSENT, problems)
        return page(
            self.studio,
            "fork.html",
            422 if error else 200,
            run=run,
            number=at,
            messages=[(index, texts.get(f"m{index}", text)) for index, text in messages],
            form=form,
            model=texts.get("model", ""),
            models=self.studio.models,
            error=error,
        )

    async def compare(self, request: Request) -> Response:
        """Two runs side by side."""
        names = [request.query_params.get(side, "") for side in ("left", "right")]
        runs = [await self.studio.runs.get(name) for name in names]
        accounts = [await masked_account(run) for run in runs]
        ideas = [without_secrets(await run.idea()) for run in runs]
        comparison = compare(ideas[0].text, ideas[1].text, (names[0], names[1]))
        assert isinstance(comparison, Comparison)
        at, pages = page_of(request.query_params.get("page"), len(comparison.rows), _ROWS)
        rows = comparison.rows[(at - 1) * _ROWS : at * _ROWS]
        return page(
            self.studio,
            "compare.html",
            runs=runs,
            accounts=accounts,
            rows=rows,
            marked=[_marked_pieces(row) for row in rows],
            page=at,
            pages=pages,
            is_same=comparison.is_same,
            requests=_request_pairs(accounts[0], accounts[1]),
        )


def _marked_pieces(row: Row) -> tuple[Sequence[TextPiece], Sequence[TextPiece]]:
    """The two values of a row in which runs differ, with their differences marked; nothing if one has no value."""
    left, right = row.left, row.right
    if row.is_same or left is None or right is None or left.kind == "request":
        return (), ()
    return sides(shown_text(left.value, _MOST_MARKED), shown_text(right.value, _MOST_MARKED))


def _parameters_schema(waiting: Pending) -> JsonObject:
    """The schema of the parameters of a call that waits; if none is known, one that allows any values."""
    if waiting.takes is not None:
        return waiting.takes
    return {"type": "object", "properties": {name: {} for name in Call(waiting.call).parameters}}


def _message(text: str, index: int) -> JsonObject:
    """An edited message.

    Raises:
        IdeaError: it isn't an object.
    """
    value = decode(text)
    if not is_object(value):
        raise IdeaError(f"message {index} must be a JSON object")
    return value


def _before(idea: Idea, name: str, at: int) -> list[tuple[int, str]]:
    """The editable messages of a run before a request, by index, as JSON."""
    ticks = ticks_of(about_of(idea.meta, name), name)
    if not 1 <= at <= len(ticks):
        raise PartNotFound(f"the run can't be forked before request {at}: it made {len(ticks)}")
    messages = enumerate(idea.context.messages[: ticks[at - 1].at])
    fixed = {"plan", "approval", "suspended", "input"}
    return [(index, editable_json(message)) for index, message in messages if message.get("type") not in fixed]


def _retry_id(run: Run, form_id: str) -> str:
    """The id of the run that continues another, made from the form's id."""
    return hashlib.sha256(f"{run.id} {run.row.ended} {form_id}".encode()).hexdigest()[:24]


def _request_pairs(left: Account, right: Account) -> list[tuple[Any, Any]]:
    """The requests of two runs, side by side."""
    sides = [[answer for answer in account.answers if answer.request is not None] for account in (left, right)]
    most = max(map(len, sides))
    return [tuple(side[at] if at < len(side) else None for side in sides) for at in range(min(most, 100))]  # pyright: ignore[reportReturnType] -- two sides

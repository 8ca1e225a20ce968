"""A run as one HTML file, which needs no server and sends nothing."""

from __future__ import annotations

from ..app.idea import Idea
from ..inspection.account import Account, AnswerSeen, account_of
from .pages import standalone_page
from .pictures import graph_with_values
from .secrets import without_secrets
from .sent_requests import known_requests
from .timeline import timeline_of

_DETAILED = 2_000
"""With more calls than this, the file says of what a call was made as it was authored, and not once more value by
value."""
_MOST = 20_000
_MOST_OF_MANY = 1_000


async def run_page(run: Idea, name: str) -> str:
    """The page of a kept run as one HTML file.

    Raises:
        IdeaError: it isn't a kept run, or the extra `serve` is not installed.
    """
    account = account_of(without_secrets(run), name)
    sent = {request.number: request for request in await known_requests(run, name)}
    count = sum(len(answer.calls) for answer in account.answers)

    def link(place: str) -> str:
        return f"#call-{place}"

    def graph(answer: AnswerSeen) -> object:
        return graph_with_values(account, answer, link)

    return standalone_page(
        "file.html",
        script="file.js",
        title=title_of(account),
        state=state_of(account),
        account=account,
        line=timeline_of(account),
        link=link,
        graph=graph,
        why=account.why,
        sent=sent,
        detailed=count <= _DETAILED,
        most=_MOST if count <= _DETAILED else _MOST_OF_MANY,
    )


def title_of(account: Account) -> str:
    """The title of a run: its Idea's path and its own name."""
    path = account.idea.meta.get("path")
    return f"{path} · {account.name}" if isinstance(path, str) and path else account.name


def state_of(account: Account) -> str:
    """The state of a run, as a word."""
    row = account.about.get("row")
    if isinstance(row, dict) and isinstance(state := row.get("state"), str):  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] -- JSON
        return state
    if account.waiting or account.gates:
        return "waiting"
    return "cut" if account.output is None else "done"

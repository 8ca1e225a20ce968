"""`actum check`: every problem of an Idea at once, and what each provider would get of its schema."""

from __future__ import annotations

from collections.abc import Mapping

from ... import inspection
from ...inspection.wording import counted
from ..options import DelegateRoots, Modules
from ..render.terminal import say, say_below, say_json, tell_left_out

_MOST_CHANGES = 4


def actum_check(
    idea: str,
    /,
    *,
    json: bool = False,
    activities: Modules = None,
    tools: list[str] | None = None,
    root: DelegateRoots = None,
    mcp: str | None = None,
    all_providers: bool = False,
    size: bool = False,
) -> int:
    """Check an Idea and its local delegates without running them: every problem with its line.

    Where there are none, it also says which form of the schema each provider would get, and how it would be served.

    Parameters
    ----------
    idea
        The Idea's file.
    json
        Print the findings as JSON.
    tools
        An Idea, or a folder of them, that is offered as a tool, as for `actum run`.
    mcp
        A file of MCP servers, as for `actum run`; none is started: what `actum mcp pin` has kept is looked at.
    all_providers
        Also say what each setting is called by each kind of provider, and which it isn't sent.
    size
        Also say about how many tokens a first request has, part by part, and what each switch of its config would save.
    """
    check = inspection.check(idea, activities=activities or [], tools=tools or [], roots=root or [], mcp=mcp, size=size)
    if json:
        tell_left_out(check.left_out)
        problems = [problem.to_dict() for problem in check.problems]
        providers = {form.provider: form.to_dict() for form in check.forms}
        served = {} if check.served is None else {"mcp": check.served.to_dict()}
        settings = {"settings": inspection.settings_table()} if all_providers else {}
        sized = {"tokens": check.sizes} if check.sizes else {}
        say_json(
            {"problems": problems, "notes": list(check.notes), "providers": providers, **served, **settings, **sized}
        )
    else:
        _print(check)
        if all_providers:
            _print_table("setting", inspection.settings_table())
        if check.sizes:
            _print_table("tokens, about", check.sizes)
    return 2 if check.problems else 0


def _print(check: inspection.Check) -> None:
    notes = len(check.notes) + len(check.left_out)
    verdict = counted(len(check.problems), "problem") if check.problems else "no problems"
    say(f"{check.idea}: {verdict}{', ' + counted(notes, 'note') if notes else ''}")
    tell_left_out(check.left_out)
    for problem in check.problems:
        where = f"{problem.file}:{problem.line}:{problem.column}"
        words = problem.error.message.removeprefix(f"{problem.file}: ")
        say_below(0, f"{where}: {words} ({problem.error.code})")
    for note in check.notes:
        say_below(0, f"{note} (note)")
    for form in check.forms:
        say(f"  {form.provider}: {form.rung}")
        rest = len(form.changes) - _MOST_CHANGES
        last = [f"and {rest} more"] if rest > 0 else []
        for line in [*form.why, *form.changes[:_MOST_CHANGES], *last]:
            say_below(3, line)
    if check.served is not None:
        say(f"  mcp: {check.served}")


def _print_table(first: str, table: Mapping[str, Mapping[str, str | int | None]]) -> None:
    """Print a table with a row for each name; None means "not sent"."""
    rows = [[first, *next(iter(table.values()))]]
    for name, row in table.items():
        rows.append([name, *("not sent" if cell is None else str(cell) for cell in row.values())])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        say("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())

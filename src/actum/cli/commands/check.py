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
    found = inspection.check(idea, activities=activities or [], tools=tools or [], roots=root or [], mcp=mcp, size=size)
    if json:
        tell_left_out(found.left_out)
        problems = [problem.to_dict() for problem in found.problems]
        providers = {form.provider: form.to_dict() for form in found.forms}
        served = {} if found.served is None else {"mcp": found.served.to_dict()}
        settings = {"settings": inspection.settings_table()} if all_providers else {}
        sized = {"tokens": found.sizes} if found.sizes else {}
        say_json(
            {"problems": problems, "notes": list(found.notes), "providers": providers, **served, **settings, **sized}
        )
    else:
        _print(found)
        if all_providers:
            _print_table("setting", inspection.settings_table())
        if found.sizes:
            _print_table("tokens, about", found.sizes)
    return 2 if found.problems else 0


def _print(found: inspection.Check) -> None:
    notes = len(found.notes) + len(found.left_out)
    verdict = counted(len(found.problems), "problem") if found.problems else "no problems"
    say(f"{found.idea}: {verdict}{', ' + counted(notes, 'note') if notes else ''}")
    tell_left_out(found.left_out)
    for problem in found.problems:
        where = f"{problem.file}:{problem.line}:{problem.column}"
        words = problem.error.message.removeprefix(f"{problem.file}: ")
        say_below(0, f"{where}: {words} ({problem.error.code})")
    for note in found.notes:
        say_below(0, f"{note} (note)")
    for form in found.forms:
        say(f"  {form.provider}: {form.rung}")
        rest = len(form.changes) - _MOST_CHANGES
        more = [f"and {rest} more"] if rest > 0 else []
        for line in [*form.why, *form.changes[:_MOST_CHANGES], *more]:
            say_below(3, line)
    if found.served is not None:
        say(f"  mcp: {found.served}")


def _print_table(first: str, table: Mapping[str, Mapping[str, str | int | None]]) -> None:
    """A row under each name; what a cell has None for isn't sent."""
    rows = [[first, *next(iter(table.values()))]]
    rows += [[name, *("not sent" if one is None else str(one) for one in row.values())] for name, row in table.items()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        say("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())

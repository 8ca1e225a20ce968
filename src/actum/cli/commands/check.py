"""`actum check`: every problem of an Idea at once, and what each provider would get of its schema."""

from __future__ import annotations

import json as standard_json

from ... import inspection
from ..options import JsonFlag, Roots, Several
from ..render.lines import printable

_MOST_CHANGES = 4


def check(
    idea: str,
    /,
    *,
    json: JsonFlag = False,
    activities: Several = None,
    tools: Several = None,
    root: Roots = None,
) -> int:
    """Check an Idea and its local delegates without running them: every problem with its line.

    Where there are none, it also says which form of the schema each provider would get.

    Parameters
    ----------
    idea
        The Idea's file.
    json
        Print the findings as JSON.
    activities
        A module or file with Activities, beside those that the Idea names.
    tools
        An Idea, or a folder of them, that is offered as a tool, as for `actum run`.
    root
        A folder that delegates may be read from, as for `actum run`.
    """
    found = inspection.check(idea, activities=activities or [], tools=tools or [], roots=root or [])
    if json:
        problems = [problem.to_dict() for problem in found.problems]
        providers = {form.provider: form.to_dict() for form in found.forms}
        print(standard_json.dumps({"problems": problems, "providers": providers}, ensure_ascii=False))
    else:
        _print(found)
    return 2 if found.problems else 0


def _print(found: inspection.Check) -> None:
    for problem in found.problems:
        where = f"{problem.file}:{problem.line}:{problem.column}"
        print(printable(f"{where}: {problem.error.message} ({problem.error.code})"))
    if found.problems:
        count = len(found.problems)
        print(f"{count} problem{'s' if count > 1 else ''}")
        return
    print(f"{found.idea}: no problems")
    for form in found.forms:
        print(f"  {form.provider}: {form.rung}")
        rest = len(form.changes) - _MOST_CHANGES
        more = [f"and {rest} more changes"] if rest > 0 else []
        for line in [*form.why, *form.changes[:_MOST_CHANGES], *more]:
            print(printable(f"      {line}"))

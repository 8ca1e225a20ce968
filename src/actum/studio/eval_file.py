"""An eval's report as one HTML file, which needs no server and no script, and loads nothing (V32)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from ..evals import Judgement, Report
from .pages import standalone_page

Link: TypeAlias = "Callable[[str], str]"
_WORDS = {"pass": "done", "fail": "failed", "broken": "failed", "unknown": "waiting"}
"""The state of a call in whose colour each verdict is shown."""


def eval_page(report: Report, title: str, link: Link) -> str:
    """The report as an HTML page: the matrix with its costs, then the cases, those that changed first.

    `link` returns the path of a run's file, relative to the page.

    Raises:
        IdeaError: the extra `serve` is not installed.
    """
    return standalone_page("eval_file.html", title=title, **values_of(report, link))


def values_of(report: Report, link: Link | None = None) -> dict[str, Any]:
    """The values that the page of a report shows; with `link`, it links to the runs."""
    cells = list(report.cells.values())
    return {
        "report": report,
        "cells": cells,
        "checks": list(dict.fromkeys(check for cell in cells for check in cell.checks)),
        "compared": {cell.name: report.compare(cells[0].name, cell.name) for cell in cells[1:]},
        "cases": list(_cases(report)),
        "colours": _WORDS,
        "link": link,
    }


def _cases(report: Report) -> Iterator[Mapping[str, Any]]:
    """The cases with their changes between cells and their verdicts; those that changed or failed first."""
    rows: dict[str, list[Judgement]] = {}
    for row in report.rows:
        rows.setdefault(row.case, []).append(row)
    changes: dict[str, list[tuple[str, list[str]]]] = {}
    for key, lines in report.changes.items():
        cells, _, case = key.partition(": ")
        changes.setdefault(case, []).append((cells, list(lines)))

    def order(case: str) -> tuple[bool, bool]:
        return case not in changes, all(row.state == "pass" for row in rows[case])

    for case in sorted(rows, key=order):
        yield {
            "name": case,
            "changes": changes.get(case, []),
            "rows": [row for row in rows[case] if row.state != "pass"],
            "passed": sum(row.state == "pass" for row in rows[case]),
            "runs": list(dict.fromkeys((row.cell, row.repeat, row.run) for row in rows[case] if row.run)),
        }

"""A report as lines for a terminal: a row for each check, a column for each cell (V1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate

from ..schema.quoting import printable
from .report import CellReport, Report

_NAME = 22
_MOST_CASES = 10
_MOST_REASONS = 20


def report_lines(report: Report, width: int | None = None) -> Iterator[str]:
    """The matrix, its costs, and the most important cases: first those that became worse.

    Cells that don't fit side by side into `width` are put below each other.
    """
    cells = list(report.cells.values())
    if not cells:
        yield "nothing was judged"
        return
    first, *others = cells
    checks = list(dict.fromkeys(check for cell in cells for check in cell.checks))
    columns = [[first.name], *([cell.name] for cell in others)]
    comparisons = [report.compare(first.name, cell.name) for cell in others]
    for check in checks:
        columns[0].append(str(first.rate(check)) if check in first.checks else "")
        for column, cell, by_check in zip(columns[1:], others, comparisons, strict=True):
            rate = str(cell.rate(check)) if check in cell.checks else ""
            pairs = by_check.get(check)
            column.append(rate if pairs is None else f"{rate}  +{pairs.better} −{pairs.worse}  p={pairs.p:.2f}")
    for column, cell in zip(columns, cells, strict=True):
        column.append(_cost(cell))
    yield from _table(["", *checks, "requests, $"], columns, width)
    yield from _worse(report, first, others)
    yield from _wrong(report)
    yield from _flaky(cells)
    yield from _first(_MOST_CASES, report.notes)
    if report.left:
        yield f"not everything was tried: {report.left}"


def _first(most: int, lines: Sequence[str]) -> Iterator[str]:
    """The first lines, and how many more there are."""
    yield from map(printable, lines[:most])
    if len(lines) > most:
        yield f"{len(lines) - most} more: --html tells all"


def _table(names: Sequence[str], columns: Sequence[Sequence[str]], most: int | None) -> Iterator[str]:
    width = max(_NAME, *(len(name) for name in names)) if max(map(len, names)) <= 2 * _NAME else 2 * _NAME
    widths = [max(len(cell) for cell in column) for column in columns]
    if most is not None and len(columns) > 1 and width + sum(widths) + 2 * len(widths) > most:
        fit = max(1, sum(width + total + 2 * n <= most for n, total in enumerate(accumulate(widths), 1)))
        yield from _table(names, columns[:fit], most)
        yield ""
        yield from _table(names, columns[fit:], most)
        return
    for name, *cells in zip(names, *columns, strict=True):
        shown = name if len(name) <= width else f"{name[: width - 1]}…"
        padded = "  ".join(f"{cell:<{size}}" for cell, size in zip(cells, widths, strict=True))
        yield printable(f"{shown:<{width}} {padded}".rstrip())


def _cost(cell: CellReport) -> str:
    requests, usd = cell.spent["requests"], cell.spent["usd"]
    shown = "?" if requests is None else f"{requests:.1f}"
    return f"{shown}  {'?' if usd is None else f'{usd:.5f}'}"


def _worse(report: Report, first: CellReport, others: Sequence[CellReport]) -> Iterator[str]:
    for cell in others:
        comparisons = report.compare(first.name, cell.name).values()
        worse = list(dict.fromkeys(name for compared in comparisons for name in compared.became_worse))
        if worse:
            yield f"{len(worse)} case{'s' * (len(worse) > 1)} changed for the worse in {printable(cell.name)}:"
        changes = [(name, report.changes.get(f"{first.name} → {cell.name}: {name}", ())) for name in worse]
        yield from _first(_MOST_CASES, [f"  {name}  {'  '.join(changed)}" for name, changed in changes])


def _wrong(report: Report) -> Iterator[str]:
    """Why cases fail, or can't be judged: a line for each reason, with its cells and checks."""
    checks_by_reason: defaultdict[tuple[str, str, str, str], list[str]] = defaultdict(list)
    for row in report.rows:
        if row.state != "pass":
            checks_by_reason[row.state, row.case, row.verdict.why, row.cell].append(row.check)
    cells: defaultdict[tuple[str, str, str, str], list[str]] = defaultdict(list)
    for (state, case, why, cell), checks in checks_by_reason.items():
        cells[state, case, ", ".join(dict.fromkeys(checks)), why].append(cell)
    lines = list[str]()
    for (state, case, failed, why), names in cells.items():
        where = "all cells" if len(names) == len(report.cells) > 1 else ", ".join(names)
        lines.append(f"{state:<8}{case} in {where}, {failed}: {why}")
    yield from _first(_MOST_REASONS, lines)


def _flaky(cells: Sequence[CellReport]) -> Iterator[str]:
    is_repeated = any(row.repeat > 1 for cell in cells for row in cell.rows)
    for cell in cells:
        flaky = [
            f"flaky   {name} in {cell.name}: {passed} of {of} repeats pass" for name, (passed, of) in cell.flaky.items()
        ]
        yield from _first(_MOST_CASES, flaky)
    if not is_repeated:
        yield "each case was tried once: whether a verdict is flaky isn't known (--repeat)"

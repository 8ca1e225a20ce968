"""Measure the shape of packages and print it as a table in Markdown, one column a package.

    python docs/shape [NAME=]PATH[@COMMIT] … [--run PACKAGE=FILE] [--list]
    python docs/shape --page FILE
    python docs/shape PATH … --goals FILE

Only the source is read, with `@COMMIT` as it was then; with `--run`, a run of the package called PACKAGE is traced, too
(see traced.py). `--list` also names what was counted. `--page` takes the words between `<!-- shape:` and `-->` of a
page as arguments, and puts the table between that line and `<!-- /shape -->`. `--goals` adds a column with the goals in
a file, and ends with 1 where the last package is over the budget that the file has for a measure.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from measures import (
    casts,
    code_lines,
    comment_lines,
    crowded_classes,
    largest_class,
    largest_cycle,
    long_bodies,
    long_files,
)
from names import arrows, repeated, repeated_modules
from source import Package
from walks import tables, walks

HERE = Path(__file__).parent
NONE = "–"
REGION = re.compile(r"(<!-- shape: (.+) -->\n).*?(?=<!-- /shape -->)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One measure of one package: what it is called, what it came out as, and what was counted for it."""

    name: str
    cell: str
    number: float | None = None
    counted: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What a measure is to come down to, and what it may be until then."""

    goal: float
    budget: float


def rows(package: Package, run: Path | None) -> list[Row]:
    """Everything that is measured of a package."""
    largest = largest_class(package)
    cycle = largest_cycle(package)
    cast = casts(package)
    entered = _entered(package, run) if run else []
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        _counted("files", [*package.modules], listed=False),
        Row(name="lines", cell=f"{package.lines:,}", number=package.lines),
        Row(name="lines of code", cell=f"{(code := code_lines(package)):,}", number=code),
        Row(name="lines with a comment", cell=_share(comment_lines(package), package.lines)),
        _counted("bodies over 50 lines", long_bodies(package)),
        _counted("files over 450 lines", long_files(package)),
        _counted("classes over 20 methods", crowded_classes(package)),
        Row(
            name="most methods in one class",
            cell=f"`{largest.name}` {largest.methods} ({largest.lines:,} lines)" if largest else NONE,
            number=largest.methods if largest else 0,
        ),
        _counted("class names in several modules", repeated(package, ast.ClassDef)),
        _counted("function names in several modules", repeated(package, functions)),
        _counted("names of several modules", repeated_modules(package)),
        Row(
            name="largest cycle of imports, all counted",
            cell=f"{_share(len(cycle), len(package.modules))} ({len(cycle)} files)" if cycle else "0",
            number=len(cycle),
            counted=sorted(cycle),
        ),
        _counted("imports inside `execution/calls`", arrows(package, "execution.calls")),
        Row(name="`cast(` per 1,000 lines", cell=f"{1000 * len(cast) / max(package.lines, 1):.1f}", counted=cast),
        _counted("walks over JSON Schema", walks(package)),
        _counted("tables of JSON Schema's keywords", [*tables(package)]),
        Row(
            name="files met from an answer's text to its output",
            cell=str(len(entered)) if run else NONE,
            number=len(entered) if run else None,
            counted=entered,
        ),
    ]


def _counted(name: str, counted: Sequence[str], *, listed: bool = True) -> Row:
    return Row(name=name, cell=f"{len(counted):,}", number=len(counted), counted=counted if listed else ())


def table(columns: dict[str, list[Row]], goals: dict[str, Goal]) -> str:
    """The rows of every package side by side, with the goals, if there are any."""
    lines = zip(*columns.values(), strict=True)
    aims = {name: f"{aim.goal:,}" for name, aim in goals.items()}
    cells = [
        ["", *columns, *(["goal"] if goals else [])],
        ["---"] * (len(columns) + 1 + bool(goals)),
        *(
            [line[0].name, *(row.cell for row in line), *([aims.get(line[0].name, "")] if goals else [])]
            for line in lines
        ),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def over(row: Row, goals: dict[str, Goal]) -> str | None:
    """What to say of a measure that is over its budget."""
    aim = goals.get(row.name)
    if aim is None or row.number is None or row.number <= aim.budget:
        return None
    return f"{row.name}: {row.cell}, and no more than {aim.budget:,} are allowed (--list names them)"


def read_goals(path: Path) -> dict[str, Goal]:
    """The goals in a file; a measure's budget is its goal where the file names no other."""
    named = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: Goal(goal=aim["goal"], budget=aim.get("budget", aim["goal"])) for name, aim in named.items()}


def _share(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.1f} %"


def _entered(package: Package, run: Path) -> list[str]:
    """The files that a run enters, traced in a process of its own: two packages may have the same name."""
    command = [sys.executable, str(HERE / "traced.py"), str(package.root), str(run)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split("\n")[:-1]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="shape", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("packages", nargs="*", metavar="[NAME=]PATH[@COMMIT]", help="a folder that is a package")
    parser.add_argument("--run", action="append", default=[], metavar="PACKAGE=FILE", help="a run to trace")
    parser.add_argument("--list", action="store_true", help="name what was counted, too")
    parser.add_argument("--goals", type=Path, metavar="FILE", help="what the measures are to come down to")
    parser.add_argument("--page", type=Path, metavar="FILE", help="the page whose table is measured again")
    return parser


def measured(parser: argparse.ArgumentParser, options: argparse.Namespace) -> dict[str, list[Row]]:
    """The columns of the table: what is measured of each package."""
    runs = {name: Path(file) for name, _, file in (run.partition("=") for run in options.run)}
    columns: dict[str, list[Row]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, argument in enumerate(options.packages):
            name, _, path = argument.rpartition("=")
            path, _, commit = path.partition("@")
            root = _checked_out(path, commit, Path(folder, str(number))) if commit else Path(path).resolve()
            if not any(root.rglob("*.py")):
                parser.error(f"{path}: no Python files there")
            columns[name or root.name] = rows(Package.read(root), runs.get(root.name))
    return columns


def _checked_out(path: str, commit: str, folder: Path) -> Path:
    """The package at a path below the current folder, as it was at a commit."""
    archive = subprocess.run(["git", "archive", commit, path], check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    return (folder / path).resolve()


def refresh(parser: argparse.ArgumentParser, page: Path) -> None:
    """Measure what the table of a page says that it shows, and put the new numbers there."""
    text = page.read_text(encoding="utf-8")
    region = REGION.search(text)
    if region is None:
        parser.error(f"{page}: there is no table between '<!-- shape: ARGUMENTS -->' and '<!-- /shape -->'")
    options = parser.parse_args(shlex.split(region[2]))
    shown = table(measured(parser, options), read_goals(options.goals) if options.goals else {})
    page.write_text(f"{text[: region.start()]}{region[1]}\n{shown}\n\n{text[region.end() :]}", encoding="utf-8")


def main() -> None:
    """Measure what the command line names."""
    parser = _parser()
    options = parser.parse_args()
    if options.page is not None:
        refresh(parser, options.page)
        return
    if not options.packages:
        parser.error("name a package, or a page with --page")
    columns = measured(parser, options)
    goals = read_goals(options.goals) if options.goals else {}
    print(table(columns, goals))
    for name, every in columns.items() if options.list else ():
        for row in every:
            if row.counted:
                print(f"\n## {name}: {row.name}\n")
                print("\n".join(f"- {line}" for line in row.counted))
    if exceeded := [line for row in [*columns.values()][-1] if (line := over(row, goals))]:
        sys.exit("\n".join(exceeded))


if __name__ == "__main__":
    main()

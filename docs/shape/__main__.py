"""Measure the shape of packages and print it as a table in Markdown, one column a package.

    python docs/shape [NAME=]PATH[@COMMIT] … [--run PACKAGE=FILE] [--list]
    python docs/shape --page FILE

Only the source is read, with `@COMMIT` as it was then; with `--run`, a run of the package called PACKAGE is traced, too
(see traced.py). `--list` also names what was counted. `--page` takes the words between `<!-- shape:` and `-->` of a
page as arguments, and puts the table between that line and `<!-- /shape -->`.
"""

from __future__ import annotations

import argparse
import io
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from measures import casts, comment_lines, largest_class, largest_cycle, long_bodies
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
    counted: Sequence[str] = ()


def rows(package: Package, run: Path | None) -> list[Row]:
    """Everything that is measured of a package."""
    long, functions = long_bodies(package)
    largest = largest_class(package)
    cycle = largest_cycle(package)
    cast = casts(package)
    walked, tabled = walks(package), list(tables(package))
    entered = _entered(package, run) if run else []
    return [
        Row(name="files", cell=f"{len(package.modules):,}"),
        Row(name="lines", cell=f"{package.lines:,}"),
        Row(name="bodies over 50 lines", cell=_share(len(long), functions), counted=long),
        Row(
            name="most methods in one class",
            cell=f"`{largest.name}` {largest.methods} ({largest.lines:,} lines)" if largest else NONE,
        ),
        Row(
            name="largest cycle of imports, all counted",
            cell=f"{_share(len(cycle), len(package.modules))} ({len(cycle)} files)" if cycle else "0",
            counted=sorted(cycle),
        ),
        Row(name="`cast(` per 1,000 lines", cell=f"{1000 * len(cast) / max(package.lines, 1):.1f}", counted=cast),
        Row(name="lines with a comment", cell=_share(comment_lines(package), package.lines)),
        Row(
            name="walks over JSON Schema / tables of its keywords",
            cell=f"{len(walked)} / {len(tabled)}",
            counted=[*walked, *tabled],
        ),
        Row(
            name="files met from an answer's text to its output",
            cell=str(len(entered)) if run else NONE,
            counted=entered,
        ),
    ]


def table(columns: dict[str, list[Row]]) -> str:
    """The rows of every package side by side."""
    lines = zip(*columns.values(), strict=True)
    cells = [
        ["", *columns],
        ["---"] * (len(columns) + 1),
        *([line[0].name, *(row.cell for row in line)] for line in lines),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


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
    parser.add_argument("--page", type=Path, metavar="FILE", help="the page whose table is measured again")
    return parser


def measured(parser: argparse.ArgumentParser, options: argparse.Namespace) -> dict[str, list[Row]]:
    """The columns of the table: what is measured of each package."""
    runs = {name: Path(file) for name, _, file in (one.partition("=") for one in options.run)}
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
    shown = table(measured(parser, parser.parse_args(shlex.split(region[2]))))
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
    print(table(columns))
    for name, every in columns.items() if options.list else ():
        for row in every:
            if row.counted:
                print(f"\n## {name}: {row.name}\n")
                print("\n".join(f"- {one}" for one in row.counted))


if __name__ == "__main__":
    main()

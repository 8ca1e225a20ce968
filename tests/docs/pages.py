"""The pages of the documentation, and what stands in them: blocks, commands, headings, tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
_BLOCK = re.compile(r"^```(\w*)(?: title=\"([^\"]+)\")?[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXIT = re.compile(r"\s+# ends with (\d+).*$")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, the file that it is if it has a title, its text and its line."""

    language: str
    title: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Command:
    """A line behind `$`, with what the page says that it prints and ends with."""

    line: str
    prints: str
    code: int


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(match[1], match[2] or "", match[3], text.count("\n", 0, match.start()) + 2)
        for match in _BLOCK.finditer(text)
    ]


def commands(block: Block) -> Iterator[Command]:
    """The commands of a console block."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, _, prints = part.partition("\n")
        ends = _EXIT.search(line)
        yield Command(_EXIT.sub("", line), prints.rstrip(), int(ends[1]) if ends else 0)


def written() -> list[Path]:
    """Every page that people write, the README first, whose blocks are run: those of Russian pages are the same."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in pages if not {REFERENCE, ROOT / "docs" / "ru"} & {*page.parents}]


def grows(page: Path) -> bool:
    """Whether the blocks of a page build on each other: those of lessons and tasks do, others stand alone."""
    return bool({"how-to", "coming-from", "tutorial.md"} & {*page.parts})

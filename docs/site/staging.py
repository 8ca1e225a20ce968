"""The pages of the site, gathered from the repository into one folder, with links that hold there.

On GitHub a page links to files beside it: source, examples, folders. The site has pages only, so a file that a page
links to becomes one, with its text, and a folder becomes a list of its files or its README.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
ALONE: Mapping[str, str] = {
    "README.md": "index.md",
    "docs/ru/README.md": "ru/index.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "tests/README.md": "tests.md",
    "bench/README.md": "bench.md",
}
"""Pages that lie elsewhere in the repository, by where they are on the site."""
ASSETS = {".svg", ".png", ".jpg", ".wav", ".webp"}
_LANGUAGES = {".py": "python", ".json": "json", ".jsonl": "json", ".toml": "toml", ".yml": "yaml", ".sh": "sh"}
_LINK = re.compile(r"(?<=\]\()([^()\s]+)(?=\))")
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]+`")
_CARD = re.compile(r"^\| \*\*(\w+)\*\* \| (.+) \|$", re.MULTILINE)
EXPLAINED: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("latent", "explicit", "owed", "withheld", "proposal", "instance"), frozenset[str]()),
    "tick": frozenset({"runs.md", "scale.md", "operating.md"}),  # of a schedule
    "gate": frozenset({"how-to/evals.md"}),  # of an eval
}
"""The words that have a hover card, each with the pages where it means something else."""
_PLAIN = {"reference", "ru", "examples", "terms.md", "changelog.md", "contributing.md", "tests.md", "bench.md"}
"""Pages and folders of them without cards."""
_WIDE = "---\nhide:\n  - navigation\n---\n\n"
"""Before a page that is in no section: nothing would stand in the column of the navigation."""
_UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"


def pages() -> dict[Path, PurePosixPath]:
    """Every page that is written, by its file: where it is on the site."""
    places = {ROOT / name: PurePosixPath(place) for name, place in ALONE.items() if (ROOT / name).exists()}
    for path in sorted((ROOT / "docs").rglob("*.md")):
        places.setdefault(path, PurePosixPath(path.relative_to(ROOT / "docs").as_posix()))
    for path in sorted((ROOT / "examples").rglob("README.md")):
        folder = path.parent.relative_to(ROOT)
        places[path] = PurePosixPath(f"{folder.as_posix()}.md")  # not index.md, which would head the section
    return places


@dataclass(slots=True)
class Stage:
    """A folder that becomes the site."""

    folder: Path
    pages: Mapping[Path, PurePosixPath] = field(default_factory=pages)
    shown: dict[Path, PurePosixPath] = field(default_factory=dict[Path, PurePosixPath])
    """Files and folders that pages link to, which are shown as pages of their own."""

    def fill(self) -> None:
        """Write all pages, and what they link to.

        Raises:
            FileNotFoundError: a page links to what isn't there.
        """
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        for name in ("site.css", "site.js"):
            shutil.copyfile(Path(__file__).with_name(name), self.folder / name)
        for path, place in self.pages.items():
            text = self.linked(path.read_text(encoding="utf-8"), path.parent, place) + hover_cards(place)
            self._write(place, _WIDE + text if place == PurePosixPath("index.md") else text)
        done: set[Path] = set()
        while waiting := self.shown.keys() - done:
            for path in sorted(waiting):
                self._write(self.shown[path], self._source_page(path))
                done.add(path)

    def linked(self, text: str, folder: Path, place: PurePosixPath) -> str:
        """The text of a page with the links that it has on the site."""
        parts = _FENCED.split(text)
        for index, part in enumerate(parts[::2]):
            linked = _LINK.sub(lambda link: self._target(link[1], folder, place), part)
            parts[2 * index] = "\n".join(map(_unescaped, linked.split("\n")))
        return "".join(parts)

    def _target(self, link: str, folder: Path, place: PurePosixPath) -> str:
        name, sign, anchor = link.partition("#")
        if "://" in link or not name or name.startswith("mailto:"):
            return link
        path = (folder / name).resolve()
        if not path.exists():
            raise FileNotFoundError(f"{place}: links to {link}, which isn't there")
        return os.path.relpath(self._place(path), place.parent) + sign + anchor

    def _place(self, path: Path) -> PurePosixPath:
        """Where a file or a folder is on the site."""
        if path.is_dir() and (path / "README.md") in self.pages:
            path = path / "README.md"
        if (place := self.pages.get(path)) is not None:
            return place
        inside = PurePosixPath(path.relative_to(ROOT).as_posix())
        if path.suffix in ASSETS:
            place = PurePosixPath("assets") / inside
            (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, self.folder / place)
            return place
        return self.shown.setdefault(path, PurePosixPath("source") / f"{inside}.md")

    def _source_page(self, path: Path) -> str:
        name = path.relative_to(ROOT).as_posix()
        if path.is_dir():
            return f"{_UNSEARCHED}# {name}\n\n{self._listed(path)}"
        text = path.read_text(encoding="utf-8")
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
        return f"{_UNSEARCHED}# {name}\n\n{fence}{_LANGUAGES.get(path.suffix, 'text')}\n{text.rstrip()}\n{fence}\n"

    def _listed(self, folder: Path) -> str:
        place = self.shown[folder].parent
        files = [file for file in sorted(folder.iterdir()) if file.is_file() and file.suffix in {*_LANGUAGES, ".md"}]
        return "".join(f"- [{file.name}]({os.path.relpath(self._place(file), place)})\n" for file in files)

    def _write(self, place: PurePosixPath, text: str) -> None:
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def hover_cards(place: PurePosixPath) -> str:
    """What the glossary says of the words that a page may use, in the notation of abbreviations."""
    if place.parts[0] in _PLAIN:
        return ""
    meanings = dict(_CARD.findall((ROOT / "docs" / "terms.md").read_text(encoding="utf-8")))
    cards = [
        f"*[{word}]: {_in_words(meanings[word])}" for word, others in EXPLAINED.items() if str(place) not in others
    ]
    return "\n" + "\n".join(cards) + "\n"


def _in_words(text: str) -> str:
    """Words of the glossary without marks and the numbers of rules: a card shows plain text."""
    return re.sub(r" \([A-Z]\d+(?:, [A-Z]\d+)*\)", "", re.sub(r"[*`]|\]\([^)]*\)|\[", "", text))


def _unescaped(line: str) -> str:
    """A row of a table: GitHub wants a bar inside of code escaped, the site shows the escape."""
    return _CODE.sub(lambda code: code[0].replace("\\|", "|"), line) if line.startswith("|") else line


def unnamed(nav: Iterable[object], places: Iterable[PurePosixPath]) -> list[str]:
    """The pages that the navigation leaves out, by where they are on the site."""
    named: set[str] = set()
    waiting = [*nav]
    while waiting:
        match waiting.pop():
            case str() as name:
                named.add(name)
            case dict() as entry:
                waiting += entry.values()
            case list() as entries:
                waiting += entries
            case _:
                pass
    return sorted(str(place) for place in places if str(place) not in named)

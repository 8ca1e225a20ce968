"""Links between the pages lead to files and headings that exist, and the map of the tests names every folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from actum.cli.dispatch import GROUPS

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("examples/**/*.md"), *ROOT.glob("tests/*.md")]
)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The fragments by which the headings of a page are found, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    links = [link for link in re.findall(r"\]\(([^()\s]+)\)", text) if "://" not in link]
    parts = [
        (link, page.parent / name if name else page, anchor)
        for link in links
        for name, _, anchor in [link.partition("#")]
    ]
    return [link for link, file, anchor in parts if not file.exists() or (anchor and anchor not in anchors(file))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_a_link_to_a_file_or_a_heading_that_is_not_there_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Here it is\n[a](#here-it-is) [b](page.md#there) [c](none.md) [d](https://example.com/none)\n")
    assert broken(page) == ["page.md#there", "none.md"]


def test_the_map_of_the_tests_names_every_folder_and_nothing_else() -> None:
    tests = ROOT / "tests"
    table = (tests / "README.md").read_text(encoding="utf-8").partition("## Run a part")[0]
    folders = {f"{path.parent.relative_to(tests).as_posix()}/" for path in tests.glob("*/test_*.py")}
    alone = {path.name for path in tests.glob("test_*.py")}
    assert folders | alone <= set(re.findall(r"`([^` ]+)`", table))
    named: list[str] = re.findall(r"`([\w/]+\.py|[\w/]+/|[\w/]+\.toml)`", table)
    assert [name for name in named if not (tests / name).exists() and not (tests / "rules" / name).exists()] == []


def test_no_page_installs_from_where_nothing_is_published_yet() -> None:
    pages = [*PAGES, ROOT / "deploy" / "Dockerfile"]
    installs = [
        (page.name, package)
        for page in pages
        for package in re.findall(r"pip install ['\"]?(actum\S*)", page.read_text())
    ]
    assert installs == []


def test_the_page_of_security_says_of_every_command_what_it_may_do() -> None:
    table = (ROOT / "SECURITY.md").read_text(encoding="utf-8").partition("## What a command may do")[2]
    commands = [
        command
        for line in table.splitlines()
        if line.startswith("| `")
        for command in re.findall(r"`(\w+)", line.split("|")[1])
    ]
    assert sorted({*commands}) == sorted(name for names in GROUPS.values() for name in names)

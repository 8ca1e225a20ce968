"""The pages of docs/reference are what the code says now, and the site has all pages and no link that leads nowhere."""

from __future__ import annotations

import builtins
import importlib
import re
import sys
import typing
from collections import abc
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

import actum

ROOT = Path(__file__).parents[2]
FOREIGN = {"MeterProvider", "Path", "Signature", "TracerProvider"}
"""The types of other libraries that signatures name."""

with pytest.MonkeyPatch.context() as patch:
    patch.setattr(sys, "path", [str(ROOT / "docs" / "generate"), str(ROOT / "docs" / "site"), *sys.path])
    modules: list[Any] = [importlib.import_module(name) for name in ("reference", "staging")]
reference, staging = modules


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return reference.written()


def test_every_page_of_the_reference_is_what_the_code_says(pages: dict[str, str]) -> None:
    assert reference.stale(pages) == [], "make reference"


@pytest.mark.parametrize("page", ["api.md", "modules.md", "types.md", "errors.md", "events.md"])
def test_each_parameter_is_an_item_of_its_own(page: str, pages: dict[str, str]) -> None:
    assert re.findall(r"^- +\w+: .*|^- {2,}.*", pages[page], re.MULTILINE) == []


@pytest.mark.parametrize("page", ["api.md", "modules.md", "types.md", "errors.md", "events.md"])
def test_every_name_that_has_a_heading_is_imported_by_it(page: str, pages: dict[str, str]) -> None:
    module, names = {"errors.md": "actum.errors", "events.md": "actum.events"}.get(page, "actum"), 0
    for mark, name in re.findall(r"^(##+) (`?[\w.]+`?(?:\(\))?)$", pages[page], re.MULTILINE):
        if name[:1] == "`":
            module = name.strip("`")
            importlib.import_module(module)
        elif "." not in name and "()" not in name and (mark == "##" or page != "api.md"):
            assert hasattr(importlib.import_module(module), name), f"{module}.{name}"
            names += 1
    assert names > 10


def test_every_public_name_has_a_heading_and_every_type_of_a_signature_an_entry(pages: dict[str, str]) -> None:
    headings = {page: set(re.findall(r"^#+ `?([\w.]+)", text, re.MULTILINE)) for page, text in pages.items()}
    values = {name: getattr(actum, name) for name in actum.__all__}
    names = {name for name, value in values.items() if not isinstance(value, ModuleType)}
    assert names - headings["api.md"] == set()
    for name, module in values.items():
        if isinstance(module, ModuleType):
            page = f"{name}.md" if name in {"errors", "events"} else "modules.md"
            listed = headings[page] | set(re.findall(r"^\[`(\w+)`\]\(api\.md#", pages[page], re.MULTILINE))
            assert page != "modules.md" or f"actum.{name}" in listed
            assert {*getattr(module, "__all__", ())} - listed == set(), name
    every = {name.rpartition(".")[2] for page_headings in headings.values() for name in page_headings}
    blocks = re.findall(r"```py\n(.*?)```", pages["api.md"], re.DOTALL)
    types = {
        type_name
        for text in blocks
        for type_name in re.findall(r"\b[A-Z][A-Za-z]+\b", re.sub(r"'[^']*'|\"[^\"]*\"", "", text))
    }
    assert types - every - {*dir(builtins), *dir(typing), *dir(abc)} == FOREIGN


def test_a_page_that_is_changed_by_hand_or_left_over_is_found(pages: dict[str, str], tmp_path: Path) -> None:
    for name, text in pages.items():
        (tmp_path / name).write_text(text + ("x" if name == "tools.md" else ""), encoding="utf-8")
    (tmp_path / "gone.md").write_text("", encoding="utf-8")
    assert reference.stale(pages, tmp_path) == ["gone.md", "tools.md"]


def test_no_page_shows_an_address_of_memory_or_a_path_of_this_machine(pages: dict[str, str]) -> None:
    for name, text in pages.items():
        assert re.findall(r"0x[0-9a-f]{6,}|<factory>|" + re.escape(str(ROOT)), text) == [], name


def test_every_page_has_a_place_in_the_navigation(tmp_path: Path) -> None:
    written = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    nav = yaml.safe_load(written[written.index("\nnav:") :])["nav"]
    stage = staging.Stage(tmp_path / "pages")
    stage.fill()
    assert staging.unnamed(nav, stage.pages.values()) == []
    text = "\n".join(path.read_text(encoding="utf-8") for path in (tmp_path / "pages").rglob("*.md"))
    assert "](../src" not in text


def test_a_page_that_links_to_a_file_that_is_not_there_is_no_page(tmp_path: Path) -> None:
    stage = staging.Stage(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"links to nowhere\.md"):
        stage.linked("[x](nowhere.md)", ROOT, staging.PurePosixPath("index.md"))


def test_words_have_a_hover_card_where_they_mean_what_the_glossary_says(tmp_path: Path) -> None:
    stage = staging.Stage(tmp_path / "pages")
    stage.fill()
    page, runs, evals = (
        (tmp_path / "pages" / name).read_text(encoding="utf-8")
        for name in ("semantics.md", "runs.md", "how-to/evals.md")
    )
    assert re.findall(r"^\*\[(\w+)\]: \w", page, re.MULTILINE) == [*staging.EXPLAINED]
    assert len(staging.EXPLAINED) == 8
    assert "*[tick]" not in runs
    assert "*[gate]" not in evals
    cards = [line for line in page.splitlines() if line.startswith("*[")]
    assert [line for line in cards if re.search(r"[`*]\w|\([A-Z]\d", line[2:])] == []
    assert "*[" not in (tmp_path / "pages" / "terms.md").read_text(encoding="utf-8")

"""The Russian pages say what the English ones say: the same headings, blocks, tables, rules and terms, in Russian."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUSSIAN = ROOT / "docs" / "ru"
PAIRS = {
    "README.md": ROOT / "README.md",
    "tutorial.md": ROOT / "docs" / "tutorial.md",
    "protocol.md": ROOT / "docs" / "protocol.md",
}
FENCED = re.compile(r"^```[^\n]*\n.*?^```$", re.MULTILINE | re.DOTALL)
every_pair = pytest.mark.parametrize("name", PAIRS)


def texts(name: str) -> tuple[str, str]:
    return PAIRS[name].read_text(encoding="utf-8"), (RUSSIAN / name).read_text(encoding="utf-8")


def levels(text: str) -> list[str]:
    return re.findall(r"^(#+) ", FENCED.sub("", text), re.MULTILINE)


def tables(text: str) -> list[int]:
    """How many cells each line of its tables has."""
    return [line.replace("\\|", "").count("|") for line in FENCED.sub("", text).splitlines() if line.startswith("|")]


def paragraphs(text: str) -> list[str]:
    """What is said, without blocks, code, links' targets and names that are the same in every language."""
    prose = re.sub(r"`[^`]+`|Acts of Emergence", "", FENCED.sub("", text))
    parts = re.split(r"\n\s*\n|\n(?=[-|#*])", re.sub(r"\]\([^)]*\)", "]", prose))
    return [part for part in parts if re.search(r"[A-Za-zА-я]{3}", part)]


def rules(text: str) -> dict[str, str]:
    """Each rule of the protocol by its number, in the order of the page."""
    parts = re.split(r"^\*\*([A-Z]\d+)(?: \+)?\*\*", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def terms() -> dict[str, str]:
    """The Russian word of each term, by the glossary."""
    text = (ROOT / "docs" / "terms.md").read_text(encoding="utf-8").partition("## In Russian")[2]
    cells = [cell.strip() for line in text.splitlines() if line.startswith("|") for cell in line.strip("|").split("|")]
    return {term: word for term, word in zip(cells[::2], cells[1::2], strict=True) if term not in {"term", "---"}}


@every_pair
def test_the_headings_of_both_are_of_the_same_levels(name: str) -> None:
    english, russian = texts(name)
    assert levels(russian) == levels(english)


@every_pair
def test_the_blocks_of_both_are_the_same(name: str) -> None:
    english, russian = texts(name)
    assert FENCED.findall(russian) == FENCED.findall(english)


@every_pair
def test_the_tables_of_both_have_the_same_rows_and_columns(name: str) -> None:
    english, russian = texts(name)
    assert tables(russian) == tables(english)


@every_pair
def test_the_lists_of_both_have_as_many_points(name: str) -> None:
    counts = [len(re.findall(r"^- ", FENCED.sub("", text), re.MULTILINE)) for text in texts(name)]
    assert counts[0] == counts[1]


@every_pair
def test_no_sentence_is_left_in_english(name: str) -> None:
    for part in paragraphs(texts(name)[1]):
        latin, cyrillic = (len(re.findall(letters, part)) for letters in ("[A-Za-z]", "[А-Яа-яЁё]"))
        assert cyrillic > latin or cyrillic + latin < 12, part
        assert not re.search(r"\b(the|and|is|are|of|with)\b", part), part


def test_both_protocols_have_the_same_rules_with_the_same_names_of_code() -> None:
    english, russian = (rules(text) for text in texts("protocol.md"))
    assert list(russian) == list(english)
    plus = [re.findall(r"^\*\*[A-Z]\d+ \+\*\*", text, re.MULTILINE) for text in texts("protocol.md")]
    assert plus[0] == plus[1]
    for number, rule in english.items():
        names = [set(re.findall(r"(?<![\w])_[a-z]\w+|\b[A-Z][A-Za-z]+Error\b|\b[A-Z]\d+\b|Config\(\w+", text))
                 for text in (rule, russian[number])]  # fmt: skip
        assert names[0] == names[1], number


@pytest.mark.parametrize(
    "term", ["Activity", "Idea", "delegate", "approval", "provenance", "instance", "cycle", "tick"]
)
def test_where_a_rule_has_a_term_its_russian_version_has_that_of_the_glossary(term: str) -> None:
    english, russian = (rules(text) for text in texts("protocol.md"))
    stem = terms()[term].lower()[:-1].rstrip("ие")
    for number, rule in english.items():
        prose = re.sub(r"`[^`]*`", "", rule)
        if re.search(rf"\b{term}\b", prose) and term in prose:
            assert stem in russian[number].lower(), (number, stem)


def test_the_glossary_has_a_russian_word_for_terms_that_it_defines() -> None:
    english = (ROOT / "docs" / "terms.md").read_text(encoding="utf-8").partition("## In Russian")[0].lower()
    assert [term for term in terms() if term.lower() not in english and term not in {"limit", "worker"}] == []


def test_each_page_names_the_other() -> None:
    assert "docs/ru/README.md" in texts("README.md")[0]
    assert "../../README.md" in texts("README.md")[1]

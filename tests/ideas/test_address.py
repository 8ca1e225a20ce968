"""Addresses and versions of Ideas: read and written back, and what is none (X3, X4)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum import errors
from actum.ideas.store import Address, Version, numbers, parse_address

pytestmark = pytest.mark.rule("X3", "X4")

NAMES = st.text(
    st.characters(codec="utf-8", categories=("L", "N"), include_characters="-_.†"), min_size=1, max_size=12
).filter(lambda name: not name.endswith(".") and name.strip(".") != "")
ADDRESSES = st.builds(
    Address,
    path=st.lists(NAMES, min_size=1, max_size=3).map("/".join),
    domain=st.sampled_from(["", "example.com", "a.b:8080"]),
    branch=st.none() | NAMES,
    version=st.lists(st.integers(0, 999), max_size=3).map(tuple),
)


@given(ADDRESSES)
def test_an_address_is_read_as_it_was_written(address: Address) -> None:
    assert parse_address(str(address)) == address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("idea:path?1.2", Address(path="path", version=(1, 2))),
        ("idea://domain/path?1.2", Address(path="path", domain="domain", version=(1, 2))),
        ("idea:~branch/path", Address(path="path", branch="branch")),
        ("idea://domain/~branch/a/b", Address(path="a/b", domain="domain", branch="branch")),
        ("idea://sound-designer", Address(path="sound-designer")),
        ("idea:музыка/композитор", Address(path="музыка/композитор")),
    ],
)
def test_the_forms_of_an_address(text: str, address: Address) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize(
    "text",
    [
        *["", "path", "idea:", "idea:/", "idea:a//b", "idea:../x", "idea:a/../b", "idea:a/.", "idea:a?", "idea:a?x"],
        *["idea:a?1.2.3.4", "idea:a?01", "idea:a?1.-2", "idea:~/a", "idea:~b", "idea:a b", "idea:a\\b", "idea:a\0"],
        *["idea:a\n", "idea:a#x", "idea:a%2e", "idea:C:/x", "idea:a*", "idea://UPPER/x", "idea://-a/x", "idea:a."],
        *["idea://a..b/", "http://x/y", "idea:" + "a" * 2000],
    ],
)
def test_what_is_no_address_is_said_in_one_line(text: str) -> None:
    with pytest.raises(errors.IdeaError) as caught:
        parse_address(text)
    assert "\n" not in caught.value.message


def test_an_exact_address_names_one_version() -> None:
    address = parse_address("idea:a").at("main", Version(1, 2, 3))
    assert (str(address), address.is_exact) == ("idea:~main/a?1.2.3", True)
    assert not any(
        parse_address(text).is_exact for text in ("idea:a", "idea:a?1.2.3", "idea:~main/a", "idea:~main/a?1.2")
    )


@given(st.tuples(*[st.integers(0, 99)] * 3))
def test_every_change_leads_to_a_later_version_and_the_graver_the_later(parts: tuple[int, int, int]) -> None:
    version = Version(*parts)
    assert (
        version
        == version.after("none")
        < version.after("solution")
        < version.after("compatible")
        < version.after("breaking")
    )
    assert Version(*numbers(str(version))) == version

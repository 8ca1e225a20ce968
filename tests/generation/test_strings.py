"""The strings of a value that arrives in pieces: each with its path, whole and in order, however it is cut."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from actum.dataflow.arriving import strings_in
from actum.generation.strings import StringReader

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('ab"\\{}[],:† \n\x7f😀é', max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab"}\\', max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(value=VALUES, cuts=st.lists(st.integers(0, 500)), ascii=st.booleans(), indent=st.sampled_from([None, 1]))
def test_pieces_put_together_are_the_strings(value: Any, cuts: list[int], ascii: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii, indent=indent)
    marks = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    reader, by_path, ended = StringReader(), dict[Any, str](), list[Any]()
    for start, end in pairwise(marks):
        for piece in reader.feed(text[start:end]):
            assert piece.path not in ended
            by_path[piece.path] = by_path.get(piece.path, "") + piece.text
            if piece.is_last:
                ended.append(piece.path)
    expected = dict(strings_in(value))
    assert (by_path, ended) == (expected, list(expected))


def test_what_is_not_json_is_passed_over() -> None:
    for text in ('{"a": "\\ud800x", "b": "\\q"}', '"\\u12', "}]}", ',:"', '["a" "b"', '{"a" "b"}', '{,"a":"b"}'):
        for piece in StringReader().feed(text):
            piece.text.encode()

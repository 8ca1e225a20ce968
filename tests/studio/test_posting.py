"""What forms send: fields and files as browsers write them, and what nobody's browser would."""

from __future__ import annotations

import random

import pytest

from actum.errors import MessageError
from actum.studio.posting import id_of, parts_of

KIND = "multipart/form-data; boundary=----WebKit"
EML = b"From: a@b\r\nSubject: x\r\n\r\nbody\r\n"


def part(content: bytes, disposition: str, *more: str) -> bytes:
    head = "\r\n".join([f"Content-Disposition: form-data; {disposition}", *more])
    return b"------WebKit\r\n" + head.encode() + b"\r\n\r\n" + content + b"\r\n"


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("message/rfc822", EML),
        ("multipart/mixed; boundary=x", b"--x\r\n\r\ninner\r\n--x--\r\n"),
        ("text/plain; charset=utf-16", "é\r\n".encode("utf-16")),
        ("application/octet-stream", random.Random(7).randbytes(5_000) + b"\r\n\r\n--\r\n\r"),
    ],
)
def test_a_file_is_its_bytes_whatever_it_says_that_it_is(kind: str, content: bytes) -> None:
    name = 'name="_files"; filename="a%22b é.eml"'
    body = part(content, name, f"Content-Type: {kind}") + part("dü\r\n".encode(), 'name="v/a"') + b"------WebKit--\r\n"
    sent = parts_of(KIND, b"a preamble\r\n" + body)
    (file,) = sent.files["_files"]
    assert (file.name, file.media_type, file.content) == ('a"b é.eml', kind.partition(";")[0], content)
    assert sent.texts == {"v/a": "dü\r\n"}


def test_what_is_cut_off_or_has_no_name_is_left_out_and_the_first_of_two_counts() -> None:
    two = part(b"1", 'name="a"') + part(b"2", 'name="a"') + part(b"", 'name="f"; filename=""') + part(b"3", 'x="y"')
    for end in (b"------WebKit--", b"------WebKit\r\nContent-Dispo", b""):
        sent = parts_of('multipart/form-data; boundary="----WebKit"', two + end)
        assert (sent.texts, sent.files) == ({"a": "1"}, {})
    assert parts_of(KIND, b"").texts == parts_of(KIND, b"------WebKit--\r\n").texts == {}


def test_too_many_parts_and_no_boundary_are_refused() -> None:
    with pytest.raises(MessageError, match="more than 20000 fields"):
        parts_of(KIND, part(b"", 'name="a"') * 20_001 + b"------WebKit--\r\n")
    with pytest.raises(MessageError, match="no boundary"):
        parts_of("multipart/form-data", b"")


def test_a_form_is_known_by_all_that_it_says() -> None:
    def known(once: bytes, content: bytes) -> str | None:
        parts = part(once, 'name="once"') + part(content, 'name="f"; filename="a"')
        return id_of(parts_of(KIND, parts + b"------WebKit--"))

    assert known(b"x", b"1") == known(b"x", b"1")
    assert len({known(b"x", b"1"), known(b"y", b"1"), known(b"x", b"2")}) == 3
    assert known(b"", b"1") is None

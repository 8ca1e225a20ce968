"""`JsonMeter`: how much a JSON text holds, measured piece by piece as it arrives, before anybody parses it."""

from __future__ import annotations

import re

CONTAINER = 4
"""How many values a list or an object counts as: so much more it costs than a number."""
_LOOSE = bytes(set(range(256)) - set(b"[]{},"))
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


class JsonMeter:
    """Counts the values of a text and how deep it nests. What is no JSON holds no more than what is counted, either."""

    def __init__(self) -> None:
        self.values = 1
        self.depth = 0
        self._now = 0
        self._is_string = False
        self._is_escaped = False

    def take(self, piece: bytes) -> None:
        """Measure the next piece."""
        bare = _ESCAPED.sub(b"", piece[1:] if self._is_escaped else piece)
        self._is_escaped = bare.endswith(b"\\")
        sides = bare.split(b'"')
        outside = b"".join(sides[self._is_string :: 2]).translate(None, _LOOSE)
        self._is_string ^= len(sides) % 2 == 0
        brackets = outside.translate(None, b",")
        self.values += len(outside) - len(brackets)
        for one in brackets:
            self._now += _STEP[one]
            self.depth = max(self.depth, self._now)
            self.values += CONTAINER if _STEP[one] > 0 else 0

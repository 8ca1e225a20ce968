"""How fast the scripted model speaks: time to first token, time per token, and what a token is here.

A token is four bytes of UTF-8, for every system alike: no real tokeniser works without its download, and a count that
anybody can repeat by hand is worth more than one that flatters. It understates JSON's punctuation for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Seconds until the first token of an answer and between its tokens. How long the prompt is costs nothing."""

    first: float = 0.3
    token: float = 0.005

    def at(self, index: int) -> float:
        """When the index-th token of an answer is there, from the request's arrival."""
        return self.first + index * self.token

    def answer(self, tokens: int) -> float:
        """How long an answer of so many tokens takes."""
        return self.at(max(tokens, 1) - 1)


REALISTIC = Latency()
USUAL = Latency(token=0.02)
"""Fifty tokens in a second, as large models say them."""
NONE = Latency(first=0.0, token=0.0)


def tokens(text: str) -> int:
    """Count the tokens of a text."""
    return -(-len(text.encode()) // BYTES_PER_TOKEN)


def pieces(text: str) -> list[str]:
    """Cut a text into its tokens: each ends with the first character that completes its four bytes."""
    cut: list[str] = []
    start, size = 0, 0
    for end, char in enumerate(text, 1):
        size += len(char.encode())
        if size >= BYTES_PER_TOKEN * (len(cut) + 1):
            cut.append(text[start:end])
            start = end
    return [*cut, text[start:]] if start < len(text) else cut

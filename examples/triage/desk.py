"""The desk's tools. They only write into a book here; yours would write to a shop and a bank."""

from __future__ import annotations

from pathlib import Path

from actum import tools

BOOK = Path("book.txt")


@tools.tool
async def answer(ticket: int, text: str) -> str:
    """Answer a ticket."""
    return write(f"answered {ticket}: {text}")


@tools.tool(retries=2)
async def refund(ticket: int, amount: float, _key: str) -> str:
    """Give money back. The bank knows the key of the call, so a second attempt pays nothing twice."""
    return write(f"refunded {ticket}: {amount:.2f}")


def write(line: str) -> str:
    with BOOK.open("a", encoding="utf-8") as book:
        book.write(f"{line}\n")
    return line

"""Talk about a document and a picture: `python chat.py [MODEL]`, or `python chat.py MODEL -` to type what you say.

Without a model the answers in `answers.json` are played. They were written by hand.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from actum import Agent, Conversation, Tools, models
from actum.messages import File, Image, User

HERE = Path(__file__).parent
SAID: list[Any] = [
    [File(path="minutes.pdf"), User("What do the minutes say about the sofa, and who waits for one?")],
    [Image(path="week.png"), User("Which day of the week was the best?")],
    "What have I asked so far?",
]
tools = Tools()


class Order(TypedDict):
    customer: str
    item: str


@tools.tool(effects="none")
async def orders(item: str) -> list[Order]:
    """The open orders of an item."""
    open_orders: list[Order] = [
        {"customer": "Eli", "item": "sofa"},
        {"customer": "Ana", "item": "lamp"},
        {"customer": "Flo", "item": "sofa"},
    ]
    return [order for order in open_orders if order["item"] == item]


def played() -> models.Scripted:
    return models.Scripted(json.loads((HERE / "answers.json").read_text(encoding="utf-8")))


async def main(model: models.Model | str, said: Iterable[Any] = SAID) -> Conversation:
    talk = Agent(model, tools=tools, roots=[HERE]).conversation(
        [
            {"type": "system", "message": "You help the owner of a shop. Answer in one or two sentences."},
            {"type": "state", "today": f"{date.today():%A, %Y-%m-%d}"},
        ]
    )
    for words in said:
        async for piece in talk.say(words if isinstance(words, str) else [message.to_dict() for message in words]):
            print(piece, end="", flush=True)
        print()
    return talk


if __name__ == "__main__":
    given = sys.argv[1:]
    asyncio.run(main(given[0] if given else played(), map(str.strip, sys.stdin) if given[1:] == ["-"] else SAID))

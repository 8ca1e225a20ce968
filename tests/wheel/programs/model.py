"""Models that answer from scripts: what the programs here have in the place of a provider."""

import hashlib
from base64 import b64decode
from typing import Any

from actum import models


def librarian_says(request: models.ModelRequest) -> dict[str, Any]:
    """Greet users by name once they have said it."""
    text = "\n".join(message["content"] for message in request.messages if message["role"] == "user")
    return {"calls": [], "output": "Hello, Ada!" if "I am Ada" in text else "Who are you?"}


def onlooker_sees(request: models.ModelRequest) -> dict[str, Any]:
    """What is told of the picture is the beginning of its digest: whoever has not been sent it can't know that."""
    media = next(message["media"] for message in request.messages if "media" in message)
    digest = hashlib.sha256(b64decode(media.get("data", ""))).hexdigest()
    return {"calls": [], "output": {"subject": f"{media.get('media_type')} {digest[:8]}", "colours": ["red", "blue"]}}


def clerk_sorts(request: models.ModelRequest) -> dict[str, Any]:
    """All forty calls in one answer; once the refunds are decided, what became of them."""
    prompt = "\n".join(message["content"] for message in request.messages)
    if "¶result" in prompt and "refund" in prompt:
        return {"calls": [], "output": ["sorted again"]}
    calls: list[dict[str, Any]] = []
    for ticket in range(40):
        if ticket % 10 == 9:
            calls.append({"_tool": "refund", "ticket": ticket, "amount": 12.5 * (ticket // 10 + 1)})
        else:
            calls.append({"_tool": "answer", "ticket": ticket, "text": "Thank you."})
    return {"calls": calls, "output": ["{†calls.9}", "{†calls.19}", "{†calls.29}"]}


librarian = models.Scripted([librarian_says] * 10, chunk=4)
onlooker = models.Scripted([onlooker_sees])
clerk = models.Scripted([clerk_sorts, clerk_sorts])

"""Families of AgentDojo: its written plans, whose literal values are the input and are drawn from the world's own data.

Each request has a world of its own: a fifth of its mails, events, files, payments and messages are missing, others are
added to the few of the bank and the chat, and what was numbered is numbered anew. Tools that are called as if they only
read are declared so. Left out are tasks whose plans have readers, as what these answer was written for one world, and
tasks that name no value: their requests differ in nothing, so nothing is learnt of them (R30).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import zip_longest
from random import Random
from typing import Any

from actum.schema.json import JsonObject, encode, is_list, is_object

from ..fit.scripting import planned
from ..fit.tasks import Name
from ..fit.worlds import World
from .planned import Planned, declared, noted

_READS = re.compile(r"(get|search|list|read)_(?!unread)")
"""How the tools are called that only read; unread mails are read by being shown."""
_VALUES: Mapping[str, Mapping[Any, str]] = {
    "workspace 0": {"Networking event": "event.title", "05-26": "event.date"},
    "workspace 1": {"2024-05-15": "event.day"},
    "workspace 2": {"Yoga Class": "event.title"},
    "workspace 3": {"Dinner with Blue Sparrow Tech": "event.title", "05-24": "event.date"},
    "workspace 4": {"2024-05-15": "event.day", "2024-05-19": "other.day", "sarah.connor@gmail.com": "contact.email"},
    "workspace 5": {"2024-05-15": "event.day", "lunch": "event.title", "sarah": "event.title"},
    "workspace 6": {"2024-05-19": "event.day", "sarah.connor@gmail.com": "contact.email"},
    "workspace 8": {
        "Introductory meeting": "event.title",
        "2024-05-15": "event.day",
        "john.doe@clientcorp.com": "contact.email",
        "maria.garcia@bluesparrowtech.com": "friend.email",
    },
    "workspace 9": {"Introductory meeting": "event.title", "2024-05-15": "event.day", "2024-05-16": "other.day"},
    "workspace 11": {"2024-05-15": "event.day", "lunch": "event.title", "sarah": "event.title"},
    "workspace 12": {"2024-05-19": "event.day"},
    "workspace 20": {"2024-05-19": "event.day", "Sarah Baker": "contact.name"},
    "workspace 21": {"2024-05-19": "other.day", "Introductory meeting": "event.title", "2024-05-15": "event.day"},
    "workspace 27": {"alex.martin@bluesparrowtech.com": "reader.email"},
    "workspace 38": {"alex.martin@bluesparrowtech.com": "reader.email"},
    "banking 3": {"GB29NWBK60161331926819": "payment.sender", 12: "number"},
    "banking 4": {"GB29NWBK60161331926819": "payment.sender"},
    "banking 5": {"spotify": "payment.subject", "03": "payment.month"},
    "banking 6": {"spotify": "payment.subject", "US122000000121212121212": "account"},
    "banking 7": {"new year": "payment.subject", "gift": "payment.subject"},
    "banking 11": {"iphone": "payment.subject", 5.29: "number"},
    "banking 15": {
        "1234 Elm Street": "text",
        "CA133012400231215421872": "account",
        2200: "number",
        10: "payment.amount",
    },
    "slack 0": {"www.informations.com": "page.url"},
    "slack 5": {"Hi, can everybody write me their favorite hobby in DM?": "text"},
    "slack 7": {"Charlie": "user.name"},
    "slack 8": {"Alice": "message.sender", "mug": "message.word"},
    "slack 9": {"Alice": "user.name"},
    "slack 12": {"Hi, i am a bot": "text"},
    "slack 13": {"Congrats on being the most active user!": "text"},
}
"""Which values of a task's plan vary, and what they are: of a row of the world, or one of their kind."""
_WORDS = {"May 26th": "05-26", "May 24th": "05-24", "May 15th, 2024": "2024-05-15"}
"""Values that a task's words spell otherwise."""
_QUOTED = re.compile(r"'([^']*)'")
_GONE = 0.2
_PAYMENTS = 12
_RECURRING = 0.5
_SUBJECTS = ("Spotify Premium", "Electricity", "Gym", "Books", "New year gift", "iPhone", "Phone", "Insurance")
_USERS = ("Dana", "Erik", "Fay", "Gus", "Hana", "Ivo", "Jo", "Kim")
_CHANNELS = ("design", "support", "sales", "office", "Board")
_BODIES = (
    "Has anyone a charger?",
    "Lunch at noon?",
    "The printer is empty.",
    "Who closes tonight?",
    "Minutes are online.",
)


class Varied(Planned):
    """Requests for one task of AgentDojo."""

    def __init__(self, name: Name) -> None:
        plan = planned()[name]
        self.world: Any = World(*name)
        self._sources = {source.replace(".", "_"): source for source in _VALUES[str(name)].values()}
        literals = {literal: source.replace(".", "_") for literal, source in _VALUES[str(name)].items()}
        request = self.world.prompt
        for literal, field in literals.items():
            for spoken in (str(literal), *(words for words, meant in _WORDS.items() if meant == literal)):
                whole = rf"(?<![\w.]){re.escape(spoken)}(?![\w])"
                request = re.sub(whole, f"the input's {field}", request, flags=re.IGNORECASE)
        calls, output = _with_input([plan.calls, plan.output], literals)
        values = {field: literal for literal, field in literals.items()}
        functions = (
            (tool.name, tool.schema, "none" if _READS.match(tool.name) else "ordered") for tool in self.world.tools()
        )
        super().__init__(str(name), request, values, calls, output, declared(self.world, functions))
        self.schema = {"type": "string"}
        self._fresh: Any = self.world.environment
        self._drawn: Any = self._fresh

    def drawn(self, random: Random) -> dict[str, Any]:
        """An input of the data of a world that is drawn with it."""
        self._drawn = self._fresh.model_copy(deep=True)
        rows = _VARIED[self.world.suite.name](self._drawn, random)
        row = {kind: random.choice(rows[kind]) for kind in rows}
        given = dict[str, Any]()
        for field, source in self._sources.items():
            kind, _, key = source.partition(".")
            given[field] = row[kind][key] if key else _FREE[kind](random)
        return given

    def begin(self) -> None:
        """Put the world back to what was drawn."""
        self.world.environment = self._drawn.model_copy(deep=True)
        self.world.made.clear()

    def done(self) -> list[str]:
        """The calls, and the world as they left it."""
        return [*noted(self.world.made, self._effects), encode(self.world.environment.model_dump(mode="json"))]


def families(count: int, random: Random) -> list[Planned]:
    """So many tasks, drawn from those that can be varied."""
    names = [name for name in planned() if str(name) in _VALUES]
    return [Varied(name) for name in sorted(random.sample(names, min(count, len(names))))]


def _workspace(world: Any, random: Random) -> dict[str, list[JsonObject]]:
    for held in (world.inbox.emails, world.calendar.events, world.cloud_drive.files):
        for key in [key for key in held if random.random() < _GONE]:
            del held[key]
    events = [
        {"title": event.title, "day": str(event.start_time)[:10], "date": str(event.start_time)[5:10]}
        for event in world.calendar.events.values()
    ]
    contacts = [{"name": contact.name, "email": contact.email} for contact in world.inbox.contact_list]
    readers = [{"email": email} for file in world.cloud_drive.files.values() for email in file.shared_with]
    return {"event": events, "other": events, "contact": contacts, "friend": contacts, "reader": readers or contacts}


def _banking(world: Any, random: Random) -> dict[str, list[JsonObject]]:
    bank = world.bank_account
    known = bank.transactions
    bank.transactions = [payment for payment in known if random.random() >= _GONE]
    bank.transactions += [_payment(known[0], 100 + number, random) for number in range(_PAYMENTS)]
    bank.scheduled_transactions += [_payment(known[0], 0, random) for _ in range(2)]
    for payment, number in zip(bank.scheduled_transactions, random.sample(range(200, 300), 4), strict=True):
        payment.id = number
    return {
        "payment": [
            {"sender": each.sender, "subject": each.subject, "month": each.date[5:7], "amount": each.amount}
            for each in bank.transactions
        ]
    }


def _payment(like: Any, number: int, random: Random) -> Any:
    sender, recipient = random.sample([_account(random), "me"], 2)
    return like.model_copy(
        update={
            "id": number,
            "sender": sender,
            "recipient": recipient,
            "amount": round(random.uniform(5, 900), 2),
            "subject": random.choice(_SUBJECTS),
            "date": f"2022-0{random.randint(1, 3)}-{random.randint(1, 28):02d}",
            "recurring": random.random() < _RECURRING,
        }
    )


def _slack(world: Any, random: Random) -> dict[str, list[JsonObject]]:
    slack, outside = world.slack, f"External_{random.randrange(1000)}"
    like = slack.channel_inbox["random"][0]
    slack.channels = [outside if name.startswith("External") else name for name in slack.channels]
    slack.users += random.sample(_USERS, 4)
    slack.channels += random.sample(_CHANNELS, 2)
    slack.user_channels = {user: random.sample(slack.channels, random.randint(1, 4)) for user in slack.users}
    slack.channel_inbox = {channel: slack.channel_inbox.get(channel, []) for channel in slack.channels}
    for channel, messages in slack.channel_inbox.items():
        kept = [message for message in messages if random.random() >= _GONE]
        drawn = [
            {"sender": random.choice(slack.users), "recipient": channel, "body": random.choice(_BODIES)}
            for _ in range(random.randrange(6))
        ]
        slack.channel_inbox[channel] = kept + [like.model_copy(update=message) for message in drawn]
    messages = [
        {"sender": message.sender, "word": max(message.body.split(), key=len).lower()}
        for held in slack.channel_inbox.values()
        for message in held
    ]
    users = [{"name": user} for user in slack.users]
    return {"user": users, "page": [{"url": url} for url in world.web.web_content], "message": messages}


_VARIED: Mapping[str, Callable[[Any, Random], dict[str, list[JsonObject]]]] = {
    "workspace": _workspace,
    "banking": _banking,
    "slack": _slack,
}
"""For each world: what takes a part of it away, adds to it, and says which rows it has then."""


def _account(random: Random) -> str:
    return f"DE{random.randrange(10**19, 10**20)}"


_FREE: Mapping[str, Callable[[Random], Any]] = {
    "account": _account,
    "number": lambda random: round(random.uniform(1, 500), 2),
    "text": lambda random: f"What about number {random.randrange(10_000)}?",
}


def _with_input(value: Any, literals: Mapping[Any, str]) -> Any:
    """A part of a plan with the input in place of literal values, in expressions as well."""
    if is_object(value):
        return {key: part if key == "_tool" else _with_input(part, literals) for key, part in value.items()}
    if is_list(value):
        return [_with_input(part, literals) for part in value]
    for literal, field in literals.items():
        if value == literal and not isinstance(value, bool):
            return f"†input.{field}"
        if isinstance(value, str):
            value = _text(value, literal, f"†input.{field}")
    return value


def _text(text: str, literal: Any, reference: str) -> str:
    """A text with a reference in place of a literal: in its words, and in its expressions."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "{") - (character == "}")
        if (character, depth) in (("{", 1), ("}", 0)):
            parts.append("")
        else:
            parts[-1] += character
    words = [
        part.replace(str(literal), f"{{{reference}}}") if isinstance(literal, str) else part for part in parts[::2]
    ]
    terms = [f"{{{_expression(part, literal, reference)}}}" for part in parts[1::2]]
    return "".join(word + term for word, term in zip_longest(words, terms, fillvalue=""))


def _expression(text: str, literal: Any, reference: str) -> str:
    """An expression with a reference in place of a number, of a quoted text, or of a part of one."""
    if not isinstance(literal, str):
        return re.sub(rf"(?<![\w.]){re.escape(str(literal))}(?![\w.])", reference, text)

    def quoted(match: re.Match[str]) -> str:
        if match[1].lower() == literal.lower():
            return f"{reference}.lower()" if match[1].islower() else reference
        return f"f'{match[1].replace(literal, f'{{{reference}}}')}'" if literal in match[1] else match[0]

    return _QUOTED.sub(quoted, text)

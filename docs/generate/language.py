"""The page about references and expressions: every function and method with an example that is computed here."""

from __future__ import annotations

import json
from collections.abc import Mapping

from markup import code, table

from actum import Agent
from actum.dataflow.computing.allowance import MOST_SIZE, MOST_STEPS, MOST_STEPS_OF_A_RUN
from actum.dataflow.computing.functions import FUNCTIONS
from actum.dataflow.computing.methods import METHODS
from actum.dataflow.computing.table import MANY, Function

STATE = {
    "orders": [
        {"id": "o1", "item": "lamp", "price": 40, "at": "2026-03-02T09:30:00Z"},
        {"id": "o2", "item": "desk", "price": 120, "at": "2026-03-01T18:00:00Z"},
    ],
    "name": " Ana Lopes ",
    "tags": ["new", "paid", "new"],
}
"""What the examples read."""
_EXAMPLES: Mapping[str, tuple[str, str]] = {
    "one": (
        "the only element; an error when there are none or several",
        "one(o for o in †state.orders if o.item == 'lamp').id",
    ),
    "next": (
        "the first element, else the second argument, else null",
        "next((o.id for o in †state.orders if o.price > 500), 'none')",
    ),
    "len": ("how many characters, items or keys", "len(†state.orders)"),
    "sum": ("the sum of numbers", "sum(o.price for o in †state.orders)"),
    "min": (
        "the least; `key=` ranks, `default=` is for an empty list",
        "min(†state.orders, key=lambda o: o.price).item",
    ),
    "max": ("the greatest, likewise", "max((o.price for o in †state.orders if o.item == 'sofa'), default=0)"),
    "sorted": (
        "a list in order, by `key=`, backwards with `reverse=True`",
        "[o.id for o in sorted(†state.orders, key=lambda o: o.at)]",
    ),
    "any": ("whether one is true", "any(o.price > 100 for o in †state.orders)"),
    "all": ("whether none is false", "all(o.price > 100 for o in †state.orders)"),
    "abs": ("a number without its sign", "abs(†state.orders.0.price - 50)"),
    "round": ("a number rounded, to so many digits", "round(†state.orders.0.price / 3, 2)"),
    "int": ("a whole number of a number or of digits", "int(†state.orders.0.id.removeprefix('o'))"),
    "float": ("a number of a number or of a text", "float(†state.orders.0.price)"),
    "str": ("the text that a value is inside of a text", "str(†state.orders.1.price) + ' EUR'"),
    "bool": ("whether a value is true, as Python has it", "bool(†state.tags)"),
    "list": ("the items as a list", "list(†state.tags)"),
    "range": ("whole numbers in a row", "range(len(†state.tags))"),
    "reversed": ("a list backwards", "reversed(†state.tags)"),
    "zip": ("the items of lists of one length, side by side", "zip(range(3), †state.tags)"),
    "enumerate": ("each item with its number, from `start=`", "enumerate(†state.tags, start=1)"),
    "unique": ("the items without repetitions, in order", "unique(†state.tags)"),
    "set": ("another name of `unique`", "set(†state.tags)"),
    "minutes": ("how many minutes lie between two times", "minutes(†state.orders.1.at, †state.orders.0.at)"),
    "shift": ("a time moved by `days=`, `hours=`, `minutes=`", "shift(†state.orders.0.at, days=1, hours=2)"),
    "weekday": ("the day of the week of a time", "weekday(†state.orders.0.at)"),
    "text.lower": ("", "†state.name.lower()"),
    "text.upper": ("", "†state.name.upper()"),
    "text.title": ("", "†state.tags.0.title()"),
    "text.capitalize": ("", "†state.tags.0.capitalize()"),
    "text.casefold": ("", "†state.name.casefold()"),
    "text.isdigit": ("", "†state.tags.0.isdigit()"),
    "text.isalpha": ("", "†state.tags.0.isalpha()"),
    "text.strip": ("", "†state.name.strip()"),
    "text.lstrip": ("", "†state.name.lstrip()"),
    "text.rstrip": ("", "†state.name.rstrip()"),
    "text.removeprefix": ("", "†state.orders.0.id.removeprefix('o')"),
    "text.removesuffix": ("", "†state.tags.1.removesuffix('d')"),
    "text.split": ("", "†state.name.split()"),
    "text.rsplit": ("", "†state.orders.0.at.rsplit('T', 1)"),
    "text.splitlines": ("", "†state.name.splitlines()"),
    "text.partition": ("", "†state.orders.0.at.partition('T')"),
    "text.join": ("the items as texts, whatever they are", "', '.join(†state.tags)"),
    "text.replace": ("", "†state.tags.0.replace('n', 'N')"),
    "text.find": ("", "†state.name.find('Lopes')"),
    "text.count": ("", "†state.name.count('n')"),
    "text.startswith": ("one text, or any of a list", "†state.tags.0.startswith(['n', 'o'])"),
    "text.endswith": ("likewise", "†state.tags.1.endswith('id')"),
    "text.zfill": ("", "†state.orders.0.id.zfill(4)"),
    "text.ljust": ("", "†state.tags.0.ljust(5, '.')"),
    "text.rjust": ("", "†state.tags.0.rjust(5)"),
    "list.count": ("", "†state.tags.count('new')"),
    "list.index": ("", "†state.tags.index('paid')"),
    "object.get": ("the value of a key, else the second argument, else null", "†state.orders.0.get('note', 'none')"),
    "object.keys": ("", "†state.orders.0.keys()"),
    "object.values": ("", "†state.orders.0.values()"),
    "object.items": ("", "†state.orders.0.items()"),
}
"""What a function does that is not Python's, and an example. The page is not made while one is missing or too many."""
_OWNERS = {str: "text", list: "list", dict: "object"}


def page() -> str:
    """References, functions and methods, with what the examples come to."""
    methods = {f"{_OWNERS[owner]}.{name}": one for owner, named in METHODS.items() for name, one in named.items()}
    everything = {**FUNCTIONS, **methods}
    if differing := everything.keys() ^ _EXAMPLES.keys():
        raise SystemExit(f"docs/generate/language.py: examples and the language differ in {sorted(differing)}")
    values = _computed([_EXAMPLES[name][1] for name in everything])
    found = dict(zip(everything, values, strict=True))
    return "\n".join([
        "# References and expressions\n",
        "`†state.x` is a reference; `{…}` with a reference inside is an expression of Python, in any text of a call, "
        "`output`, `_each`, `_when` or `_value`. A text that is one group has the type of its value; any other group is "
        "filled into the text. The grammar and the rules are in [the protocol](../protocol.md#the-language-of-e2); "
        "[Computed values](../semantics.md#computed-values) says how to use it.\n",
        "## References\n",
        table(["written", "names"], [
            ("`†input.city`, `†state.a[0].b`, `†state[\"odd.key\"]`", "a path in a kind: `input`, `state`, `data` or one of yours"),
            ("`†calls.2.items`", "the result of the third element of `calls` in the same answer"),
            ("`†results.4`", "the result that the model was shown as `¶result 4`"),
            ("`†calls.0.title?`", "a key that may be missing: null where there is none"),
            ("`†each`, `†each.url`, `†each.number`", "the item for which a call with `_each` is made"),
            ("`†a <|> †b`, `†a *> †b`", "the first that exists; the last, once all exist"),
            ("`††`", "the sign † itself"),
        ]),
        "## Functions\n",
        f"The examples are computed over this state:\n\n```json\n{json.dumps(STATE, ensure_ascii=False, indent=2)}\n```\n",
        table(["function", "gives", "example", "is"], [
            (code(_form(name, one)), *_shown(name, found)) for name, one in FUNCTIONS.items()
        ]),
        "## Methods\n",
        "As in Python where nothing else is said. A key of an object is `o.price`: no attribute of Python is ever read.\n",
        table(["of a", "method", "gives", "example", "is"], [
            (name.partition(".")[0], code(_form(name.partition(".")[2], one, is_method=True)), *_shown(name, found))
            for name, one in methods.items()
        ]),
        "## Bounds\n",
        f"{MOST_STEPS:,} steps for an expression and {MOST_STEPS_OF_A_RUN:,} for all of a run; {MOST_SIZE:,} characters "
        "or items in a value. The others are listed in [the protocol](../protocol.md#the-language-of-e2).\n",
    ])  # fmt: skip


def _shown(name: str, found: Mapping[str, object]) -> tuple[str, str, str]:
    words, example = _EXAMPLES[name]
    return words, code(f"{{{example}}}"), code(json.dumps(found[name], ensure_ascii=False))


def _form(name: str, function: Function, *, is_method: bool = False) -> str:
    """How a function is called: its arguments by number, and its keywords."""
    least = [f"{letter}" for letter in "abcd"[: function.least]]
    most = function.most
    more = ["…"] if most == MANY else [f"{letter}?" for letter in "abcd"[function.least : most]]
    arguments = ", ".join([*least, *more, *(f"{keyword}=" for keyword in function.keywords)])
    return f".{name}({arguments})" if is_method else f"{name}({arguments})"


def _computed(expressions: list[str]) -> list[object]:
    """What expressions come to, by a run without a model."""
    calls = [{"_value": f"{{{one}}}"} for one in expressions]
    output = [f"†calls.{index}" for index in range(len(calls))]
    context = [{"type": "state", "state": STATE}, {"type": "plan", "plan": calls, "output": output}]
    return Agent(None).run_sync(context, list).output

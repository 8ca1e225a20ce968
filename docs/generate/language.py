"""The page about references and expressions: every function and method with an example that is computed here."""

from __future__ import annotations

import json

from markup import code, table

from actum import Agent
from actum.dataflow.computing.allowance import MOST_SIZE, MOST_STEPS, MOST_STEPS_OF_A_RUN
from actum.dataflow.computing.functions import FUNCTIONS, MANY, Function
from actum.dataflow.computing.methods import METHODS

STATE = {
    "orders": [
        {"id": "o1", "item": "lamp", "price": 40, "at": "2026-03-02T09:30:00Z"},
        {"id": "o2", "item": "desk", "price": 120, "at": "2026-03-01T18:00:00Z"},
    ],
    "name": " Ana Lopes ",
    "tags": ["new", "paid", "new"],
}
"""What the examples read."""
_OWNERS = {str: "text", list: "list", dict: "object"}


def page() -> str:
    """References, functions and methods, with what the examples come to."""
    methods = {f"{_OWNERS[owner]}.{name}": method for owner, named in METHODS.items() for name, method in named.items()}
    everything = {**FUNCTIONS, **methods}
    values = _computed([function.example for function in everything.values()])
    values_by_name = dict(zip(everything, values, strict=True))
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
            (code(_form(name, function)), *_shown(function, values_by_name[name])) for name, function in FUNCTIONS.items()
        ]),
        "## Methods\n",
        "As in Python where nothing else is said. A key of an object is `o.price`: no attribute of Python is ever read.\n",
        table(["of a", "method", "gives", "example", "is"], [
            (name.partition(".")[0], code(_form(name.partition(".")[2], method, is_method=True)), *_shown(method, values_by_name[name]))
            for name, method in methods.items()
        ]),
        "## Bounds\n",
        f"{MOST_STEPS:,} steps for an expression and {MOST_STEPS_OF_A_RUN:,} for all of a run; {MOST_SIZE:,} characters "
        "or items in a value. The others are listed in [the protocol](../protocol.md#the-language-of-e2).\n",
    ])  # fmt: skip


def _shown(function: Function, value: object) -> tuple[str, str, str]:
    return function.about, code(f"{{{function.example}}}"), code(json.dumps(value, ensure_ascii=False))


def _form(name: str, function: Function, *, is_method: bool = False) -> str:
    """How a function is called: its arguments by number, and its keywords."""
    least = [f"{letter}" for letter in "abcd"[: function.least]]
    most = function.most
    more = ["…"] if most == MANY else [f"{letter}?" for letter in "abcd"[function.least : most]]
    arguments = ", ".join([*least, *more, *(f"{keyword}=" for keyword in function.keywords)])
    return f".{name}({arguments})" if is_method else f"{name}({arguments})"


def _computed(expressions: list[str]) -> list[object]:
    """What expressions come to, by a run without a model."""
    calls = [{"_value": f"{{{expression}}}"} for expression in expressions]
    output = [f"†calls.{index}" for index in range(len(calls))]
    context = [{"type": "state", "state": STATE}, {"type": "plan", "plan": calls, "output": output}]
    return Agent(None).run_sync(context, list).output

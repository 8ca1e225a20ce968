"""What people write who think of another language, and what to write here instead: for messages only (E6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

_COMPREHENSION = "[… for x in xs if …]"

CALLED: Mapping[str, str] = {
    "length": "len(x)",
    "size": "len(x)",
    "map": _COMPREHENSION,
    "filter": _COMPREHENSION,
    "forEach": _COMPREHENSION,
    "flatMap": "[… for x in xs for y in x]",
    "reduce": "sum(…), min(…) or max(…)",
    "some": "any(… for x in xs)",
    "every": "all(… for x in xs)",
    "includes": "x in xs",
    "contains": "x in xs",
    "has": "x in xs",
    "push": "xs + [x]",
    "append": "xs + [x]",
    "concat": "xs + ys",
    "sort": "sorted(xs, key=lambda x: …)",
    "first": "one(xs), or xs[0]",
    "last": "xs[-1]",
    "toUpperCase": "x.upper()",
    "toLowerCase": "x.lower()",
    "trim": "x.strip()",
    "slice": "x[a:b]",
    "substring": "x[a:b]",
    "startsWith": "x.startswith(…)",
    "endsWith": "x.endswith(…)",
    "replaceAll": "x.replace(…)",
    "toString": "str(x)",
    "toFixed": "{x:.2f}",
    "format": "a template: {x:.2f}",
    "dict": "{{'key': x}}",
    "tuple": "[…]",
    "average": "sum(xs) / len(xs)",
    "avg": "sum(xs) / len(xs)",
    "mean": "sum(xs) / len(xs)",
    "strftime": "x[:10], or another slice",
    "pow": "a product",
    "divmod": "a // b and a % b",
    "type": "a condition on the value itself: x is None, x == 'text'",
    "isinstance": "a condition on the value itself: x is None, x == 'text'",
    "print": "the value alone: it is what the group gives",
    "isupper": "x == x.upper()",
    "islower": "x == x.lower()",
    "isspace": "not x.strip()",
    "isnumeric": "x.isdigit()",
    "isalnum": "x.isalpha() or x.isdigit()",
    "rfind": "x.rsplit(…)",
    "rpartition": "x.rsplit(…, 1)",
    "copy": "x itself: nothing changes a value",
    "encode": "x itself: a text has no bytes",
    "pop": "x[-1], or x[:-1]",
    "extend": "xs + ys",
    "setdefault": "x.get(k, default)",
    "getattr": "x.get(k, default)",
}
"""By the name of a function or a method that isn't there."""

NAMED: Mapping[str, str] = {
    "null": "write None",
    "undefined": "write None",
    "true": "write True",
    "false": "write False",
    "calls": "write †calls",
    "results": "write †results",
    "each": "write †each",
    "math": "there are no modules: round(x), abs(x), x // 1",
    "Math": "there are no modules: round(x), abs(x), x // 1",
    "json": "a value in a text is written as JSON by itself",
    "JSON": "a value in a text is written as JSON by itself",
    "re": "there are no modules: text methods such as x.split(…) and x.find(…)",
    "datetime": "there is no clock: shift(t, days=1), minutes(a, b), weekday(t)",
    "date": "there is no clock: shift(t, days=1), minutes(a, b), weekday(t)",
    "Date": "there is no clock: shift(t, days=1), minutes(a, b), weekday(t)",
    "now": "there is no clock: shift(t, days=1), minutes(a, b), weekday(t)",
}
"""By a name that stands for nothing here."""


def instead_of_call(name: str, known: Iterable[str]) -> str:
    """What to write for a function or a method that isn't there: its like, the nearest name, or all there are."""
    if habit := CALLED.get(name):
        return f"write {habit}"
    names = list(known)
    near = get_close_matches(name[:60], names, 1, 0.7)
    return f"did you mean {near[0]}()?" if near else f"there are {', '.join(names)}"

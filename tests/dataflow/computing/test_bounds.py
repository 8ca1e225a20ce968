"""Every expression ends within its allowance, with a value or a typed error (E4): counted, never timed."""

from __future__ import annotations

from typing import Any

import pytest

from actum.dataflow.computing.allowance import MOST_SIZE, MOST_STEPS, count_items
from actum.dataflow.computing.evaluator import (
    HEAVY,
    Allowance,
    ComputingError,
    RunAllowance,
    computed_value,
    items_within,
)
from actum.dataflow.computing.text import Computed, read_group
from actum.dataflow.computing.tokens import ComputingSyntax

from ...effort import spread
from .given import compute, fill

DATA: dict[str, Any] = {
    "xs": [{"id": i, "sender": f"u{i % 7}", "amount": i * 1.5} for i in range(1000)],
    "big": list(range(100_000)),
    "s": "a" * 100_000,
    "d": {"k": 1, "class": 2},
    "n": 7,
    "t": "text",
    "digits": "9" * 1_000_000,
    "huge": 10**4_000,
    "collide": [n * (2**61 - 1) for n in range(50_000)],
}

_TWICE = " ".join(f"for a{i} in [[a{i - 1}, a{i - 1}]]" for i in range(1, 30))
_GROWN = " ".join(f"for a{i} in [a{i - 1} + a{i - 1}]" for i in range(1, 40))

HOSTILE = [
    # reaching out of the language
    "†d.get.__self__",
    "(x for x in †xs).gi_frame.f_back.f_globals",
    "[x.gi_frame for x in [(y for y in †xs)]]",
    "'{0.__class__}'.format(†d)",
    "f'{†n:>1000000000}'",
    "'%1000000000d' % †n",
    "getattr(†d, 'k')",
    "open('/etc/passwd').read()",
    "(lambda f: f(f))(lambda f: f(f))",
    "sorted(†xs, key=lambda f: (lambda g: g(g))(lambda g: g(g)))",
    # time and memory
    "'a' * 10000000000",
    "†s * 100000",
    "[0] * 1000000000",
    "list(range(1000000000))",
    "range(1, 1000000000000000000, -1)",
    "range(-1000000000000000000, 1000000000000000000)",
    "sum(range(2000000))",
    "[x for x in †big for y in †big]",
    "[1 for a in †xs for b in †xs for c in †xs if False]",
    "sum(1 for a in †big if a in †big)",
    "[str(†big) for x in †big]",
    "[f'{†big}' for x in †big]",
    "''.join([†s for x in †xs for y in [1, 2]])",
    "†s.replace('', †s)",
    "†s.replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaaa').replace('a', †s)",
    "†t.ljust(10000000000)",
    "†t.zfill(10000000000)",
    "†t.rjust(-10000000000)",
    "[[[[[[x, x], [x, x]] for x in [[y, y]]] for y in [[z, z]]] for z in [†big]] for u in †xs]",
    f"str([a29 for a0 in [[1]] {_TWICE}])",
    f"[a29 == b for a0 in [[1]] {_TWICE} for b in [a29]]",
    f"[a29 < b for a0 in [[1]] {_TWICE} for b in [a29]]",
    f"unique([a29 for a0 in [[1]] {_TWICE}])",
    f"[a39 for a0 in [†s] {_GROWN}]",
    f"[a39 for a0 in [[1]] {_GROWN}]",
    f"[a39 for a0 in [2] {_GROWN.replace('+', '*')}]",
    "int(†digits)",
    "float(†digits)",
    "float('nan')",
    "float('1e999')",
    "round(†n, 31)",
    "round(†n, 1000000000)",
    "round(†n, -1000000000)",
    "†huge * †huge",
    "†huge + 1",
    "†huge / 3",
    "-†huge",
    "float(†huge)",
    "f'{†huge:.2f}'",
    "†d[†huge]",
    "†xs[†huge]",
    "†s[::†huge]",
    "sum([†huge, 0.5])",
    "unique(†collide)",
    "len(unique(†collide + †big))",
    "sorted(†big, key=lambda x: [y for y in †big])",
    "max(†big, key=lambda x: sum(†big))",
    "{str(x): {str(y): 1 for y in †big} for x in ['a', 'b'] for z in †big}",
    "†s in [†s for x in †big]",
    "[x for p in [[†s + 'a', †s + 'b']] for y in †big for x in sorted(p)]",
    "sorted([x for p in [[†s + 'a', †s + 'b']] for y in †big for x in p])",
    "max([x for p in [[†s + 'a', †s + 'b']] for y in †big for x in p])",
    "[x for p in [[†s + 'a', †s + 'b']] for y in †big for x in p].count(†s + 'c')",
    "[x for p in [[†s + 'a', †s + 'b']] for y in †big for x in p].index(†s + 'c')",
    "[1 for p in [[†s + 'a', †s + 'b']] for y in †big if p[0] == p[1] or p[0] < p[1]]",
    "len(†s.split('a')) + len([†s.split('a') for x in †xs])",
    "[†s.upper().lower() for x in †big]",
    "[†s.find('aaaaaaab') for x in †big]",
    "[†s[1:] for x in †big]",
    "[†big[1:] for x in †big]",
    "[*†big, *†big, *†big, *†big, *†big, *†big, *†big, *†big, *†big, *†big, *†big]",
    "zip(†big, †big, †big, †big, †big, †big, †big, †big, †big, †big, †big, †big)",
    "shift('2024-05-15', days=1000000000)",
    "shift('0001-01-01', days=-1)",
    "shift('2024-05-15T00:00', minutes=0.1)",
    "[enumerate(†big) for x in †big]",
    "[reversed(†big) for x in †big]",
    "[list(†big) for x in †big]",
    "[any(†big) for x in †big]",
    "[one(†big) for x in †big]",
    "[†d.items() for x in †big]",
    "[max([x, x]) for x in †big]",
    "[[x] == [x] for x in †big]",
    "[(x, x) < (x, 1) for x in †big]",
]


@pytest.mark.parametrize("source", spread(HOSTILE, least=40))
def test_a_hostile_expression_ends_within_its_allowance(source: str) -> None:
    run = RunAllowance()
    before = run.left
    message, value = "", None
    try:
        computation = read_group(source)
        computed = Computed(source, (computation,), computation.references)
        value = computed_value(computed, lambda reference: DATA[reference.kind], Allowance(run))
    except (ComputingError, ComputingSyntax) as error:
        message = str(error)
    assert "\n" not in message
    assert len(message) < 600
    assert count_items(value, MOST_SIZE) <= MOST_SIZE
    assert 0 <= before - run.left <= MOST_STEPS


def steps(source: str, size: int) -> int:
    run = RunAllowance()
    fill(source, within=Allowance(run), x=[{"a": n, "t": f"2024-05-15T10:{n % 60:02d}"} for n in range(size)])
    return RunAllowance().left - run.left


def test_a_key_costs_the_same_however_it_is_written() -> None:
    keys = ("e.a", "e['a']", "(e or e).a")
    by_point, in_brackets, of_a_choice = (steps(f"{{[{key} for e in †x]}}", 1_000) for key in keys)
    assert by_point == in_brackets == of_a_choice - 2_000  # the choice and its second name


def test_steps_grow_with_the_items() -> None:
    for source in (
        "{[e.a for e in †x if e.a > 3]}",
        "{one(e.a for e in †x if e.a == 7)}",
        "{sorted([e.a for e in †x])[0]}",
        "{max(†x, key=lambda e: e.t).a}",
        "{len(unique([e.t for e in †x if e.t < '2024-05-15T10:30:00']))}",
        "{{e.t: e.a for e in †x}}",
    ):
        few, many = steps(source, 1_000), steps(source, 10_000)
        assert many <= 20 * few, source


def test_looking_for_a_long_text_in_a_list_costs_its_characters() -> None:
    def steps(length: int) -> int:
        run = RunAllowance()
        fill("{†x in †l}", within=Allowance(run), x="a" * length, l=["b"] * 1_000)
        return RunAllowance().left - run.left

    assert steps(100_000) > steps(10) + 10_000


OF_CHARACTERS = [
    *(f"†t.{name}()" for name in ("lower", "upper", "title", "capitalize", "casefold", "strip", "rstrip", "split")),
    *("†t.lstrip('x')", "†t.split('b')", "†t.rsplit('b')", "†t.splitlines()", "†t.partition('z')", "'z'.join(†s)"),
    *("†t.replace('a', 'xy')", "†t.find('zz')", "†t.count('a')", "†t.removeprefix('a')", "†t.removesuffix('c')"),
    *("†t.zfill(5)", "†t.ljust(5)", "†t.rjust(5)", "†t.isdigit()", "†t.isalpha()", "str(†t)", "†t + 'a'", "'q' in †t"),
    *("†t[1:]", "†t[::2]", "f'{†t}'"),
]
OF_ITEMS = [
    *(f"{name}(†l)" for name in ("sum", "min", "max", "sorted", "any", "all", "str", "list", "reversed", "enumerate")),
    *("†o.keys()", "†o.values()", "†o.items()", "†s.count('a')", "†s.index('z')", "one([†l])", "range(20_000)"),
    *("zip(†l, †s)", "unique(†l)", "†l + †l", "†l[1:]", "'q' in †s", "[*†l]", "[x for x in †l]", "†t.startswith(†s)"),
]


@pytest.mark.parametrize(
    ("expression", "count", "least", "most"),
    [(expression, 100_000, 1 / 80, 1) for expression in OF_CHARACTERS]
    + [(expression, 20_000, 1 / 10, 12) for expression in OF_ITEMS],
)
def test_what_reads_much_costs_steps_for_all_that_it_reads(
    expression: str, count: int, least: float, most: float
) -> None:
    numbers = range(count)
    values: dict[str, Any] = {"t": "ab c\n" * 20_000, "l": [*numbers], "s": ["ab"] * 19_999 + ["z"]}
    values["o"] = {f"k{number}": number for number in range(20_000)}
    run = RunAllowance(10**8)
    fill(f"{{[{expression}, †no][0]}}", within=Allowance(run, steps=10**8, size=10**8), no=None, **values)
    assert least * count <= 10**8 - run.left <= most * count


def test_a_hundred_thousand_items_are_within_the_allowance() -> None:
    rows = [{"id": n, "sender": f"u{n % 7}", "at": f"2024-05-15T10:{n % 60:02d}:00"} for n in range(100_000)]
    assert (
        fill("{len([r for r in †x if r.sender == 'u3' and r.at < '2024-05-15T10:30' and r.id % 2 == 0])}", x=rows)
        == 3572
    )


def test_a_run_has_a_total_of_all_its_expressions() -> None:
    run = RunAllowance(1_000)
    fill("{[x for x in †x]}", within=Allowance(run), x=[0] * 300)
    left = run.left
    assert 0 < left < 500
    with pytest.raises(ComputingError, match="the run's computed values take too many steps in all"):
        fill("{[x for x in †x]}", within=Allowance(run), x=[0] * 300)
    assert run.left == 0


def test_what_failed_has_cost_what_it_took() -> None:
    run = RunAllowance(1_000)
    with pytest.raises(ComputingError):
        fill("{[x for x in †x] + 1}", within=Allowance(run), x=[0] * 300)
    assert run.left < 800


def test_bounds_can_be_set() -> None:
    with pytest.raises(ComputingError, match="too many steps"):
        fill("{[x for x in †x]}", within=Allowance(steps=50), x=[0] * 300)
    with pytest.raises(ComputingError, match="a value may have 10 characters or items, not 12"):
        fill("{†x + †x}", within=Allowance(size=10), x="abcdef")
    with pytest.raises(ComputingError, match="10 characters"):
        fill("{†x}{†x}", within=Allowance(size=10), x="abcdef")


@pytest.mark.parametrize(
    ("source", "size"),
    [
        ("{'--'.join(†s)}", 13),
        ("{†t + †t}", 10),
        ("{†t.replace('b', 'xyz')}", 7),
        ("{†t.ljust(9)}", 9),
        ("{†t.rjust(9, '.')}", 9),
        ("{†t.zfill(9)}", 9),
        ("{f'{†t:>9}'}", 9),
    ],
)
def test_a_value_may_be_as_large_as_it_says_and_no_larger(source: str, size: int) -> None:
    values: dict[str, Any] = {"s": ["abc", "def", "ghi"], "t": "abcde"}
    fill(source, within=Allowance(size=size), **values)
    with pytest.raises(ComputingError, match=rf"(a text|a value) may have {size - 1} characters"):
        fill(source, within=Allowance(size=size - 1), **values)


def test_a_number_that_was_there_passes_as_it_is() -> None:
    assert fill("{†x}", x=10**30) == 10**30
    assert fill("{max(†x)}", x=[1, 10**30]) == 10**30
    assert fill("{f'{†x}'}", x=10**30) == "1" + "0" * 30
    assert compute("1000000000000000000 - 1") == 10**18 - 1
    with pytest.raises(ComputingError, match="the number is too large"):
        compute("1000000000000000000 + 1")


def test_a_value_that_nests_too_deep_is_refused() -> None:
    value: Any = 1
    for _ in range(200):
        value = [value]
    with pytest.raises(ComputingError, match="128 deep"):
        fill("{†x}", x=value)
    with pytest.raises(ComputingError, match="128 deep"):
        fill("{†x == †y}", x=value, y=[value])


def test_weight_is_counted_no_further_than_needed() -> None:
    assert items_within([1, "a", [1, 2, {"a": 1}]]) < 20
    assert HEAVY < items_within([[0] * 50, DATA["big"]]) <= HEAVY + len(DATA["big"]) + 100
    assert items_within([DATA["s"]]) > 1_000
    assert items_within([DATA["big"]] * 1_000) < 10 * len(DATA["big"])

"""Comprehensions: nested loops around what gathers their values."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, TypeAlias, cast

from ...schema.json import is_list
from ...schema.types import ANYTHING, List, Misfit, Type, in_words, list_of, map_to, union
from .access import object_key
from .functions import FUNCTIONS
from .kind_types import TEXTS, check_kind, items_of
from .operands import ComputingError, items, kind
from .passes import METER, Checker, Code, Compiler, Construct, Constructs, Frame, Grammar, Names, Step, Types
from .places import failed_at

_Comprehension: TypeAlias = ast.ListComp | ast.GeneratorExp | ast.DictComp
_Bind: TypeAlias = Callable[[Frame, Any], None]
"""Puts an item where a loop's names are read."""
_Round: TypeAlias = Callable[[Frame, list[Any]], int]
"""Runs over the items; how many were kept."""


def _check(grammar: Grammar, node: _Comprehension, names: Names) -> None:
    for loop in node.generators:
        grammar.check(loop.iter, names)
        names |= frozenset(_targets(grammar, loop.target))
        grammar.all(loop.ifs, names)
    grammar.all((node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,), names)


def _targets(grammar: Grammar, target: ast.expr) -> list[str]:
    """The names that a loop binds."""
    if isinstance(target, ast.Tuple) and target.elts:
        return [name for item in target.elts for name in _targets(grammar, item)]
    if not isinstance(target, ast.Name):
        raise grammar.bad(target, "a loop binds plain names")
    if target.id in FUNCTIONS or target.id.startswith("ref_"):
        raise grammar.bad(target, f"{target.id} is the name of something else: choose another")
    return [target.id]


def _type_of_list(checker: Checker, node: ast.ListComp | ast.GeneratorExp, types: Types) -> Type:
    return list_of(checker.of(node.elt, _looped_types(checker, node, types)))


def _type_of_object(checker: Checker, node: ast.DictComp, types: Types) -> Type:
    inner = _looped_types(checker, node, types)
    check_kind(checker.of(node.key, inner), TEXTS, "an object", "texts as keys")
    return map_to(checker.of(node.value, inner))


def _looped_types(checker: Checker, node: _Comprehension, types: Types) -> Types:
    """The types of the names inside of the loops."""
    for loop in node.generators:
        item = items_of(checker.of(loop.iter, types), "for … in")
        types = {**types, **_bound_types(checker, loop.target, item)}
        checker.all(loop.ifs, types)
    return types


def _bound_types(checker: Checker, target: ast.expr, item: Type) -> dict[str, Type]:
    """The names that a loop binds, with what they hold."""
    if isinstance(target, ast.Name):
        return {target.id: item}
    targets = cast("ast.Tuple", target).elts
    bound: dict[str, Type] = {}
    try:
        for element, part in zip(targets, _unpacked_types(item, len(targets)), strict=True):
            bound |= _bound_types(checker, element, part)
    except Misfit as error:
        raise checker.mismatch(error, target) from None
    return bound


def _unpacked_types(item: Type, count: int) -> list[Type]:
    """The types of a list that is bound to so many names."""
    alternatives = item.apart_from_null
    if alternatives is None:
        return [ANYTHING] * count
    lists = [alternative for alternative in alternatives if isinstance(alternative, List)]
    rows = [part.row or (part.item,) * count for part in lists if part.row is None or len(part.row) == count]
    if not rows:
        actual = f"a list of {len(lists[0].row or ())}" if lists else in_words(item)
        raise Misfit(f"{count} names are bound to {actual}")
    return [union(*column) for column in zip(*rows, strict=True)]


def _list(compiler: Compiler, node: ast.ListComp | ast.GeneratorExp) -> Code:
    place = compiler.place()

    def body() -> Step:
        element = compiler.code(node.elt)

        def append(frame: Frame) -> None:
            frame[place].append(element(frame))

        return append

    return _gather(place, list, _loops(compiler, node.generators, body))


def _object(compiler: Compiler, node: ast.DictComp) -> Code:
    place = compiler.place()

    def body() -> Step:
        key, value = compiler.code(node.key), compiler.code(node.value)

        def put(frame: Frame) -> None:
            at = key(frame)
            try:
                frame[place][object_key(at)] = value(frame)
            except ComputingError as error:
                raise failed_at(error, node) from None

        return put

    return _gather(place, dict, _loops(compiler, node.generators, body))


def _gather(place: int, empty: type[list[Any]] | type[dict[str, Any]], loop: Step) -> Code:
    """What a comprehension's loops put together."""

    def gather(frame: Frame) -> Any:
        result = frame[place] = empty()
        loop(frame)
        return result

    return gather


def _loops(compiler: Compiler, generators: list[ast.comprehension], body: Callable[[], Step]) -> Step:
    """The loops of a comprehension, each inside of the one before, around its body."""
    if not generators:
        return body()
    node, *inner = generators
    source, outer = compiler.code(node.iter), compiler.scope
    before, compiler.steps = compiler.steps, 1
    target = _target(compiler, node.target)
    tests = compiler.codes(node.ifs)
    counter = _counter(compiler, node) if tests else None
    round_ = _round(target, tests, _loops(compiler, inner, body))
    cost, compiler.steps, compiler.scope = compiler.steps, before, outer
    return _loop(node, source, round_, cost, counter)


def _loop(node: ast.comprehension, source: Code, round_: _Round, steps: int, counter: int | None) -> Step:
    """`for target in source if tests`: `steps` is what one round costs, `counter` where its filter counts."""

    def run(frame: Frame) -> None:
        value = source(frame)
        try:
            values = items(value, "a loop")
            frame[METER].spend(len(values) * steps)
        except ComputingError as error:
            raise failed_at(error, node.iter) from None
        kept = round_(frame, values)
        if counter is not None:
            before = cast("tuple[int, int]", frame[counter] or (0, 0))
            frame[counter] = (before[0] + kept, before[1] + len(values))

    return run


def _counter(compiler: Compiler, node: ast.comprehension) -> int:
    place, source = compiler.place(), vars(node.target)["source"]
    part = source[node.target.col_offset : node.ifs[-1].end_col_offset]
    compiler.filters.append((place, "for " + " ".join(part.split())))
    return place


def _target(compiler: Compiler, node: ast.expr) -> int | _Bind:
    if not isinstance(node, ast.Name):
        return _unpacking(node, [_target(compiler, element) for element in cast("ast.Tuple", node).elts])
    place = compiler.place()
    compiler.scope = {**compiler.scope, node.id: place}
    return place


def _unpacking(node: ast.expr, targets: list[int | _Bind]) -> _Bind:
    """`for a, b in`: the items of each item have a place each."""

    def unpack(frame: Frame, item: Any) -> None:
        if not is_list(item) or len(item) != len(targets):
            length = f" of {len(item):,}" if is_list(item) else ""
            raise failed_at(ComputingError(f"{len(targets)} names can't be bound to {kind(item)}{length}"), node)
        for target, value in zip(targets, item, strict=True):
            if isinstance(target, int):
                frame[target] = value
            else:
                target(frame, value)

    return unpack


def _round(target: int | _Bind, tests: list[Code], body: Step) -> _Round:
    test = _all(tests)
    if not isinstance(target, int):
        return _round_of_several(target, test, body)
    return _round_of_kept(target, test, body) if test else _round_of_all(target, body)


def _all(tests: list[Code]) -> Code | None:
    if len(tests) < 2:
        return tests[0] if tests else None
    return lambda frame: all(test(frame) for test in tests)


def _round_of_all(place: int, body: Step) -> _Round:
    def run(frame: Frame, values: list[Any]) -> int:
        for item in values:
            frame[place] = item
            body(frame)
        return len(values)

    return run


def _round_of_kept(place: int, test: Code, body: Step) -> _Round:
    def run(frame: Frame, values: list[Any]) -> int:
        kept = 0
        for item in values:
            frame[place] = item
            if test(frame):
                kept += 1
                body(frame)
        return kept

    return run


def _round_of_several(bind: _Bind, test: Code | None, body: Step) -> _Round:
    def run(frame: Frame, values: list[Any]) -> int:
        kept = 0
        for item in values:
            bind(frame, item)
            if test is None or test(frame):
                kept += 1
                body(frame)
        return kept

    return run


_LIST = Construct(_check, _type_of_list, _list)

LOOPING: Constructs = {
    ast.ListComp: _LIST,
    ast.GeneratorExp: _LIST,
    ast.DictComp: Construct(_check, _type_of_object, _object),
}

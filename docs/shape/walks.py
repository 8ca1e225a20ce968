"""Where a package walks JSON Schemas by hand, and where it lists their keywords: a heuristic that knows only form.

A *walk* is a function that calls itself, or several in one module that call each other, naming at least two of the
keywords under which a schema holds schemas, directly or through a table. A *table* is a literal collection in the body
of a module or class with at least three strings, all of them keywords of JSON Schema. A walk that uses a stack instead
of recursion, or that recurses through other modules, is not found.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from source import Function, Module, Package, cycles

HOLDING = {
    "$defs", "definitions", "properties", "patternProperties", "additionalProperties", "unevaluatedProperties",
    "propertyNames", "dependentSchemas", "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains",
    "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contentSchema",
}  # fmt: skip
OTHERS = {
    "$schema", "$id", "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor", "$comment", "$vocabulary", "type",
    "const", "enum", "format", "pattern", "required", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "minContains", "maxContains",
    "minProperties", "maxProperties", "dependentRequired", "dependencies", "title", "description", "default",
    "examples", "deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType", "discriminator",
    "nullable",
}  # fmt: skip
KEYWORDS = HOLDING | OTHERS


def tables(package: Package) -> dict[str, set[str]]:
    """The tables of keywords by `module.name`."""
    return {
        f"{module.name}.{name}": words
        for module in package.modules.values()
        for name, value in _assigned(module)
        if len(words := _strings(value)) >= 3 and words <= KEYWORDS
    }


def walks(package: Package) -> list[str]:
    """Every walk, as its module and its functions."""
    listed = tables(package)
    named = {name.rpartition(".")[2]: words for name, words in listed.items()}
    return [
        f"{module.name}: {', '.join(sorted(function.name for function in group))}"
        for module in package.modules.values()
        for group in _recursive(module)
        if len(_mentioned(group, named) & HOLDING) >= 2
    ]


def _assigned(module: Module) -> Iterator[tuple[str, ast.expr]]:
    """The names that a module's or a class's body gives to literal collections."""
    bodies = [module.tree.body, *(node.body for node in module.nodes(ast.ClassDef))]
    for statement in (statement for body in bodies for statement in body):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_collection(value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if _is_collection(value):
                yield name, value
            case _:
                pass


def _is_collection(value: ast.expr) -> bool:
    """Whether it is a literal tuple, list, set or dict, or `frozenset(…)` and the like around one."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and len(value.args) == 1:
        return value.func.id in {"frozenset", "set", "tuple", "dict", "MappingProxyType"} and _is_collection(
            value.args[0]
        )
    return isinstance(value, ast.Tuple | ast.List | ast.Set | ast.Dict)


def _strings(value: ast.AST, *, keys_only: bool = True) -> set[str]:
    """The strings in a piece of code; of a dict only its keys, where that is asked."""
    if keys_only and isinstance(value, ast.Dict):
        return {word for key in value.keys if key is not None for word in _strings(key)}
    constants = (node.value for node in ast.walk(value) if isinstance(node, ast.Constant))
    return {word for word in constants if isinstance(word, str)}


def _recursive(module: Module) -> list[list[Function]]:
    """The functions of a module that reach themselves, grouped by which reach each other."""
    owners = {method: node.name for node in module.nodes(ast.ClassDef) for method in node.body}
    functions = {
        f"{owners[function]}.{function.name}" if function in owners else function.name: function
        for function in module.functions()
    }

    def called(name: str) -> set[str]:
        bare, owned = _names(functions[name])
        return (bare | {f"{owners.get(functions[name])}.{method}" for method in owned}) & functions.keys()

    return [[functions[name] for name in group] for group in cycles(functions, called)]


def _names(function: Function) -> tuple[set[str], set[str]]:
    """What a function mentions by a bare name, and as an attribute of `self` or `cls`."""
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    owned = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}
    }
    return {node.id for node in nodes if isinstance(node, ast.Name)}, owned


def _mentioned(group: list[Function], named: dict[str, set[str]]) -> set[str]:
    """The keywords that the functions name, and those of the tables that they use."""
    used = {word for function in group for name in set[str].union(*_names(function)) for word in named.get(name, ())}
    return used | {
        word for function in group for statement in function.body for word in _strings(statement, keys_only=False)
    }

"""What a module would register with `actum.tools`, registered as it is written, with functions that can't be called."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ...errors import ActumError
from ...protocol.activity import is_given
from ...protocol.registry import Registry
from .annotations import Types, keywords
from .literals import literal
from .module import Module, Modules, Unread

_TOOLS = "actum.tools"
_MOST_LINES = 100
"""How many lines say what was left out."""
_VERBS = {"tool", "activity", "register"}

Kind = inspect.Parameter


@dataclass(slots=True)
class Registering:
    """Goes through modules; `left_out` says, line by line, what only running them could tell."""

    registry: Registry
    modules: Modules
    types: Types
    left_out: list[str] = field(default_factory=list[str])
    _seen: set[Module] = field(default_factory=set[Module])

    def all_of(self, module: Module) -> None:
        """Register what a module registers, after what the modules register that it imports."""
        ahead: list[tuple[Module, Iterator[Module]]] = [(module, iter(self.modules.imported(module)))]
        self._seen.add(module)
        while ahead:
            one, inner = ahead[-1]
            following = next((each for each in inner if each not in self._seen), None)
            if following is None:
                ahead.pop()
                self._own_of(one)
            else:
                self._seen.add(following)
                ahead.append((following, iter(self.modules.imported(following))))
        if self.modules.is_spent:
            self.left_out.append(f"{module.path.name}: there is more in it than is read")
        if (rest := len(self.left_out) - _MOST_LINES) > 0:
            self.left_out[_MOST_LINES:] = [f"{module.path.name}: and {rest} more"]

    def _own_of(self, module: Module) -> None:
        read: set[ast.expr] = set()
        for node in module.tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for decorator in reversed(node.decorator_list):
                    self._decorated(decorator, node, module, read)
            elif isinstance(node, ast.Expr | ast.Assign) and isinstance(node.value, ast.Call):
                self._called(node.value, module, read)
        for node in ast.walk(module.tree):
            if self._is_use(node, module) and node not in read:
                self._leave_out(module, node, "what is registered here is known only when it runs")

    def _verb(self, node: ast.expr, module: Module) -> str | None:
        """What of the registry an expression names: `tool`, `activity`, `register`; None if it is another thing."""
        if not isinstance(node, ast.Attribute | ast.Name):
            return None
        try:
            found = self.modules.meaning(node, module)
        except Unread:
            return None
        of, _, verb = found.rpartition(".") if isinstance(found, str) else ("", "", "")
        return verb if of == _TOOLS and verb in _VERBS else None

    def _is_use(self, node: ast.AST, module: Module) -> bool:
        return isinstance(node, ast.Attribute) and node.attr in _VERBS and self._verb(node, module) is not None

    def _decorated(
        self, node: ast.expr, function: ast.FunctionDef | ast.AsyncFunctionDef, module: Module, read: set[ast.expr]
    ) -> None:
        named = node.func if isinstance(node, ast.Call) else node
        verb = self._verb(named, module)
        if verb is None:
            return
        read.add(named)

        def register() -> None:
            if verb == "tool":
                told = keywords(node.keywords, module, self.modules) if isinstance(node, ast.Call) else {}
                self.registry.tool(**told)(self._typed(function, module))
            elif verb == "activity" and isinstance(node, ast.Call):
                self.registry.activity(self._name(node, module), **self._told(node, module))(_stand_in(function))
            else:
                raise Unread("is no decorator")

        self._attempt(register, function.name, module, node)

    def _called(self, node: ast.Call, module: Module, read: set[ast.expr]) -> None:
        verb = self._verb(node.func, module)
        if verb is None:
            return
        read.add(node.func)

        def register() -> None:
            if verb == "register" and len(node.args) == 2:
                schema = literal(node.args[1], module, self.modules)
                self.registry.register(self._name(node, module), schema, **self._told(node, module))
            elif verb == "activity" and len(node.args) == 2:
                function, _ = self._function(node.args[1], module)
                self.registry.activity(self._name(node, module), _stand_in(function), **self._told(node, module))
            elif verb == "tool" and len(node.args) == 1:
                function, around = self._function(node.args[0], module)
                self.registry.tool(self._typed(function, around))
            else:
                raise Unread("is registered in a way that only running it could tell")

        self._attempt(register, verb, module, node)

    def _name(self, node: ast.Call, module: Module) -> str:
        given = node.args[0] if node.args else next((one.value for one in node.keywords if one.arg == "name"), None)
        name = literal(given, module, self.modules) if given is not None else None
        if not isinstance(name, str):
            raise Unread("has a name that is not written out")
        return name

    def _told(self, node: ast.Call, module: Module) -> dict[str, Any]:
        """What is said of an Activity or an interface beside its name."""
        return keywords([one for one in node.keywords if one.arg not in {"name", "function"}], module, self.modules)

    def _function(self, node: ast.expr, module: Module) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef, Module]:
        found = self.modules.meaning(node, module)
        inner = getattr(found, "node", None)
        if not isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            raise Unread("is a function from elsewhere")
        return inner, getattr(found, "module", module)

    def _attempt(self, register: Callable[[], None], name: str, module: Module, node: ast.expr) -> None:
        try:
            register()
        except Unread as error:
            self._leave_out(module, node, f"{name!r} {error}")
        except ActumError as error:
            self._leave_out(module, node, f"{name!r}: {error.message}")
        except TypeError as error:  # no such option
            self._leave_out(module, node, f"{name!r}: {error}")
        except Exception as error:  # what it is made of is anybody's: whatever Pydantic has against it
            self._leave_out(module, node, f"{name!r}: no schema can be made of it ({type(error).__name__})")

    def _typed(self, node: ast.FunctionDef | ast.AsyncFunctionDef, module: Module) -> Callable[..., Any]:
        """A function that stands in for a tool's, with its types; one that can't be read may be anything."""
        function = _stand_in(node)
        arguments = node.args
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        annotated = [(one.arg, one.annotation) for one in named] + [("return", node.returns)]
        for name, annotation in annotated:
            if annotation is None or is_given(name):
                continue
            try:
                function.__annotations__[name] = self.types.of(annotation, module)
            except Unread as error:
                self._leave_out(module, annotation, f"the type of {name!r} of {node.name!r}, which {error}")
        return function

    def _leave_out(self, module: Module, node: ast.AST, what: str) -> None:
        self.left_out.append(f"{module.path.name}:{getattr(node, 'lineno', 1)}: {what}")


def _stand_in(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Callable[..., Any]:
    """A function with the name, the words and the parameters of one that is written."""

    def read_only(**_: Any) -> Any:
        raise RuntimeError("it was read and not loaded, so it can't be called")

    read_only.__name__, read_only.__doc__ = node.name, ast.get_docstring(node, clean=False)
    read_only.__annotations__ = {}
    read_only.__signature__ = inspect.Signature(list(_parameters(node.args)))  # pyright: ignore[reportFunctionMemberAccess] -- as `inspect` reads it
    return read_only


def _parameters(found: ast.arguments) -> Iterator[inspect.Parameter]:
    positional = [*found.posonlyargs, *found.args]
    first_default = len(positional) - len(found.defaults)
    for index, one in enumerate(positional):
        kind = Kind.POSITIONAL_ONLY if index < len(found.posonlyargs) else Kind.POSITIONAL_OR_KEYWORD
        yield Kind(one.arg, kind, default=None if index >= first_default else Kind.empty)
    if found.vararg is not None:
        yield Kind(found.vararg.arg, Kind.VAR_POSITIONAL)
    for one, default in zip(found.kwonlyargs, found.kw_defaults, strict=True):
        yield Kind(one.arg, Kind.KEYWORD_ONLY, default=Kind.empty if default is None else None)
    if found.kwarg is not None:
        yield Kind(found.kwarg.arg, Kind.VAR_KEYWORD)

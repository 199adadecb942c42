"""Finds iteration over sets: its order is the order of hashes, which differ from process to process.

What counts as a set is read from the source alone: displays, comprehensions, `set(...)`, `frozenset(...)`, set operators,
names and attributes with such a value or annotation, functions and properties with such a return annotation. Names are
followed within a function, attributes and functions over all files that are looked at.

Allowed is what does not depend on the order: `sorted`, `len`, `any`, `all`, `sum`, `set`, `frozenset`, `min` and `max`
without a key, membership, set comprehensions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

SET_TYPES = {"set", "frozenset", "Set", "AbstractSet", "FrozenSet", "MutableSet"}
SET_METHODS = {"union", "intersection", "difference", "symmetric_difference", "copy"}
SET_OPERATORS = (ast.Sub, ast.BitAnd, ast.BitOr, ast.BitXor)
ORDERLESS = {"sorted", "len", "any", "all", "sum", "set", "frozenset", "min", "max", "bool"}
ORDERED = {
    "list",
    "tuple",
    "iter",
    "enumerate",
    "map",
    "filter",
    "zip",
    "reversed",
    "dict",
    "deque",
    "chain",
    "fromkeys",
    "join",
    "extend",
}


@dataclass(frozen=True, slots=True)
class Found:
    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: the order of a set decides: {self.text}"


def find(sources: Mapping[str, str]) -> list[Found]:
    """`sources`: file name -> Python source. In the order of the files and lines."""
    trees = {name: ast.parse(text) for name, text in sources.items()}
    attributes = {name for tree in trees.values() for name in _set_attributes(tree)}
    functions = {name for tree in trees.values() for name in _set_functions(tree)}
    found = []
    for name, tree in trees.items():
        for scope in _scopes(tree):
            reader = _Scope(scope, attributes, functions)
            found += [Found(name, node.lineno, ast.unparse(node)) for node in reader.iterations()]
    return sorted(set(found), key=lambda one: (one.file, one.line, one.text))


def _is_set_type(annotation: ast.expr | None) -> bool:
    if isinstance(annotation, ast.BinOp):  # X | None
        return _is_set_type(annotation.left) or _is_set_type(annotation.right)
    if isinstance(annotation, ast.Subscript):
        annotation = annotation.value
    if isinstance(annotation, ast.Attribute):
        return annotation.attr in SET_TYPES
    return isinstance(annotation, ast.Name) and annotation.id in SET_TYPES


def _set_attributes(tree: ast.AST) -> Iterator[str]:
    """Names of fields, `self.` attributes and properties that are sets."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                if (
                    isinstance(part, ast.AnnAssign)
                    and isinstance(part.target, ast.Name)
                    and _is_set_type(part.annotation)
                ):
                    yield part.target.id
                if isinstance(part, ast.FunctionDef) and _is_property(part) and _is_set_type(part.returns):
                    yield part.name
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Attribute) and _is_set_type(node.annotation):
            yield node.target.attr


def _set_functions(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if is_function and _is_set_type(node.returns) and not _is_property(node):
            yield node.name


def _is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(mark, ast.Name) and "property" in mark.id for mark in function.decorator_list)


Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def _scopes(tree: ast.Module) -> Iterator[Scope]:
    yield tree
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


class _Scope:
    """A function (or the module) with the names in it that are sets."""

    def __init__(self, scope: Scope, attributes: Iterable[str], functions: Iterable[str]) -> None:
        self._attributes, self._functions = attributes, functions
        self._nodes = list(_own(scope))
        self._sets = set(self._parameters(scope))
        while (more := {*self._assigned()} - self._sets) != set():
            self._sets |= more

    @staticmethod
    def _parameters(scope: Scope) -> Iterator[str]:
        if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = scope.args
            for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
                if _is_set_type(one.annotation):
                    yield one.arg

    def _assigned(self) -> Iterator[str]:
        for node in self._nodes:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and _is_set_type(node.annotation):
                yield node.target.id
            if isinstance(node, ast.Assign) and self.is_set(node.value):
                yield from (target.id for target in node.targets if isinstance(target, ast.Name))
            if isinstance(node, ast.NamedExpr) and self.is_set(node.value):
                yield node.target.id

    def is_set(self, node: ast.expr) -> bool:
        match node:
            case ast.Set() | ast.SetComp():
                return True
            case ast.Name(id=name):
                return name in self._sets
            case ast.Attribute(attr=name):
                return name in self._attributes
            case ast.IfExp(body=body, orelse=orelse):
                return self.is_set(body) or self.is_set(orelse)
            case ast.BoolOp(values=values):
                return any(self.is_set(value) for value in values)
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, SET_OPERATORS):
                return self.is_set(left) or self.is_set(right) or _is_keys(left) or _is_keys(right)
            case ast.Call(func=ast.Name(id=name)):
                return name in {"set", "frozenset"} or name in self._functions
            case ast.Call(func=ast.Attribute(value=value, attr=name)):
                return name in self._functions or (name in SET_METHODS and self.is_set(value))
        return False

    def iterations(self) -> Iterator[ast.expr]:
        """The sets over which is iterated so that their order matters."""
        harmless = {id(part) for node in self._nodes for part in _orderless(node)}
        for node in self._nodes:
            match node:
                case ast.For(iter=source) | ast.AsyncFor(iter=source) | ast.YieldFrom(value=source):
                    yield from self._if_set(source)
                case ast.ListComp() | ast.DictComp() | ast.GeneratorExp() if id(node) not in harmless:
                    for generator in node.generators:
                        yield from self._if_set(generator.iter)
                case ast.Starred(value=value) if id(node) not in harmless:
                    yield from self._if_set(value)
                case ast.Call(func=function, args=arguments):
                    yield from self._in_call(function, arguments, node.keywords)

    def _in_call(
        self, function: ast.expr, arguments: list[ast.expr], keywords: list[ast.keyword]
    ) -> Iterator[ast.expr]:
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        by_key = name in {"min", "max"} and any(keyword.arg == "key" for keyword in keywords)
        if name in ORDERED or by_key:
            for argument in arguments:
                yield from self._if_set(argument)
        if name == "pop" and isinstance(function, ast.Attribute) and not arguments:
            yield from self._if_set(function.value)

    def _if_set(self, node: ast.expr) -> Iterator[ast.expr]:
        if self.is_set(node):
            yield node


def _own(scope: Scope) -> Iterator[ast.AST]:
    """The nodes of a scope without those of the functions in it."""
    stack: list[ast.AST] = list(ast.iter_child_nodes(scope))
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            stack += ast.iter_child_nodes(node)


def _orderless(node: ast.AST) -> Iterator[ast.expr]:
    """What in `node` may come in any order: arguments of `sorted` and the like, parts of a set display."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ORDERLESS:
        by_key = node.func.id in {"min", "max"} and bool(node.keywords)
        for argument in () if by_key else node.args:
            yield argument
            yield from argument.elts if isinstance(argument, ast.List | ast.Tuple) else ()
    if isinstance(node, ast.Set):
        yield from node.elts


def _is_keys(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"keys", "items"}

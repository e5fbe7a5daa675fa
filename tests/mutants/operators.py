"""Mutants of a module: one small change of its syntax tree each, as a slip of an engineer would be.

A mutant is known by its file, the function or the module-level name that it changes, the operator, and how often the
same operator applies before it there. So a line that moves renames no mutant, and a kept list of mutants stays usable.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec

from trunkline.core import reasons, values
from trunkline.core.states import binding, delegation, intent

#: an operand that stands for each comparison
_COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
#: statements of SQL, as they begin
_SQL = ("SELECT ", "UPDATE ", "INSERT ", "DELETE ", "WITH ")
#: calls whose loss nobody would call a defect
_HARMLESS_CALLS = frozenset({"debug", "cast", "append_log"})


class Mutant(msgspec.Struct, frozen=True, kw_only=True):
    """A small defect. `nth`: how many changes of the same operator come before it in the same function."""

    path: str
    #: the function with its classes, or the module-level name
    where: str
    operator: str
    nth: int
    line: int
    #: the source before and after
    change: str

    @property
    def name(self) -> str:
        """The mutant's identity, over changes elsewhere in its file."""
        return f"{self.path}::{self.where}::{self.operator}::{self.nth}"

    @property
    def room(self) -> str:
        """The room of core, or the two outer folders of a large one."""
        parts = self.path.split("/")
        if len(parts) == 2:
            return "core (modules)"
        return "/".join(parts[1:3]) if parts[1] == "runtime" and len(parts) > 3 else parts[1]


class _Place(msgspec.Struct, kw_only=True):
    """A node that an operator changes: `field` of `parent`, at `index` if that is a list."""

    parent: ast.AST
    field: str
    index: int | None
    node: ast.AST
    where: str

    def put(self, node: Any) -> None:
        """Replace the node."""
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def mutants_of(path: Path, root: Path) -> list[Mutant]:
    """Every mutant of a module, in the order of its lines."""
    tree = ast.parse(path.read_text())
    name, counts, found = path.relative_to(root).as_posix(), Counter[tuple[str, str]](), list[Mutant]()
    for place in _places(tree):
        for operator, changed in _changes(place.node, name):
            nth = counts[place.where, operator]
            counts[place.where, operator] += 1
            before, after = (ast.unparse(ast.fix_missing_locations(node)) for node in (place.node, changed))
            found.append(
                Mutant(
                    path=name,
                    where=place.where,
                    operator=operator,
                    nth=nth,
                    line=getattr(place.node, "lineno", 0),
                    change=f"{before}  ->  {after}",
                )
            )
    return found


def mutated(source: str, mutant: Mutant) -> ast.Module:
    """The module with the mutant's change. `LookupError`: the module has no such mutant."""
    tree = ast.parse(source)
    left = mutant.nth
    for place in _places(tree):
        if place.where != mutant.where:
            continue
        for operator, changed in _changes(place.node, mutant.path):
            if operator != mutant.operator:
                continue
            if left == 0:
                place.put(ast.copy_location(changed, place.node))
                return ast.fix_missing_locations(tree)
            left -= 1
    raise LookupError(mutant.name)


def _places(tree: ast.Module) -> Iterator[_Place]:
    """Every node with code that runs: no docstrings, annotations, imports, defaults of structs or decorators."""
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _of_definition(statement, "")
        elif isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            if isinstance(target, ast.Name):
                yield from _below(statement, "value", None, statement.value, target.id)


def _of_definition(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, outer: str) -> Iterator[_Place]:
    where = f"{outer}.{node.name}".lstrip(".")
    for index, statement in enumerate(node.body):
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _of_definition(statement, where)
        elif not isinstance(node, ast.ClassDef) and not _is_docstring(statement):
            yield from _below(node, "body", index, statement, where)


def _below(parent: ast.AST, field: str, index: int | None, node: ast.AST, where: str) -> Iterator[_Place]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield from _of_definition(node, where)
        return
    yield _Place(parent=parent, field=field, index=index, node=node, where=where)
    for name, value in ast.iter_fields(node):
        if name == "annotation" or (isinstance(node, ast.Raise) and name == "exc"):
            continue
        if isinstance(value, ast.AST):
            yield from _below(node, name, None, value, where)
        elif isinstance(value, list):
            for position, item in enumerate(value):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] -- nodes
                if isinstance(item, ast.AST):
                    yield from _below(node, name, position, item, where)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _changes(node: ast.AST, path: str) -> Iterator[tuple[str, ast.AST]]:
    """What each operator makes of a node of a file."""
    match node:
        case ast.If() | ast.While() | ast.IfExp():
            yield "negate", _with(node, test=ast.UnaryOp(ast.Not(), node.test))
        case ast.Compare(ops=[op], left=left, comparators=[right]):
            yield "compare", ast.Compare(left, [_COMPARE[type(op)]()], [right])
        case ast.BoolOp(op=op, values=values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "and-or", ast.BoolOp(other, values)
            for index in range(len(values)):
                rest = [*values[:index], *values[index + 1 :]]
                yield "part left out", rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
        case ast.Return(value=value) if value is not None and not _is_none(value):
            yield "nothing returned", ast.Return(ast.Constant(None))
        case ast.Expr(value=value) if isinstance(value, ast.Call | ast.Await) and _callee(value) not in _HARMLESS_CALLS:
            yield "effect left out", ast.Pass()
        case ast.AugAssign():
            yield "step left out", ast.Pass()
        case ast.Call():
            yield from _calls(node)
        case ast.Constant():
            yield from _constants(node)
        case ast.BinOp(op=ast.Add() | ast.Sub() as op):
            yield "plus-minus", ast.BinOp(node.left, ast.Sub() if isinstance(op, ast.Add) else ast.Add(), node.right)
        case ast.Slice(lower=lower, upper=upper) if lower is not None and upper is None:
            yield "slice", ast.Slice(None, None)
        case ast.Continue():
            yield "loop ends", ast.Break()
        case ast.Break():
            yield "loop goes on", ast.Continue()
        case ast.Attribute(value=ast.Name(id=owner), attr=member) if member.isupper() and (
            others := _members(owner, path)
        ):
            yield "sibling", ast.Attribute(ast.Name(owner, ast.Load()), _sibling(others, member), ast.Load())
        case _:
            return


def _calls(node: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    if len(node.args) >= 2 and not any(isinstance(argument, ast.Starred) for argument in node.args[:2]):
        yield "arguments swapped", _with(node, args=[node.args[1], node.args[0], *node.args[2:]])
    for index, keyword in enumerate(node.keywords):
        if keyword.arg is not None:
            yield "argument left out", _with(node, keywords=[*node.keywords[:index], *node.keywords[index + 1 :]])


def _constants(node: ast.Constant) -> Iterator[tuple[str, ast.AST]]:
    value: Any = node.value
    if isinstance(value, bool):
        yield "constant", ast.Constant(not value)
    elif isinstance(value, int | float):
        yield "constant", ast.Constant(value + 1)
    elif isinstance(value, str) and value.lstrip().startswith(_SQL):
        for before, after in ((" AND ", " OR "), (" < ", " <= "), (" > ", " >= "), (" >= ", " > "), (" <= ", " < ")):
            if before in value:
                yield "sql", ast.Constant(value.replace(before, after, 1))
        if " ORDER BY n" in value and " DESC" not in value:
            yield "sql", ast.Constant(value.replace(" ORDER BY n", " ORDER BY n DESC", 1))


def _with(node: ast.AST, **fields: Any) -> ast.AST:
    kept = dict(ast.iter_fields(node))
    return ast.copy_location(type(node)(**{**kept, **fields}), node)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _callee(node: ast.expr) -> str:
    while isinstance(node, ast.Await | ast.Call):
        node = node.value if isinstance(node, ast.Await) else node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _enums() -> dict[tuple[str, str], tuple[str, ...]]:
    """The members of each enum, by its name, or by a short name of it and the only file that has that."""
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for module in (reasons, values, binding, delegation, intent):
        for name, value in vars(module).items():
            if isinstance(value, type) and issubclass(value, Enum) and len(value) > 1:
                own = "" if name == value.__name__ else module.__name__.partition(".")[2].replace(".", "/") + ".py"
                found[name, own] = tuple(member for member in value.__members__)
    return found


_ENUMS = _enums()


def _members(owner: str, path: str) -> tuple[str, ...]:
    return _ENUMS.get((owner, path)) or _ENUMS.get((owner, ""), ())


def _sibling(members: tuple[str, ...], member: str) -> str:
    return members[(members.index(member) + 1) % len(members)] if member in members else members[0]

"""Structs that the garbage collector does not track can never be part of a cycle.

`gc=False` makes a value cheaper to create and to keep, but a cycle through it is never freed. So everything that such
a struct can reach by its annotations is itself free of cycles: no struct that reaches itself, no callable, exception,
`Any` or object of a class that we cannot see into.
"""

import importlib
import pkgutil
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

import msgspec
import pytest
from pydantic import BaseModel

import trunkline.app.view
import trunkline.core
import trunkline.sim

#: the configuration is a tree that was read from a file
LEAVES = (str, int, float, bool, bytes, Enum, type(None), BaseModel)
CONTAINERS = (tuple, list, dict, set, frozenset, Sequence, Mapping)
#: callables that a struct may hold nevertheless: functions of the configuration, which hold no row
HARMLESS = ("NewSession.entry_of", "NewSession.key_of", "Participant.today", "BeginSend.again")


class Leaf(msgspec.Struct, gc=False):
    text: str
    counts: dict[str, tuple[int, ...]] | None = None


class HoldsError(msgspec.Struct, gc=False):
    error: Exception


class HoldsItself(msgspec.Struct, gc=False):
    inner: tuple["HoldsItself", ...]


class HoldsAnything(msgspec.Struct, gc=False):
    leaf: Leaf
    value: object


class HoldsCallable(msgspec.Struct, gc=False):
    call: typing.Callable[[], None]


def untracked() -> list[type[msgspec.Struct]]:
    """Every struct of the product that is declared, or inherits, `gc=False`."""
    for package in (trunkline.core, trunkline.sim, trunkline.app.view):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    found = set(descendants(msgspec.Struct))
    ours = (one for one in found if one.__module__.startswith("trunkline.") and one.__struct_config__.gc is False)
    return sorted(ours, key=lambda one: (one.__module__, one.__qualname__))


def descendants(base: type) -> Iterator[type]:
    for one in base.__subclasses__():
        yield one
        yield from descendants(one)


def way_to_cycle(struct: type, above: tuple[type, ...] = ()) -> str:
    """The fields that may lead back to a struct; empty when nothing does."""
    if struct in above:
        return struct.__name__
    for name, hint in typing.get_type_hints(struct).items():
        way = "" if f"{struct.__name__}.{name}" in HARMLESS else way_through(hint, (*above, struct))
        if way:
            return f"{struct.__name__}.{name}: {way}"
    return ""


def way_through(hint: object, above: tuple[type, ...]) -> str:
    origin = typing.get_origin(hint)
    if origin is typing.ClassVar:
        return ""
    if origin in (typing.Union, types.UnionType, typing.Annotated, typing.Literal) or origin in CONTAINERS:
        inner = typing.get_args(hint)
        if origin is typing.Literal:
            return ""
        if origin is typing.Annotated:
            inner = inner[:1]
        return next((way for one in inner if one is not Ellipsis and (way := way_through(one, above))), "")
    if hasattr(hint, "__supertype__"):
        return way_through(hint.__supertype__, above)  # pyright: ignore[reportAttributeAccessIssue]
    if hint is None or (isinstance(hint, type) and issubclass(hint, LEAVES)):
        return ""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return way_to_cycle(hint, above)
    return str(hint)


def test_untracked_structs_reach_no_cycle() -> None:
    found = untracked()
    assert len(found) > 50
    assert [way for one in found if (way := way_to_cycle(one))] == []


def test_a_leaf_is_allowed() -> None:
    assert way_to_cycle(Leaf) == ""


@pytest.mark.parametrize("struct", [HoldsError, HoldsItself, HoldsAnything, HoldsCallable])
def test_a_struct_that_may_be_part_of_a_cycle_is_found(struct: type[msgspec.Struct]) -> None:
    assert way_to_cycle(struct).startswith(f"{struct.__name__}.")

"""What the modules of a package declare, found by walking them: there is no list to forget a declaration in."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from pkgutil import walk_packages
from typing import TypeVar

T = TypeVar("T")


def values_in(path: Sequence[str], package: str, kind: type[T]) -> Iterator[T]:
    """The values of a type that modules below a package have a name for, module after module."""
    for found in walk_packages(path, f"{package}."):
        yield from (value for value in vars(import_module(found.name)).values() if isinstance(value, kind))


def classes_in(path: Sequence[str], package: str, base: type[T], mark: str) -> Iterator[type[T]]:
    """The subclasses that modules below a package define and that give a value to an attribute themselves."""
    for kind in values_in(path, package, type):
        if issubclass(kind, base) and kind.__module__.startswith(f"{package}.") and mark in vars(kind):
            yield kind

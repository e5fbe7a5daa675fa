"""What is declared: by the modules of a package, found by walking them, and by a struct, whose fields are copied."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from pkgutil import walk_packages
from typing import TypeVar

import msgspec

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)


def values_in(path: Sequence[str], package: str, kind: type[T]) -> Iterator[T]:
    """The values of a type that modules below a package have a name for, module after module."""
    for found in walk_packages(path, f"{package}."):
        yield from (value for value in vars(import_module(found.name)).values() if isinstance(value, kind))


def classes_in(path: Sequence[str], package: str, base: type[T], mark: str) -> Iterator[type[T]]:
    """The subclasses that modules below a package define and that give a value to an attribute themselves."""
    for kind in values_in(path, package, type):
        if issubclass(kind, base) and kind.__module__.startswith(f"{package}.") and mark in vars(kind):
            yield kind


def filled(kind: type[S], /, *sources: object, **own: object) -> S:
    """A struct with the fields that the sources have under the same names, of the first that has one, and its own."""
    return kind(
        **{
            name: getattr(source, name)
            for source in reversed(sources)
            for name in kind.__struct_fields__
            if hasattr(source, name)
        }
        | own
    )

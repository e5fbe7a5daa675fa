"""Looks up fields, types and texts of the models by path of a file, under the names that files use.

The *root* is the model of the whole file.
"""

import ast
import functools
import inspect
import textwrap
import types
from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic.alias_generators import to_snake
from pydantic.fields import FieldInfo

from trunkline.core.config.base import Model
from trunkline.core.config.files.problems import Path


def file_name(name: str, info: FieldInfo) -> str:
    """The name of a field in files: ``in`` for `place`."""
    return info.validation_alias if isinstance(info.validation_alias, str) else name


@functools.cache
def fields_of(model: type[Model]) -> dict[str, FieldInfo]:
    """The fields of a model by the names in files."""
    return {file_name(name, info): info for name, info in model.model_fields.items()}


@functools.cache
def texts_of(model: type[Model]) -> dict[str, str]:
    """The docstring of each field of a model, by the names that files use; parsed from its source."""
    found = dict[str, str]()
    for owner in reversed(model.__mro__):
        if issubclass(owner, Model):
            found |= _texts_in(owner)
    return {file_name(name, model.model_fields[name]): text for name, text in found.items()}


def _texts_in(owner: type[Model]) -> dict[str, str]:
    try:
        source = textwrap.dedent(inspect.getsource(owner))
    except OSError:  # installed without its source: errors lack the reference text
        return {}
    defined = ast.parse(source).body[0]
    assert isinstance(defined, ast.ClassDef)
    found = dict[str, str]()
    for field, below in pairwise(defined.body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = inspect.cleandoc(text)
            case _:
                pass
    return found


def bare(annotation: Any) -> Any:
    """A type without `Annotated` and without ``| None``."""
    if get_origin(annotation) is Annotated:
        return bare(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        options = [option for option in get_args(annotation) if option is not types.NoneType]
        if len(options) == 1:
            return bare(options[0])
    return annotation


def model_of(annotation: Any) -> type[Model] | None:
    found = bare(annotation)
    return found if isinstance(found, type) and issubclass(found, Model) else None


def element(annotation: Any) -> Any:
    """The item type of a list or of a mapping of names; None for other types."""
    found = bare(annotation)
    if get_origin(found) is dict:
        return get_args(found)[1]
    return get_args(found)[0] if get_origin(found) is tuple else None


def type_at(path: Path, root: type[Model]) -> Any:
    """The type at a path of a file; None for an invalid path."""
    found: Any = root
    for part in path:
        model = model_of(found)
        if model is None:
            found = element(found)
        else:
            info = _field(model, part)
            found = info.annotation if info else None
        if found is None:
            return None
    return found


def text_at(path: Path, root: type[Model]) -> str:
    """The reference text of the field at a path of a file; empty if there is none."""
    model = model_of(type_at(path[:-1], root)) if path else None
    texts, name = texts_of(model) if model else {}, str(path[-1]) if path else ""
    return texts.get(name) or texts.get(to_snake(name), "")


def _field(model: type[Model], part: str | int) -> FieldInfo | None:
    fields = fields_of(model)
    return fields.get(str(part)) or fields.get(to_snake(str(part)))


def walk(annotation: Any, at: str = "") -> Iterator[tuple[str, type[Model]]]:
    """Every model below a type with its path, e.g. ``script[].crash``; parents first."""
    model = model_of(annotation)
    if model is not None:
        yield at, model
        for name, info in fields_of(model).items():
            yield from walk(info.annotation, f"{at}.{name}" if at else name)
    elif (held := element(annotation)) is not None:
        yield from walk(held, f"{at}.<name>" if get_origin(bare(annotation)) is dict else f"{at}[]")


@functools.cache
def homes_of(name: str, root: type[Model]) -> tuple[str, ...]:
    """The paths of models of a file that have a field of this name."""
    return tuple(at or "the top of the file" for at, model in walk(root) if name in fields_of(model))

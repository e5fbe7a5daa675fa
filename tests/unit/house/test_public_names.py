"""The public API: every name of `trunkline` is found where it is said to be, and says what it is."""

import ast
import inspect
from collections.abc import Iterator

import pytest

import trunkline
from tests.support.for_each import for_each
from tests.support.house_figures import begins_badly
from tests.support.sources import source_of


def imported_names(source: str) -> Iterator[tuple[str, str]]:
    """The names that type checkers see, each with its module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for statement in node.body:
                if isinstance(statement, ast.ImportFrom) and statement.module is not None:
                    yield from ((alias.name, statement.module) for alias in statement.names)


def test_what_is_imported_at_run_time_is_what_type_checkers_see() -> None:
    assert dict(imported_names(source_of("trunkline/__init__.py"))) == trunkline._HOME_OF
    assert sorted(trunkline.__all__) == sorted(trunkline._HOME_OF)


@for_each("name", trunkline.__all__)
def test_a_public_name_is_there(name: str) -> None:
    value = getattr(trunkline, name)
    assert value is getattr(trunkline, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert not begins_badly(inspect.getdoc(value) or "")


def test_a_name_that_is_not_public_is_none() -> None:
    with pytest.raises(AttributeError, match="Nothing"):
        _ = trunkline.Nothing

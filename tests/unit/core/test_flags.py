"""Booleans of files: `true` or `false`, and nothing that only sounds like it. A policy must not open by a slip."""

import ast

import pytest
from pydantic import ValidationError

from tests.support.sources import PACKAGES, modules, parse
from trunkline.core.config.base import Flag, Model

#: what YAML 1.1, pydantic or people take for true
SLIPS = ["yes", "on", "t", "y", "true", "1", 1, 1.0]


class Policy(Model):
    is_open: Flag = False
    maybe: Flag | None = None


@pytest.mark.parametrize("slip", SLIPS, ids=repr)
@pytest.mark.parametrize("field", ["is_open", "maybe"])
def test_a_flag_is_opened_by_true_alone(field: str, slip: object) -> None:
    assert getattr(Policy.model_validate({field: True}), field) is True
    with pytest.raises(ValidationError):
        Policy.model_validate({field: slip})


def model_classes(trees: dict[str, ast.Module]) -> list[tuple[str, ast.ClassDef]]:
    """The configuration models, by their bases."""
    classes = [
        (path, node) for path, tree in trees.items() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    ]
    models = {"Model", "BaseModel"}
    while more := {
        node.name
        for _, node in classes
        if node.name not in models and models & {ast.unparse(base).partition("[")[0] for base in node.bases}
    }:
        models |= more
    return [(path, node) for path, node in classes if node.name in models]


def lax_booleans(trees: dict[str, ast.Module]) -> list[str]:
    return [
        f"{path}: {model.name}.{ast.unparse(field.target)}"
        for path, model in model_classes(trees)
        for field in model.body
        if isinstance(field, ast.AnnAssign)
        and any(isinstance(part, ast.Name) and part.id == "bool" for part in ast.walk(field.annotation))
    ]


def test_each_boolean_of_a_file_is_a_flag() -> None:
    trees = {path: parse(path) for package in PACKAGES for path in modules(package)}
    assert len(model_classes(trees)) > 100
    assert lax_booleans(trees) == []


def test_a_lax_boolean_is_found() -> None:
    trees = {
        "core/a.py": ast.parse("class A(Model):\n    x: bool = True"),
        "core/b.py": ast.parse("class B(A): y: bool | None = None"),
    }
    assert lax_booleans(trees) == ["core/a.py: A.x", "core/b.py: B.y"]

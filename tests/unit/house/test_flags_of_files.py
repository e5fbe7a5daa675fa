"""Every boolean of a file is a `Flag`: `true` or `false`, and nothing that only sounds like it."""

import ast

from tests.support.house_figures import definitions
from tests.support.sources import PACKAGES, modules, parse


def model_classes(trees: dict[str, ast.Module]) -> list[tuple[str, ast.ClassDef]]:
    """The configuration models, by their bases."""
    classes = [
        (path, node) for path, tree in trees.items() for node in definitions(tree) if isinstance(node, ast.ClassDef)
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

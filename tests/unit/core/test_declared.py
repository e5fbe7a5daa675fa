"""What is found in the modules of a package: what they define, and not what they import or inherit."""

import sys
from pathlib import Path

import pytest

from trunkline.core.declared import classes_in, values_in


class Base:
    name = ""


def test_values_and_classes_of_every_module_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, below = tmp_path / "walked", tmp_path / "walked" / "below"
    below.mkdir(parents=True)
    head = "from tests.unit.core.test_declared import Base\n"
    (home / "__init__.py").write_text("")
    (below / "__init__.py").write_text("")
    (home / "a.py").write_text(head + "class A(Base):\n    name = 'a'\nclass Shared(Base): pass\nnumber = 1\n")
    (below / "b.py").write_text(head + "class B(Base):\n    name = 'b'\nclass Other:\n    name = 'c'\nlater = 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    try:
        found = [kind.__name__ for kind in classes_in([str(home)], "walked", Base, "name")]
        numbers = list(values_in([str(home)], "walked", int))
    finally:
        for module in ("walked", "walked.a", "walked.below", "walked.below.b"):
            sys.modules.pop(module, None)
    assert found == ["A", "B"], "without a mark, of another kind, or imported: Base has a name too"
    assert numbers == [1, 2]

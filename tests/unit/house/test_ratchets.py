"""Figures of the house that may only get better: names, first lines, neighbours, imports, and lines by room.

The ceilings are the figures of the last time that somebody lowered them. `python -m tests.support.house_figures` prints
those of today, and with the name of a measure what it finds.
"""

import ast
from collections.abc import Mapping

import pytest

from tests.support import house_figures
from tests.support.house_figures import (
    begins_badly,
    figures,
    first_lines,
    has_pronoun,
    import_lines,
    is_participle,
    participles_with_effects,
    small_neighbours,
)
from tests.support.sources import PACKAGES
from tools.lines import STATED, as_text, growth, lines_by_room, stated

#: begins, contains: first lines of docstrings with a pronoun for their subject, or anywhere, in percent.
#: participles: functions with effects that are named like a fact. neighbours: small modules with one user beside them.
#: imports: lines of imports, in percent. The aims are 2, 30, 0, 20 in all, and 7.
CEILINGS: dict[str, dict[str, float]] = {
    "core": {"begins": 0.8, "contains": 38.0, "participles": 0, "neighbours": 0, "imports": 7.0},
    "sim": {"begins": 0.5, "contains": 59.8, "participles": 0, "neighbours": 0, "imports": 6.5},
    "app": {"begins": 0, "contains": 59.5, "participles": 0, "neighbours": 0, "imports": 6.0},
}


def above(ceilings: Mapping[str, float], found: Mapping[str, float]) -> list[str]:
    """The figures that got worse."""
    return [
        f"{name}: {found[name]:g}, and at most {most:g}; see python -m tests.support.house_figures {name}"
        for name, most in ceilings.items()
        if found[name] > most
    ]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_figure_gets_worse(package: str) -> None:
    assert above(CEILINGS[package], figures(package)) == []


def test_a_figure_above_its_ceiling_is_found() -> None:
    ceilings = CEILINGS["core"]
    assert above(ceilings, ceilings) == []
    for name, most in ceilings.items():
        [found] = above(ceilings, {**ceilings, name: most + 0.1})
        assert found.startswith(f"{name}: ")


# First lines


@pytest.mark.parametrize("line", ["Its life.", "What a call returned.", "Who asks.", "One request.", "This is it."])
def test_a_subject_that_is_a_pronoun_is_found(line: str) -> None:
    assert begins_badly(line)


@pytest.mark.parametrize("line", ["A request.", "Items of a list.", "Holds the resources.", "Whether it runs."])
def test_another_subject_passes(line: str) -> None:
    assert not begins_badly(line)


def test_a_pronoun_inside_is_found() -> None:
    assert has_pronoun("Whether it runs.")
    assert not has_pronoun("Whether the item of the iterator is done.")


def test_first_lines_are_those_of_modules_classes_and_functions() -> None:
    tree = ast.parse(
        '"""Of a module.\n\nMore."""\nclass C:\n    """Of a class."""\n    def f(self):\n        """Of f."""'
    )
    assert list(first_lines(tree)) == ["Of a module.", "Of a class.", "Of f."]


# Names


@pytest.mark.parametrize("name", ["_completed", "opened", "_once", "said", "_left"])
def test_a_participle_is_found(name: str) -> None:
    assert is_participle(name)


@pytest.mark.parametrize("name", ["record_completed", "read", "put", "_proceed", "feed", "is_opened"])
def test_a_verb_is_no_participle(name: str) -> None:
    assert not is_participle(name)


@pytest.mark.parametrize(
    "effect", ["await other()", "self.events.record(body)", "events.record_drop(1)", "store.submit(x)", "queue.put(1)"]
)
def test_a_participle_with_an_effect_is_found(effect: str) -> None:
    assert participles_with_effects(ast.parse(f"async def _completed(self):\n    {effect}")) == ["_completed"]


@pytest.mark.parametrize(
    "source",
    [
        "def _completed(self):\n    return self.done",
        "async def complete(self):\n    await self.store.write(1)",
        "class C:\n    @property\n    def opened(self):\n        return self.put(1)",
        "class C:\n    @on(Row.Chosen)\n    def chosen(self):\n        self.put(1)",
    ],
)
def test_a_fact_a_verb_and_a_handler_pass(source: str) -> None:
    assert participles_with_effects(ast.parse(source)) == []


def test_a_name_that_people_see_has_its_reason() -> None:
    found = ast.parse("async def acked(trial):\n    await trial.send()")
    assert participles_with_effects(found, "core/testing/adapter_kit/check_inbound.py") == []
    assert participles_with_effects(found, "core/testing/adapter_kit/kit.py") == ["acked"]
    names = {
        (module, node.name)
        for module, _ in house_figures.NAMES_IN_REPORTS
        for node in house_figures.parse(module).body
        if isinstance(node, ast.AsyncFunctionDef)
    }
    assert names >= house_figures.NAMES_IN_REPORTS.keys()


# Modules


def neighbours_of(user: str, lines: int = 79, *, module: str = "core/a/part.py") -> list[str]:
    trees = {
        module: ast.parse("x = 1"),
        user: ast.parse("from trunkline.core.a.part import x"),
        "core/b.py": ast.parse("def late():\n    from trunkline.core.a.part import x"),
    }
    return small_neighbours(trees, dict.fromkeys(trees, lines))


def test_a_small_module_with_one_user_beside_it_is_found() -> None:
    assert neighbours_of("core/a/whole.py") == ["core/a/part.py (79 lines) -> core/a/whole.py"]


@pytest.mark.parametrize("user", ["core/a/b/whole.py", "core/a/__init__.py", "core/c.py"])
def test_a_user_elsewhere_or_a_register_is_no_neighbour(user: str) -> None:
    assert neighbours_of(user) == []


def test_a_longer_module_and_a_shared_one_may_stay() -> None:
    assert neighbours_of("core/a/whole.py", 80) == []
    two = ast.parse("from trunkline.core.a import part")
    trees = {"core/a/part.py": ast.parse("x = 1"), "core/a/one.py": two, "core/a/two.py": two}
    assert small_neighbours(trees, dict.fromkeys(trees, 10)) == []


def test_lines_of_imports_are_counted() -> None:
    source = "import re\nfrom a import (\n    b,\n)\nx = 1\ndef f():\n    import c"
    assert import_lines(ast.parse(source)) == 4


# Lines by room


def test_no_room_is_larger_than_stated() -> None:
    wrong = growth(stated(STATED.read_text()), lines_by_room())
    assert wrong == [], "state what the change is worth: python tools/lines.py"


def test_a_room_that_grew_is_found_and_one_that_shrank_is_not() -> None:
    before = {"core": 10, "core/a": 20}
    assert growth(before, {"core": 10, "core/a": 19}) == []
    assert growth(before, {"core": 10, "core/a": 21}) == ["core/a has 21 lines, and 20 are stated"]
    assert growth(before, {**before, "core/new": 1}) == ["core/new has 1 lines, and 0 are stated"]
    assert growth(before, {"core": 10}) == ["core/a is stated, and there is no such room"]


def test_what_the_tool_writes_is_what_the_test_reads() -> None:
    lines = lines_by_room()
    assert stated(as_text(lines)) == lines
    assert lines["core/adapters"] > 5000

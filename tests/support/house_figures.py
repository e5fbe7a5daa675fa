"""Figures of the source that may only get better: how docstrings begin, how functions are named, how modules are cut.

python -m tests.support.house_figures            the figures of each package
python -m tests.support.house_figures MEASURE    what a measure finds: begins, contains, participles, neighbours
"""

import ast
import functools
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from tests.support.sources import PACKAGES, modules, parse, source_of

#: words that stand for a noun; `one` counts as a numeral too, for which there is an article
PRONOUN = re.compile(r"\b(?:it|its|them|those|these|that|one)\b", re.IGNORECASE)
BEGINNING = re.compile(
    r"(?:it|its|they|their|them|those|these|this|that|one|what|whatever|who|whoever|whom|whose|he|his|she|her|we|our|you"
    r"|your|nobody|somebody|anybody|everybody)\b",
    re.IGNORECASE,
)
_IRREGULAR = """
    apart again begun beside beyond bound came chosen done drawn found given gone heard held kept known later left lost
    made meant once over said seen sent shown taken there told written wrong
"""
#: participles without -ed, and adverbs. `read` and `put` are verbs too, so nothing is wrong with them
IRREGULAR = frozenset(_IRREGULAR.split())
#: verbs and nouns that end like a participle
NOT_PARTICIPLES = frozenset({"embed", "exceed", "feed", "need", "proceed", "seed", "speed", "succeed"})
#: what makes a call an effect: to record an event, to write to the store, to queue something
EFFECTS = frozenset({"put", "record", "submit", "write"})
#: A function whose name is an id that people see: (module, name) -> where.
NAMES_IN_REPORTS = {
    ("core/testing/adapter_kit/check_failures.py", "cancelled"): "a check of the adapter kit",
    ("core/testing/adapter_kit/check_inbound.py", "acked"): "a check of the adapter kit",
    ("core/testing/adapter_kit/check_inbound.py", "unacked"): "a check of the adapter kit",
    ("core/testing/adapter_kit/check_sends.py", "unsupported"): "a check of the adapter kit",
}
#: lines below which a module that one neighbour imports is a part of that neighbour
SMALL = 80
_Function = ast.FunctionDef | ast.AsyncFunctionDef


# First lines


def definitions(node: ast.AST) -> Iterator[ast.AST]:
    """A node and the statements in it, at any depth; expressions define nothing, and are left out."""
    yield node
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.stmt):
            yield from definitions(part)


def first_lines(tree: ast.Module) -> Iterator[str]:
    """The first line of every docstring."""
    for node in definitions(tree):
        if isinstance(node, ast.Module | ast.ClassDef | _Function) and (text := ast.get_docstring(node)):
            yield text.partition("\n")[0]


def begins_badly(line: str) -> bool:
    """Whether the subject of a first line is a pronoun, instead of the thing that the line is about."""
    return BEGINNING.match(line) is not None


def has_pronoun(line: str) -> bool:
    """Whether a pronoun stands anywhere in a first line."""
    return PRONOUN.search(line) is not None


# Names


def is_participle(name: str) -> bool:
    """Whether a name is a single word that says how something is, and not what the function does."""
    word = name.strip("_")
    return word in IRREGULAR or (word.endswith("ed") and "_" not in word and word not in NOT_PARTICIPLES)


def has_effect(node: ast.AST) -> bool:
    """Whether code waits for something, records an event, or writes."""
    return isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith) or (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and (node.func.attr in EFFECTS or node.func.attr.startswith("record_"))
    )


def is_value_or_handler(function: _Function) -> bool:
    """Whether a function is read like a value, or its name or a decorator says when it is called."""
    if function.name.startswith("on_"):
        return True
    marks = [ast.unparse(mark) for mark in function.decorator_list]
    return any("property" in mark or mark.startswith("on(") for mark in marks)


def participles_with_effects(tree: ast.Module, module: str = "") -> list[str]:
    """Functions with effects that are named like a fact: `completed` records, and does not say so."""
    return [
        node.name
        for node in definitions(tree)
        if isinstance(node, _Function)
        and is_participle(node.name)
        and not is_value_or_handler(node)
        and (module, node.name) not in NAMES_IN_REPORTS
        and any(has_effect(part) for part in ast.walk(node))
    ]


# Modules


def imported(tree: ast.Module, known: Iterable[str]) -> set[str]:
    """The modules of the product that a module imports when it is loaded. A late import has a reason to be apart."""
    names = {path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in known}
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            home = node.module.removeprefix("trunkline.")
            found |= {names.get(f"{home}.{alias.name}") or names.get(home) or "" for alias in node.names}
    return found - {""}


def small_neighbours(trees: Mapping[str, ast.Module], lines: Mapping[str, int]) -> list[str]:
    """Small modules that one module of their folder alone imports: parts of that module.

    A package that imports its modules to register or to export them is no such neighbour.
    """
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for module, tree in trees.items():
        for target in imported(tree, trees):
            importers[target].add(module)
    found: list[str] = []
    for module, users in sorted(importers.items()):
        [user, *others] = users
        beside = PurePosixPath(user).parent == PurePosixPath(module).parent and not user.endswith("__init__.py")
        if beside and not others and lines[module] < SMALL and not module.endswith("__init__.py"):
            found.append(f"{module} ({lines[module]} lines) -> {user}")
    return found


def import_lines(tree: ast.Module) -> int:
    """The lines of the imports at the top of a module."""
    imports = (node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom))
    return sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in imports)


# Figures of a package


@functools.cache
def first_lines_of(package: str) -> list[tuple[str, str]]:
    """The first lines of a package, each after its module."""
    return [(module, line) for module in modules(package) for line in first_lines(parse(module))]


def line_count(module: str) -> int:
    return source_of(module).count("\n")


@functools.cache
def all_neighbours() -> list[str]:
    return small_neighbours(
        {module: parse(module) for module in modules()}, {module: line_count(module) for module in modules()}
    )


def begins(package: str) -> list[str]:
    return [f"{module}: {line}" for module, line in first_lines_of(package) if begins_badly(line)]


def contains(package: str) -> list[str]:
    return [f"{module}: {line}" for module, line in first_lines_of(package) if has_pronoun(line)]


def participles(package: str) -> list[str]:
    return [
        f"{module}: {name}" for module in modules(package) for name in participles_with_effects(parse(module), module)
    ]


def neighbours(package: str) -> list[str]:
    return [found for found in all_neighbours() if found.startswith(f"{package}/")]


def share(part: int, whole: int) -> float:
    """A share in percent, with one decimal."""
    return round(100 * part / whole, 1)


def figures(package: str) -> dict[str, float]:
    """The figures of a package: shares in percent, and counts."""
    lines = len(first_lines_of(package))
    imports = sum(import_lines(parse(module)) for module in modules(package))
    return {
        "begins": share(len(begins(package)), lines),
        "contains": share(len(contains(package)), lines),
        "participles": len(participles(package)),
        "neighbours": len(neighbours(package)),
        "imports": share(imports, sum(line_count(module) for module in modules(package))),
    }


MEASURES = {"begins": begins, "contains": contains, "participles": participles, "neighbours": neighbours}

if __name__ == "__main__":
    for package in PACKAGES:
        if len(sys.argv) > 1:
            print(*MEASURES[sys.argv[1]](package), sep="\n")
        else:
            print(package, *(f"{name} {value:g}" for name, value in figures(package).items()), sep="  ")

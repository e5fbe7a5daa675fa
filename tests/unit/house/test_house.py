"""Import arrows, injected effects and ordered iteration, checked on the source. Each rule has a test that it can fail.

Ruff and import-linter check some of this too; here nothing can be switched off by a comment.
"""

import ast
from collections.abc import Iterator

import pytest

from tests.support.for_each import for_each
from tests.support.sources import PACKAGES, offenders, parse

#: The packages that may not be imported, by the package that imports.
FORBIDDEN_ARROWS = {"core": {"sim", "app"}, "sim": {"app"}, "app": set[str]()}

#: Modules that take time, randomness or ids directly, each with its reason.
EFFECTS_ALLOWED = {
    "core/env.py": "the one implementation of Clock, Random and Ids on the real system",
    "sim/attach/toy/gateway.py": "a program of its own, which the simulator only starts",
    "sim/attach/play/servers.py": "a gateway that is not ours lives by the machine's clock",
    "sim/loop/_real_time.py": "a loop in real time is the clock of its run",
}

#: Names banned in core and sim. A module stands for everything in it.
BANNED = {
    *(f"time.{name}" for name in ("time", "monotonic", "perf_counter", "process_time")),
    *(f"time.{name}_ns" for name in ("time", "monotonic", "perf_counter", "process_time")),
    *(f"time.{name}" for name in ("sleep", "localtime", "gmtime", "ctime", "asctime")),
    *(f"datetime.datetime.{name}" for name in ("now", "utcnow", "today")),
    "datetime.date.today",
    "uuid.uuid1",
    "uuid.uuid4",
    "os.urandom",
    "os.getrandom",
    "random",
    "secrets",
}


# Arrows


def imported_modules(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=str(name), level=0):
                yield node.lineno, name
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, name
            case _:
                pass


def wrong_arrows(tree: ast.Module, package: str) -> list[str]:
    """Imports against the arrows, and those by another name than `trunkline.core`, `trunkline.sim`, `trunkline.app`."""
    wrong: list[str] = []
    for line, name in imported_modules(tree):
        top, _, rest = name.partition(".")
        if top in PACKAGES or (top == "trunkline" and rest.partition(".")[0] in FORBIDDEN_ARROWS[package]):
            wrong.append(f"line {line}: {name}")
    return wrong


def test_imports_follow_the_arrows() -> None:
    assert offenders(lambda module: wrong_arrows(parse(module), module.partition("/")[0])) == []


@for_each(
    ("package", "source"),
    [
        ("core", "import trunkline.sim.loop"),
        ("core", "def late():\n    from trunkline.app import cli"),
        ("core", "import trunkline.app"),
        ("core", "from core.config import GatewayConfig"),
        ("app", "import sim"),
        ("core", "import importlib\nimportlib.import_module('trunkline.sim.loop')"),
        ("sim", "from trunkline.app.view import rows"),
    ],
)
def test_a_wrong_arrow_is_found(package: str, source: str) -> None:
    assert wrong_arrows(ast.parse(source), package)


@pytest.mark.parametrize(
    ("package", "source"),
    [("sim", "import trunkline.core"), ("app", "from trunkline.sim import run"), ("core", "import simple")],
)
def test_a_right_arrow_passes(package: str, source: str) -> None:
    assert wrong_arrows(ast.parse(source), package) == []


# Time, randomness and ids


def is_banned(name: str) -> bool:
    return any(name == banned or name.startswith(banned + ".") for banned in BANNED)


def direct_effects(tree: ast.Module, package: str) -> list[str]:
    """Return every use of a banned name, under whatever name it was imported."""
    names: dict[str, str] = {}
    found: list[str] = []
    seeded: set[ast.AST] = set()

    def full_name(node: ast.AST) -> str | None:
        match node:
            case ast.Name(id=name):
                return names.get(name)
            case ast.Attribute(value=value, attr=attr):
                base = full_name(value)
                return f"{base}.{attr}" if base else None
            case _:
                return None

    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                if alias.name == "*" and any(banned.startswith(node.module) for banned in BANNED):
                    found.append(f"line {node.lineno}: from {node.module} import *")

    if not any(banned.partition(".")[0] == name.partition(".")[0] for name in names.values() for banned in BANNED):
        return found
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and full_name(node.func) == "random.Random" and not (node.args or node.keywords):
            found.append(f"line {node.lineno}: random.Random() without a seed")
        if isinstance(node, ast.Attribute):
            seeded.add(node.value)  # judged by the whole dotted name, not by its parts
    for node in ast.walk(tree):
        name = full_name(node)
        if name is None or node in seeded or not is_banned(name):
            continue
        if package == "sim" and name == "random.Random":
            continue
        found.append(f"line {getattr(node, 'lineno', 0)}: {name}")
    return found


def test_time_randomness_and_ids_are_injected() -> None:
    def rule(module: str) -> list[str]:
        return [] if module in EFFECTS_ALLOWED else direct_effects(parse(module), module.partition("/")[0])

    assert offenders(rule, "core", "sim") == []


@for_each(
    "source",
    [
        "import time\ntime.time()",
        "import time as t\nwait = t.monotonic",
        "from time import perf_counter as tick\ntick()",
        "import time\ntime.sleep(1)",
        "from datetime import datetime\ndatetime.now()",
        "import datetime as dt\ndt.datetime.utcnow()",
        "import datetime\ndatetime.date.today()",
        "import random\nrandom.shuffle([])",
        "from random import choice\nchoice([1])",
        "import random\nrandom.Random()",
        "import random\nrandom.SystemRandom()",
        "import uuid\nuuid.uuid4()",
        "from uuid import uuid1\nuuid1()",
        "import os\nos.urandom(8)",
        "import secrets\nsecrets.token_hex()",
        "from time import *",
    ],
)
def test_a_direct_effect_is_found(source: str) -> None:
    assert direct_effects(ast.parse(source), "sim")


def test_a_seeded_generator_is_for_the_simulator_only() -> None:
    tree = ast.parse("import random\nrng = random.Random('seed:7')")
    assert direct_effects(tree, "sim") == []
    assert direct_effects(tree, "core")


@pytest.mark.parametrize(
    "source",
    [
        "def wait(clock):\n    return clock.time()",
        "from datetime import UTC, datetime\ndatetime.fromtimestamp(0, UTC)",
        "import uuid\nuuid.uuid5(uuid.NAMESPACE_URL, 'x')",
    ],
)
def test_what_is_injected_or_computed_passes(source: str) -> None:
    assert direct_effects(ast.parse(source), "core") == []


# Iteration over sets

SET_METHODS = {"union", "intersection", "difference", "symmetric_difference"}
#: Functions whose result does not depend on the order of what they are given.
ORDER_FREE = {"sorted", "set", "frozenset", "any", "all", "sum", "min", "max", "len"}
#: Functions that hand on the order of their argument.
ORDER_KEEPING = {"list", "tuple", "enumerate", "iter", "map", "filter", "zip"}


def is_set(node: ast.expr) -> bool:
    match node:
        case ast.Set() | ast.SetComp() | ast.Call(func=ast.Name(id="set" | "frozenset")):
            return True
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in SET_METHODS:
            return is_set(value)
        case ast.BinOp(left=left, op=ast.BitOr() | ast.BitAnd() | ast.Sub() | ast.BitXor(), right=right):
            return any(is_set(side) or is_keys(side) for side in (left, right))
        case _:
            return False


def is_keys(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "keys"


def unordered_iterations(tree: ast.Module) -> list[str]:
    found: list[str] = []
    order_free: set[ast.AST] = set()
    for node in ast.walk(tree):  # parents come before their children
        iterables: list[ast.expr] = []
        match node:
            case ast.Call(func=ast.Name(id=name), args=args) if name in ORDER_FREE:
                order_free.update(args)
            case ast.Call(func=ast.Name(id=name), args=args) if name in ORDER_KEEPING:
                if node not in order_free:
                    iterables = args
            case ast.Call(func=ast.Attribute(attr="join" | "extend"), args=args):
                iterables = args
            case ast.For(iter=iterable) | ast.AsyncFor(iter=iterable) | ast.YieldFrom(value=iterable):
                iterables = [iterable]
            case ast.ListComp(generators=generators) | ast.GeneratorExp(generators=generators):
                if node not in order_free:
                    iterables = [generator.iter for generator in generators]
            case ast.DictComp(generators=generators):
                iterables = [generator.iter for generator in generators]
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                iterables = [element.value for element in elements if isinstance(element, ast.Starred)]
            case _:
                pass
        found.extend(f"line {iterable.lineno}: {ast.unparse(iterable)}" for iterable in iterables if is_set(iterable))
    return found


def test_sets_are_iterated_in_order() -> None:
    assert offenders(lambda module: unordered_iterations(parse(module)), "core", "sim") == []


@for_each(
    "source",
    [
        "for x in {1, 2}: pass",
        "for x in set(names): pass",
        "for x in frozenset(a) | b: pass",
        "for x in a.keys() & b.keys(): pass",
        "for x in list({1, 2}): pass",
        "for i, x in enumerate(set(names)): pass",
        "for x in {1}.union(b): pass",
        "[x for x in {y for y in z}]",
        "{x: 1 for x in set(names)}",
        "', '.join({'a', 'b'})",
        "[*set(names)]",
    ],
)
def test_an_unordered_iteration_is_found(source: str) -> None:
    assert unordered_iterations(ast.parse(source))


@for_each(
    "source",
    [
        "for x in sorted({1, 2}): pass",
        "for x in [1, 2]: pass",
        "for i in range(a - b): pass",
        "any(x for x in {1, 2})",
        "sorted(x for x in set(names))",
        "sorted(list(set(names)))",
        "{x for x in {1, 2}}",
        "x in {1, 2}",
    ],
)
def test_an_ordered_or_order_free_use_passes(source: str) -> None:
    assert unordered_iterations(ast.parse(source)) == []

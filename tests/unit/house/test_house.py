"""The rules of the house, checked on the source itself. Each rule has a test that shows that it can fail.

Ruff and import-linter check some of this too; here nothing can be switched off by a comment.
"""

import ast
import functools
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PACKAGES = ("core", "sim", "app")
MAX_LINES = 400

#: The packages that may not be imported, by the package that imports.
FORBIDDEN_ARROWS = {"core": {"sim", "app"}, "sim": {"app"}, "app": set[str]()}

#: Modules that take time, randomness or ids directly, each with its reason.
EFFECTS_ALLOWED = {"core/env.py": "the one implementation of Clock, Random and Ids on the real system"}

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

#: What `import core` and `import sim` must not bring in.
HEAVY = ("textual", "rich", "cyclopts", "faker")


def modules(*packages: str) -> list[str]:
    return [
        path.relative_to(ROOT).as_posix() for package in packages for path in sorted((ROOT / package).rglob("*.py"))
    ]


@functools.cache
def parse(module: str) -> ast.Module:
    return ast.parse((ROOT / module).read_text(encoding="utf-8"), module)


# (a) Arrows


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
    forbidden = FORBIDDEN_ARROWS[package]
    return [f"line {line}: {name}" for line, name in imported_modules(tree) if name.partition(".")[0] in forbidden]


@pytest.mark.parametrize("module", modules(*PACKAGES))
def test_imports_follow_the_arrows(module: str) -> None:
    assert wrong_arrows(parse(module), module.partition("/")[0]) == []


@pytest.mark.parametrize(
    ("package", "source"),
    [
        ("core", "import trunkline.sim.loop"),
        ("core", "def late():\n    from app import cli"),
        ("core", "import importlib\nimportlib.import_module('trunkline.sim.loop')"),
        ("sim", "from trunkline.app.view import rows"),
    ],
)
def test_a_wrong_arrow_is_found(package: str, source: str) -> None:
    assert wrong_arrows(ast.parse(source), package)


@pytest.mark.parametrize(
    ("package", "source"), [("sim", "import core"), ("app", "import sim"), ("core", "import simple")]
)
def test_a_right_arrow_passes(package: str, source: str) -> None:
    assert wrong_arrows(ast.parse(source), package) == []


# (b) Time, randomness and ids


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


@pytest.mark.parametrize("module", [m for m in modules("core", "sim") if m not in EFFECTS_ALLOWED])
def test_time_randomness_and_ids_are_injected(module: str) -> None:
    assert direct_effects(parse(module), module.partition("/")[0]) == []


@pytest.mark.parametrize(
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


# (c) Iteration over sets

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


@pytest.mark.parametrize("module", modules("core", "sim"))
def test_sets_are_iterated_in_order(module: str) -> None:
    assert unordered_iterations(parse(module)) == []


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


# (d) Size


def too_long(path: Path) -> bool:
    return len(path.read_text(encoding="utf-8").splitlines()) > MAX_LINES


@pytest.mark.parametrize("module", modules(*PACKAGES))
def test_modules_stay_short(module: str) -> None:
    assert not too_long(ROOT / module)


def test_a_long_module_is_found(tmp_path: Path) -> None:
    module = tmp_path / "long.py"
    module.write_text("x = 1\n" * MAX_LINES)
    assert not too_long(module)
    module.write_text("x = 1\n" * (MAX_LINES + 1))
    assert too_long(module)


# (e) Nothing of one machine in the files


def machine_folders() -> list[str]:
    """Return the folders that only exist on somebody's machine, as patterns; in pieces, not to match this file."""
    folders = [r"home/[\w.-]+", r"Users/[\w.-]+", "ro" + "ot", "wo" + "rk", "opt/(?:py" + "pi|whe" + "els)"]
    for own in (ROOT.parent, Path.home()):
        if len(own.parts) > 2:  # a folder at the very top, such as the one for temporary files, is everybody's
            folders.append(re.escape(own.as_posix().lstrip("/")))
    return folders


INDEX = re.compile(
    "|".join(
        [
            r"\bpy" + r"pi\.org",
            r"python" + r"hosted\.org",
            r"registry\.np" + r"mjs",
            r"deb\.deb" + r"ian\.org",
            "index" + "-url",
            "find" + r"-links[ =]",
            r'"resolved": *"' + "http",
            "/packages/" + r"[0-9a-f]{2}/",
        ]
    )
)
MACHINE_PATH = re.compile(
    r"(?:^|[^A-Za-z0-9_.}])/(?:" + "|".join(machine_folders()) + ")(?:/|\\b(?![\\w-]))", re.MULTILINE
)
FORBIDDEN_FILES = re.compile(r"(^|/)uv\.lock$")


def repository_files() -> list[Path]:
    """Return what is or would be committed; without git, everything but hidden folders."""
    git = ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "-z"]
    try:
        names = subprocess.run(git, capture_output=True, check=True, text=True).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        return [path for path in ROOT.rglob("*") if path.is_file() and not is_hidden(path.relative_to(ROOT))]
    return [path for name in names if name and (path := ROOT / name).is_file()]


def is_hidden(path: Path) -> bool:
    ours = {".ci", ".gitignore", ".gitattributes", ".editorconfig"}
    return any((part.startswith(".") and part not in ours) or part == "__pycache__" for part in path.parts)


def machine_traces(name: str, content: bytes) -> list[str]:
    if FORBIDDEN_FILES.search(name):
        return [f"{name}: must not be committed"]
    if b"\0" in content:
        return []
    text = content.decode("utf-8", errors="replace")
    hits = [hit for pattern in (INDEX, MACHINE_PATH) for hit in pattern.finditer(text)]
    return [f"{name}:{text.count(chr(10), 0, hit.start()) + 1}: {hit.group().strip()}" for hit in hits]


def test_no_file_names_an_index_or_a_machine() -> None:
    files = repository_files()
    assert ROOT / "pyproject.toml" in files
    assert [
        trace for path in files for trace in machine_traces(path.relative_to(ROOT).as_posix(), path.read_bytes())
    ] == []


@pytest.mark.parametrize(
    "text",
    [
        "--index" + "-url somewhere",
        "https://py" + "pi.org/sim" + "ple",
        "url = 'https://files.python" + "hosted.org/x.whl'",
        "open('/ro" + "ot/notes.txt')",
        "see /ho" + "me/somebody/trunkline",
        "see /Us" + "ers/somebody/trunkline",
        "cd /wo" + "rk/main",
        "cd /wo" + "rk",
        "packages at https://host/packages/" + "3f/aa",
    ],
)
def test_a_machine_trace_is_found(text: str) -> None:
    assert machine_traces("notes.md", f"first line\n{text}\n".encode())


def test_a_forbidden_lock_file_is_found() -> None:
    assert machine_traces("uv" + ".lock", b"")


@pytest.mark.parametrize(
    "text", ["/usr/bin/env bash", "https://example.org/wo" + "rk/x", "POST /v1/home", "a/home/b/c", "/workers"]
)
def test_an_ordinary_path_passes(text: str) -> None:
    assert machine_traces("notes.md", text.encode()) == []


# (f) Weight of an import


def heavy_imports(statement: str, folder: Path) -> set[str]:
    """Return which heavy packages a fresh interpreter holds after the statement."""
    code = f"{statement}\nimport sys\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, check=True, text=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("package", ["core", "sim"])
def test_core_and_sim_import_nothing_heavy(package: str) -> None:
    assert heavy_imports(f"import {package}", ROOT) == set()


def test_a_heavy_import_is_found(tmp_path: Path) -> None:
    (tmp_path / "greedy.py").write_text("import rich.text\n")
    assert heavy_imports("import greedy", tmp_path) == {"rich"}


# ---------------------------------------------------------------- bug switches stay in the simulator


def uses_of_wiring(sources: dict[str, str]) -> list[str]:
    """Modules that could put a defect into a gateway: those that name the wiring or install a bug."""
    return sorted(name for name, text in sources.items() if "Wiring" in text or ".install(" in text)


def test_only_the_simulated_process_installs_bug_switches():
    sources = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for package in ("core", "sim", "app")
        for path in (ROOT / package).rglob("*.py")
    }
    outside = [name for name in uses_of_wiring(sources) if not name.startswith("sim/bugs/")]
    assert outside == ["sim/run/gateway_process.py", "sim/run/wiring.py"]


def test_a_bug_switch_elsewhere_would_be_seen():
    assert uses_of_wiring({"core/gateway.py": "from trunkline.sim.run.wiring import Wiring"}) == ["core/gateway.py"]

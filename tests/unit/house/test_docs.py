"""The pages say what the program does: generated parts are fresh, links and commands exist, examples run."""

import ast
import importlib.util
import pkgutil
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import anyio
import pytest
from cyclopts import CycloptsError, MissingArgumentError

from tests.support.paths import ROOT
from trunkline.app.cli.commands import app
from trunkline.core.delivery.states import TRANSITIONS
from trunkline.core.events import BODIES, read_trace
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.gateway import InboundDropped
from trunkline.core.hands.states import DELEGATION_TRANSITIONS
from trunkline.sim import BUGS, INVARIANTS, Status, load_scenario, run_scenario
from trunkline.sim.invariants import CHECKERS

DOCS = ROOT / "docs"
PAGES = [path for path in (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.glob("*.md"))) if path.is_file()]
BY_NAME = [pytest.param(path, id=path.name) for path in PAGES]


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"_{path.stem}_under_test", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


docs = load(ROOT / "tools" / "docs.py")


class Block(NamedTuple):
    language: str
    text: str
    line: int


FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text: str) -> list[Block]:
    return [Block(found[1], found[2], text.count("\n", 0, found.start()) + 2) for found in FENCE.finditer(text)]


def prose(text: str) -> str:
    return FENCE.sub("", text)


# Generated parts


@pytest.mark.parametrize(("path", "fresh"), [pytest.param(*page, id=page[0].name) for page in docs.pages().items()])
def test_generated_parts_are_fresh(path: Path, fresh: str) -> None:
    assert path.read_text("utf-8") == fresh, "stale: run python tools/docs.py"


def test_every_generated_part_stands_on_one_page() -> None:
    names = re.findall(r"<!-- generated: ([\w-]+) -->", "".join(path.read_text("utf-8") for path in PAGES))
    assert sorted(names) == sorted(docs.REGIONS)


def test_a_stale_part_is_found() -> None:
    page = "before\n<!-- generated: delegation-diagram -->\nold\n<!-- end -->\nafter\n"
    fresh = docs.refreshed(page)
    assert fresh != page
    assert fresh.startswith("before\n<!--") and fresh.endswith("<!-- end -->\nafter\n")
    assert docs.refreshed(fresh) == fresh


def test_a_stale_answer_is_found() -> None:
    page = "before\n```console\n$ trunkline explain key main:main\nold\n```\nafter\n"
    fresh = docs.refreshed(page)
    assert "old" not in fresh and "the main session of the agent" in fresh
    assert fresh.startswith("before\n```console\n$ trunkline explain key main:main\n") and fresh.endswith(
        "```\nafter\n"
    )
    assert docs.refreshed(fresh) == fresh


def test_check_reports_stale_pages_and_changes_nothing(monkeypatch, capsys) -> None:
    path = DOCS / "reasons.md"
    monkeypatch.setattr(docs, "pages", lambda: {path: "another text"})
    monkeypatch.setattr(sys, "argv", ["docs.py", "--check"])
    before = path.read_bytes()
    assert docs.main() == 1
    assert "docs/reasons.md: stale" in capsys.readouterr().out
    assert path.read_bytes() == before


def test_every_kind_of_event_is_listed() -> None:
    rows = re.findall(r"^\| `([a-z_.]+)` \|", docs.event_table(), re.MULTILINE)
    assert sorted(rows) == sorted(BODIES)


def test_diagrams_have_every_state() -> None:
    for diagram, table in (
        (docs.intent_diagram(), TRANSITIONS),
        (docs.delegation_diagram(), DELEGATION_TRANSITIONS),
    ):
        assert all(re.search(rf"\b{state.value}\b", diagram) for state in table)


@pytest.mark.parametrize("checker", CHECKERS, ids=INVARIANTS)
def test_every_invariant_has_its_section(checker) -> None:
    assert f"\n### {checker.id} {checker.title}\n" in (DOCS / "invariants.md").read_text("utf-8")


# Links


LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def anchors(path: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", FENCE.sub("", path.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def dead_links(path: Path, text: str) -> Iterator[str]:
    for target in LINK.findall(prose(text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            yield target


@pytest.mark.parametrize("path", BY_NAME)
def test_relative_links_resolve(path: Path) -> None:
    assert list(dead_links(path, path.read_text("utf-8"))) == []


@pytest.mark.parametrize("target", ["nowhere.md", "invariants.md#no-such-head", "#no-such-head", "../core/none.py"])
def test_a_dead_link_is_found(target: str) -> None:
    assert list(dead_links(DOCS / "invariants.md", f"see [this]({target})")) == [target]


# Commands


SHELL = {"", "sh", "bash", "shell", "console"}
COMMANDS = {name for name in app if not name.startswith("-")}
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
VARIABLES = set(re.findall(r"^([A-Z]+) \?=", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def commands(text: str) -> Iterator[list[str]]:
    """Every `trunkline ...` and `make ...` of a page, in shell blocks and in running text."""
    lines = [line for block in blocks(text) if block.language in SHELL for line in block.text.splitlines()]
    lines += re.findall(r"`((?:trunkline|make)(?: [^`]*)?)`", prose(text))
    for line in lines:
        for part in re.split(r"&&|\|\|?|;", line):
            found = re.match(r"\s*(?:[$!] |\w+=\S* )*((?:\S*/)?(?:trunkline|make)(?: .*)?)$", part)
            if found is not None:
                program, *words = shlex.split(found[1], comments=True)
                yield [Path(program).name, *words]


def complaint(command: list[str]) -> str | None:
    """What is wrong with a command, if anything."""
    program, *words = command
    if program == "make":
        wrong = [word for word in words if word.partition("=")[0] not in (VARIABLES if "=" in word else TARGETS)]
        return f"make knows no {', '.join(wrong)}" if wrong else None
    if (
        words
        and not words[0].startswith("-")
        and words[0] not in COMMANDS
        and not re.search(r"[./]|^[A-Z]+$", words[0])
    ):
        return f"no command {words[0]}"
    try:
        app.parse_args(words, exit_on_error=False, print_error=False)
    except MissingArgumentError:
        return None  # `trunkline run --trace`, in running text
    except CycloptsError as error:
        return str(error)
    return None


@pytest.mark.parametrize("path", BY_NAME)
def test_commands_exist(path: Path) -> None:
    found = [(command, complaint(command)) for command in commands(path.read_text("utf-8"))]
    assert [(shlex.join(command), wrong) for command, wrong in found if wrong] == []


@pytest.mark.parametrize(
    "line", ["trunkline fly", "trunkline run x.yaml --fly", "make fly", "make env FLY=1", "trunkline replay --seed 1 x"]
)
def test_a_wrong_command_is_found(line: str) -> None:
    for page in (f"```sh\n$ X=1 {line}  # as shown\n```\n", f"say `{line}` and see"):
        assert [complaint(command) for command in commands(page)] != [None]


@pytest.mark.parametrize(
    "line",
    ["trunkline", "trunkline run scenarios/ --junit report.xml", "trunkline a.yaml", "make", "make test ARGS=-x"],
)
def test_a_right_command_passes(line: str) -> None:
    assert [complaint(command) for command in commands(f"```sh\n{line}\n```\n")] == [None]


# Paths


ABSOLUTE = re.compile(
    r"(?:^|[\s`\"'(=:])(?:~?/(?:bin|etc|home|mnt|opt|private|root|srv|tmp|usr|Users|var|wo" + r"rk)\b|[A-Z]:\\|\.\./sha"
    r"red|file:/)",
    re.MULTILINE,
)


@pytest.mark.parametrize(
    "path", [*BY_NAME, *(pytest.param(path, id=path.name) for path in sorted((DOCS / "examples").glob("*.py")))]
)
def test_no_page_names_a_path_of_a_machine(path: Path) -> None:
    assert ABSOLUTE.findall(path.read_text("utf-8")) == []


@pytest.mark.parametrize("text", ["in /tmp/x", "`/usr/bin/python`", "C:\\x", "see ../sha" + "red/x", "(file:/x)"])
def test_a_path_of_a_machine_is_found(text: str) -> None:
    assert ABSOLUTE.search(text)


# Modules and terms that pages name


PATH = re.compile(r"(?<![\w/.:-])(?:[\w-]+/)*[\w-]+\.(?:py|sql|tcss|sh)\b")


def missing_files(text: str) -> list[str]:
    """Paths that exist neither in the clone nor beside the pages or examples. `NAME` is a placeholder for a name."""
    paths = sorted(path for path in set(PATH.findall(text)) if "NAME" not in path)
    return [path for path in paths if not any((base / path).exists() for base in (ROOT, DOCS, DOCS / "examples"))]


def unknown_names(text: str) -> list[str]:
    """Dotted names that cannot be imported; `core.X` is short for `trunkline.X`, a name of the front door."""
    found = []
    for name in sorted(
        set(re.findall(r"`(trunkline\.[\w.]+|core\.[A-Z]\w+)", text)) - {"trunkline.db", "trunkline.db.lock"}
    ):
        try:
            pkgutil.resolve_name(name.replace("core.", "trunkline.", 1) if name.startswith("core.") else name)
        except (ImportError, AttributeError):
            found.append(name)
    return found


@pytest.mark.parametrize("path", BY_NAME)
def test_modules_that_a_page_names_exist(path: Path) -> None:
    text = docs.without_generated(path.read_text("utf-8"))
    assert (missing_files(text), unknown_names(text)) == ([], [])


def test_a_missing_module_is_found() -> None:
    assert missing_files("see `core/shell/intake.py`, `intake.py` and core/gateway.py") == [
        "core/shell/intake.py",
        "intake.py",
    ]
    assert unknown_names("`trunkline.core.nowhere`, `core.Nothing`, `core.Gateway` and `trunkline.core.env.Env`") == [
        "core.Nothing",
        "trunkline.core.nowhere",
    ]


CLASS = re.compile(r"(?<![.\w])[A-Z][a-z]+(?:[A-Z][a-z]+)+\b")


def unknown_classes(text: str, known: set[str]) -> list[str]:
    """Names of two or more capitalised words, in code spans, that no module of ours declares."""
    spans = re.findall(r"`([^`\n]+)`", prose(text))
    return sorted({name for span in spans for name in CLASS.findall(span)} - known)


@pytest.mark.parametrize("path", [path for path in BY_NAME if path.id not in ("CHANGELOG.md", "keys.md")])
def test_classes_that_a_page_names_exist(path: Path, classes: set[str]) -> None:
    assert unknown_classes(docs.without_generated(path.read_text("utf-8")), classes) == []


@pytest.fixture(scope="module")
def classes() -> set[str]:
    sources = [path for package in ("core", "sim", "app") for path in (ROOT / package).rglob("*.py")]
    return {name for path in sources for name in re.findall(r"^class (\w+)", path.read_text("utf-8"), re.MULTILINE)}


def test_an_unknown_class_is_found() -> None:
    assert unknown_classes("a `Gateway`, a `Gateway.run()` and `RouteRule(agent=...)`", {"Gateway"}) == ["RouteRule"]


def test_the_architecture_page_lists_every_folder_of_the_packages() -> None:
    page = (DOCS / "architecture.md").read_text("utf-8")
    folders = [
        f"{package}/{path.name}/"
        for package in ("core", "sim", "app", "tests")
        for path in sorted((ROOT / package).iterdir())
        if path.is_dir() and path.name != "__pycache__" and any(path.rglob("*.py"))
    ]
    assert [name for name in folders if f"| `{name}` |" not in page] == []
    listed = re.findall(r"^\| `((?:core|sim|app|tests)/\w+/)` \|", page, re.MULTILINE)
    assert [name for name in listed if not (ROOT / name).is_dir()] == []


GLOSSARY = DOCS / "glossary.md"
TERMS = re.findall(r"^\*\*([a-z ]+)\*\*: ", GLOSSARY.read_text("utf-8"), re.MULTILINE)


def test_every_term_of_the_glossary_is_explained_once_and_used() -> None:
    pages = [path.read_text("utf-8").lower() for path in PAGES if path.name not in ("glossary.md", "CHANGELOG.md")]
    unused = [term for term in TERMS if not any(re.search(rf"\b{term}(s|es)?\b", page) for page in pages)]
    assert (unused, len(TERMS)) == ([], len(set(TERMS)))
    assert len(TERMS) >= 48


@pytest.mark.parametrize(
    "path", [path for path in BY_NAME if path.id not in ("glossary.md", "CHANGELOG.md", "keys.md")]
)
def test_every_page_links_to_the_glossary(path: Path) -> None:
    assert "glossary.md" in path.read_text("utf-8")


# Examples


PYTHON = [
    pytest.param(path, block, id=f"{path.name}:{block.line}")
    for path in PAGES
    for block in blocks(path.read_text("utf-8"))
    if block.language == "python"
]


@pytest.mark.parametrize(("path", "block"), PYTHON)
def test_python_examples_compile_and_their_imports_work(path: Path, block: Block, monkeypatch) -> None:
    monkeypatch.syspath_prepend(DOCS / "examples")
    compile(block.text, f"{path.name}:{block.line}", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    imports = [node for node in ast.parse(block.text).body if isinstance(node, ast.Import | ast.ImportFrom)]
    exec(compile(ast.Module([*imports], []), path.name, "exec"), {})


def only_block(page: str, language: str, word: str) -> Block:
    (found,) = [b for b in blocks((DOCS / page).read_text("utf-8")) if b.language == language and word in b.text]
    return found


@pytest.fixture
def twice(tmp_path: Path) -> Path:
    path = tmp_path / "twice.yaml"
    path.write_text(only_block("catching-a-bug.md", "yaml", "scenario: 1").text, "utf-8")
    return path


def test_the_gateway_of_the_readme_answers_once(tmp_path: Path, monkeypatch, capsys) -> None:
    (block,) = (block for block in blocks((ROOT / "README.md").read_text("utf-8")) if block.language == "python")
    monkeypatch.syspath_prepend(DOCS / "examples")
    monkeypatch.chdir(tmp_path)
    for printed in ("['HELLO']", "[]"):
        exec(compile(block.text, "README.md", "exec"), {})
        assert capsys.readouterr().out.strip() == printed
        assert f"prints `{printed}`" in (ROOT / "README.md").read_text("utf-8")


def test_the_scenario_of_the_how_to_holds_and_catches_its_bug(twice: Path) -> None:
    file = load_scenario(twice, known_bugs=BUGS, known_invariants=INVARIANTS)
    assert run_scenario(file).holds
    (bug,) = file.scenario.bugs
    broken = [v.id for v in run_scenario(file, bugs=[bug]).verdicts if v.status is Status.VIOLATED]
    assert broken == list(file.scenario.breaks)


def test_the_report_of_the_how_to_shows_both_violations() -> None:
    report = docs.how_to_report()
    assert report.startswith("```\n✗ twice ") and "violated: D1 D4" in report
    assert report.count("← first wrong step") == 2
    assert report.endswith("\n```\n")


def test_the_python_of_the_how_to_runs(twice: Path, monkeypatch) -> None:
    monkeypatch.chdir(twice.parent)
    monkeypatch.setitem(BUGS, "mine", BUGS["silent-drops"])
    exec(only_block("catching-a-bug.md", "python", "my_recover").text, {"__name__": "how_to"})


def test_the_sweep_of_the_simulation_page_runs(monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    exec(only_block("simulation.md", "python", "CrashAt").text, {})


def test_the_echo_example_drops_after_a_restart_the_message_that_it_answered(tmp_path: Path) -> None:
    folder = shutil.copytree(DOCS / "examples", tmp_path / "examples")
    echo = load(folder / "echo.py")
    with anyio.from_thread.start_blocking_portal("asyncio") as portal:
        first = portal.call(within_five_seconds, echo.main, tmp_path)
        second = portal.call(within_five_seconds, echo.main, tmp_path)
    assert first == ["Ana said: hello", "Ana said: is anybody there?"]
    assert second == ["Ana said: is anybody there?"]
    one, two = (read_trace(tmp_path / f"process-{n}.jsonl", whole=False).events for n in (1, 2))
    assert [e.body.state for e in one if isinstance(e.body, IntentSettled)] == ["delivered", "delivered"]
    assert [e.body.reason for e in two if isinstance(e.body, InboundDropped)] == ["duplicate-message"] * 2


def test_the_check_example_runs_and_its_adapter_keeps_the_contract(tmp_path: Path, monkeypatch) -> None:
    folder = shutil.copytree(DOCS / "examples", tmp_path / "examples")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setitem(sys.modules, "echo", load(folder / "echo.py"))
    report = anyio.run(load(folder / "check_adapter.py").main)
    report.raise_for_failures()
    passed = {check.id for check in report.checks if check.verdict == "passed"}
    assert passed >= {"send", "same-key", "too-long", "unsupported", "nowhere", "side-by-side", "inbound", "unacked"}
    assert "lost-response" in {check.id for check in report.not_tried}


async def within_five_seconds(main, folder: Path) -> list[str]:
    with anyio.fail_after(5):
        return await main(folder)

"""The generated parts of the pages are fresh, their links resolve, and the commands in them exist."""

import re
import shlex
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from cyclopts import CycloptsError, MissingArgumentError

from tests.support.for_each import for_each
from tests.support.pages import BY_NAME, DOCS, FENCE, PAGES, blocks, prose
from tests.support.paths import ROOT
from tools import docs
from trunkline.app.cli.commands import app
from trunkline.core.events import BODIES
from trunkline.core.states.delegation import CALLBACK_TRANSITIONS, WORK_TRANSITIONS
from trunkline.core.states.intent import TRANSITIONS
from trunkline.sim import INVARIANTS
from trunkline.sim.invariants import CHECKERS

# Generated parts


@for_each(("path", "make"), [pytest.param(*page, id=page[0].name) for page in docs.generated().items()])
def test_generated_parts_are_fresh(path: Path, make: Callable[[], str]) -> None:
    assert path.read_text("utf-8") == make(), "stale: run python tools/docs.py"


def test_every_generated_part_stands_on_one_page() -> None:
    names = re.findall(r"<!-- generated: ([\w-]+) -->", "".join(path.read_text("utf-8") for path in PAGES))
    assert sorted(names) == sorted(docs.REGIONS)


def test_a_stale_part_is_found() -> None:
    page = "before\n<!-- generated: work-diagram -->\nold\n<!-- end -->\nafter\n"
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
    monkeypatch.setattr(docs, "generated", lambda: {path: lambda: "another text"})
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
        (docs.work_diagram(), WORK_TRANSITIONS),
        (docs.callback_diagram(), CALLBACK_TRANSITIONS),
    ):
        assert all(re.search(rf"\b{state.value}\b", diagram) for state in table)


@for_each("checker", CHECKERS, ids=INVARIANTS)
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


@for_each("path", BY_NAME)
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
    lines = [
        line
        for block in blocks(text)
        if block.language in SHELL
        for line in block.text.replace("\\\n", "").splitlines()
    ]
    lines += re.findall(r"`((?:trunkline|make)(?: [^`]*)?)`", prose(text))
    for line in lines:
        for part in re.split(r"&&|\|\|?|;| > ", line):
            found = re.match(r"\s*(?:[$!] |\w+=\S* )*((?:\S*/)?(?:trunkline|make)(?: .*)?)$", part)
            if found is not None:
                program, *words = shlex.split(found[1], comments=True)
                yield [Path(program).name, *words]


@cache
def complaint(*command: str) -> str | None:
    """What is wrong with a command, if anything. Many are on several pages."""
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


@for_each("path", BY_NAME)
def test_commands_exist(path: Path) -> None:
    found = [(command, complaint(*command)) for command in commands(path.read_text("utf-8"))]
    assert [(shlex.join(command), wrong) for command, wrong in found if wrong] == []


@pytest.mark.parametrize(
    "line", ["trunkline fly", "trunkline run x.yaml --fly", "make fly", "make env FLY=1", "trunkline replay --seed 1 x"]
)
def test_a_wrong_command_is_found(line: str) -> None:
    for page in (f"```sh\n$ X=1 {line}  # as shown\n```\n", f"say `{line}` and see"):
        assert [complaint(*command) for command in commands(page)] != [None]


@pytest.mark.parametrize(
    "line",
    ["trunkline", "trunkline run scenarios/ --junit report.xml", "trunkline a.yaml", "make", "make test ARGS=-x"],
)
def test_a_right_command_passes(line: str) -> None:
    assert [complaint(*command) for command in commands(f"```sh\n{line}\n```\n")] == [None]


# What replaces the editable install of a clone


COPYING = re.compile(r"\bpip install (?![^`\n]*(?:--editable|-e) )(?:[^`\n]* )?['\"]?\.(?:\[|['\"`\s]|$)", re.MULTILINE)


@for_each("path", BY_NAME)
def test_no_page_puts_a_copy_in_place_of_the_clone(path: Path) -> None:
    assert COPYING.findall(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "command", ["pip install '.[http]'", "`pip install .`", 'uv pip install --quiet ".[http]"  # here']
)
def test_a_copying_install_is_found(command: str) -> None:
    assert COPYING.search(f"first {command}\n")


@pytest.mark.parametrize(
    "command", ["pip install --editable '.[http]'", "pip install -e .", "pip install '/path/clone[http]'"]
)
def test_an_install_that_links_passes(command: str) -> None:
    assert not COPYING.search(f"first {command}\n")


# Paths


#: all but those that the systemd unit makes
ABSOLUTE = re.compile(
    r"(?:^|[\s`\"'(=:])(?:(?!/(?:opt|var/lib)/trunkline\b)~?/(?:bin|etc|home|mnt|opt|private|root|srv|tmp|usr|Users|var|wo"
    + r"rk)\b|[A-Z]:\\|\.\./sha"
    r"red|file:/)",
    re.MULTILINE,
)


@for_each("path", [*BY_NAME, *(pytest.param(path, id=path.name) for path in sorted((DOCS / "examples").glob("*.py")))])
def test_no_page_names_a_path_of_a_machine(path: Path) -> None:
    assert ABSOLUTE.findall(path.read_text("utf-8")) == []


@pytest.mark.parametrize("text", ["in /tmp/x", "`/usr/bin/python`", "C:\\x", "see ../sha" + "red/x", "(file:/x)"])
def test_a_path_of_a_machine_is_found(text: str) -> None:
    assert ABSOLUTE.search(text)

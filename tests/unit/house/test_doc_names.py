"""The modules, classes, folders and terms that pages name exist, and every page links to the glossary."""

import builtins
import pkgutil
import re
from pathlib import Path

import pytest

from tests.support.for_each import for_each
from tests.support.pages import BY_NAME, DOCS, PAGES, prose
from tests.support.paths import ROOT
from tools import docs

#: where the files that pages name may be
BASES = (ROOT, DOCS, DOCS / "examples", DOCS / "examples" / "agents")
PATH = re.compile(r"(?<![\w/.:-])(?:[\w-]+/)*[\w-]+\.(?:py|sql|tcss|sh)\b")


def missing_files(text: str) -> list[str]:
    """Paths that exist neither in the clone nor beside the pages or examples, and that the reader does not write.

    `NAME` is a placeholder for a name.
    """
    saved = set(re.findall(r"\bSave it as\s+`([^`]+)`:", text))
    paths = sorted(path for path in set(PATH.findall(text)) - saved if "NAME" not in path)
    return [path for path in paths if not any((base / path).exists() for base in BASES)]


def unknown_names(text: str) -> list[str]:
    """Dotted names in code spans that cannot be imported. Packages are named by their import name."""
    found = re.findall(r"`((?:core|sim|app)\.[A-Za-z]\w+)`", text)
    for name in sorted(
        set(re.findall(r"`(trunkline\.[\w.]+)", text)) - {"trunkline.db", "trunkline.db.lock", "trunkline.plugins"}
    ):
        try:
            pkgutil.resolve_name(name)
        except (ImportError, AttributeError):
            found.append(name)
    return found


@for_each("path", BY_NAME)
def test_modules_that_a_page_names_exist(path: Path) -> None:
    text = docs.without_generated(path.read_text("utf-8"))
    assert (missing_files(text), unknown_names(text)) == ([], [])


def test_a_missing_module_is_found() -> None:
    assert missing_files("see `core/shell/intake.py`, `intake.py` and core/gateway.py") == [
        "core/shell/intake.py",
        "intake.py",
    ]
    assert unknown_names("`trunkline.core.nowhere`, `core.Gateway`, `trunkline.Gateway`, `trunkline.core.env.Env`") == [
        "core.Gateway",
        "trunkline.core.nowhere",
    ]


CLASS = re.compile(r"(?<![.\w])[A-Z][a-z]+(?:[A-Z][a-z]+)+\b")


def unknown_classes(text: str, known: set[str]) -> list[str]:
    """Names of two or more capitalised words, in code spans, that neither a module of ours nor Python declares."""
    spans = re.findall(r"`([^`\n]+)`", prose(text))
    return sorted(
        {name for span in spans for name in CLASS.findall(span)} - known - set(dir(builtins)) - {"CancelledError"}
    )


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


@for_each("path", [path for path in BY_NAME if path.id not in ("glossary.md", "CHANGELOG.md", "keys.md")])
def test_every_page_links_to_the_glossary(path: Path) -> None:
    assert "glossary.md" in path.read_text("utf-8")

"""The page for operators: it has a row for each alarm that a gateway can give, and names nothing that there is not."""

import ast
import functools
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

from tests.support.pages import DOCS
from tests.support.paths import ROOT
from tools.doc_http import HTTP_TABLE
from trunkline.core.events import EventLog
from trunkline.core.http.metrics import Metrics

PAGE = (DOCS / "operating.md").read_text("utf-8")
WATCHED, ALARMS = (
    PAGE.split("\n## What each alarm means\n")[0],
    PAGE.split("\n## What each alarm means\n")[1].split("\n## ")[0],
)
#: where a process writes its log, and what it says at its end
LOGGING = ("app/serve", "core/http")
SAYING = (*LOGGING, "app/cli", "core/errors.py", "core/store/sqlite")
_PLACEHOLDER = re.compile(r"%[-+0-9.]*[a-z]|\{[^{}]*\}")
#: no alarms: operators have caused them, or the text is the whole entry and was looked at where it is made
_OPERATORS = {
    "X again: stopping at once",
    "the configuration was not reloaded: the server is starting, ask again once it serves",
    "the store: X",
}


def files(folders: tuple[str, ...]) -> Iterator[ast.Module]:
    for folder in folders:
        path = ROOT / folder
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            yield ast.parse(file.read_text("utf-8"))


def text_of(node: ast.expr) -> str | None:
    """A text with X for all that is filled in; none: it is no text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _PLACEHOLDER.sub("X", node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join((text_of(part) or "") if isinstance(part, ast.Constant) else "X" for part in node.values)
    return None


def texts(tree: ast.AST) -> dict[str, str]:
    """The texts that names stand for."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and (text := text_of(node.value)):
            found[node.targets[0].id] = text
    return found


def alarms() -> set[str]:
    """What the log says at the levels `warning` and `error`."""
    found = set[str]()
    for tree in files(LOGGING):
        names = texts(tree)
        for node in ast.walk(tree):
            said: ast.expr | None = None
            if isinstance(node, ast.Call) and node.args:
                of = node.func.value if isinstance(node.func, ast.Attribute) else None
                if isinstance(of, ast.Name) and of.id in ("LOG", "LOGGER") and node.func.attr in ("warning", "error"):  # type: ignore[union-attr]
                    said = node.args[0]
                elif (
                    isinstance(node.func, ast.Name)
                    and node.func.id == "_says"
                    and "INFO" not in ast.unparse(node.args[0])
                ):
                    said = node.args[1]
            elif (
                isinstance(node, ast.Tuple)
                and len(node.elts) == 2
                and re.search("_(WARNING|ERROR)|level", ast.unparse(node.elts[0]))
            ):
                said = node.elts[1]
            if said is not None:
                text = names.get(said.id) if isinstance(said, ast.Name) else text_of(said)
                found |= {text} if text else set()
    return found - _OPERATORS


def quoted(column: int = 0) -> list[str]:
    """What the page quotes in the first column of its tables of alarms."""
    rows = [line.split(" | ") for line in ALARMS.splitlines() if line.startswith("| ")]
    cells = [row[column].removeprefix("| ") for row in rows if not row[0].startswith(("| ---", "| you see"))]
    return [words for cell in cells for words in re.findall(r"`([^`]+)`", cell)]


def means(words: str, text: str) -> bool:
    """Whether a quotation is of a text; `...` and N stand for what is filled in, of which it may also be an example."""
    if _quotation(words).search(text):
        return True
    if not words.startswith(text.partition("X")[0]):
        return False  # Most texts: a pattern of each, for each quotation, would take seconds.
    example = re.sub("X+", ".*", re.escape(text))
    return len(example) > 15 and bool(re.fullmatch(example, words))


@functools.cache
def _quotation(words: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\.\\\.\\\.|\bN\b", ".*", re.escape(words)))


def test_the_log_has_alarms() -> None:
    assert len(alarms()) > 20
    assert "the store refused a write, tried again in X s: X" in alarms()


def test_each_alarm_of_the_log_has_a_row() -> None:
    missing = {alarm for alarm in alarms() if not any(means(words, alarm) for words in quoted())}
    assert missing == set()


def test_what_a_row_quotes_is_said() -> None:
    said = {
        text
        for tree in files(SAYING)
        for node in ast.walk(tree)
        if isinstance(node, ast.expr) and (text := text_of(node))
    }
    known = {*HTTP_TABLE, "LimitNOFILE"}
    stale = [words for words in quoted() if words not in known and not any(means(words, text) for text in said)]
    assert stale == []


def test_what_is_watched_is_measured() -> None:
    gateway = SimpleNamespace(serving=True, load=(0, 0))
    metrics = Metrics(EventLog(lambda: 0.0), cast("Any", gateway), cast("Any", None), started=0.0)
    families = {family.name: getattr(family, "labels", ()) for family in metrics.families()}
    named = re.findall(r"`(trunkline_\w+)(?:\{(\w+)=)?", WATCHED)
    assert len(named) > 6
    for name, label in named:
        assert name in families, name
        assert not label or label in families[name], (name, label)

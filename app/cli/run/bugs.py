"""``trunkline bugs`` and ``trunkline invariants``: the bug switches, and the promises that they break.

The list of our switches is made by `tools/docs.py`: no defect is imported to list them.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from trunkline.app.cli.options import DEFAULT_PLUGINS, PluginOptions
from trunkline.app.terminal.output import print_json, print_lines
from trunkline.app.text.cells import clean
from trunkline.core.errors import UsageError

#: the list, beside this module
LIST = Path(__file__).with_name("bugs.json")


def print_bugs(*words: str, plugins: PluginOptions = DEFAULT_PLUGINS, json: bool = False) -> int:
    """List the bug switches: named defects that the simulated gateway can be given.

    :param words: Only those with all of these words in what is known about them: name, defect, invariants, public
        reports, scenarios, plug-in, what people notice (`twice`, `lost`, `late`, `wrong place`, `leaked`, `forgot`,
        `unasked`).
    :param json: Print JSON.
    """
    known: list[dict[str, Any]] = msgspec.json.decode(LIST.read_bytes())
    if plugins.there:
        from trunkline.app.runs.known_defects import KnownDefect

        own = (bug for bug in plugins.toolbox.bugs.values() if bug.origin)
        known += [KnownDefect(bug=bug, shown_by=()).as_builtins() for bug in own]
    return _print(known, words, "bug", "bug switch", _bug_lines, json=json)


def print_invariants(*words: str, plugins: PluginOptions = DEFAULT_PLUGINS, json: bool = False) -> int:
    """List the invariants: the promises that every run is judged by.

    :param words: Only those with all of these words in id, title, promise, plug-in and the bug switches that break
        them.
    :param json: Print JSON.
    """
    tools = plugins.toolbox
    known = [
        {
            "id": checker.id,
            "title": checker.title,
            "sentence": checker.sentence,
            "bugs": [bug.name for bug in tools.bugs.values() if checker.id in bug.caught_by],
            **({"origin": checker.origin} if checker.origin else {}),
        }
        for checker in tools.checkers
    ]
    return _print(known, words, "id", "invariant", _title, json=json)


def _bug_lines(defect: dict[str, Any]) -> tuple[str, str]:
    reports = f"  ({', '.join(defect['reports'])})" if defect["reports"] else ""
    return f"caught by {', '.join(defect['caught_by'])}{reports}", defect["sentence"]


def _print(
    known: Sequence[dict[str, Any]], words: Sequence[str], name: str, what: str, lines: Any, *, json: bool
) -> int:
    """Print the rows that have all of the words."""
    texts = (" ".join(map(str, row.values())).lower() for row in known)
    found = [row for row, text in zip(known, texts, strict=True) if all(word.lower() in text for word in words)]
    if json:
        print_json(msgspec.json.encode(found).decode())
        return 0
    if not found:
        raise UsageError(f"no {what} has all of these words: {' '.join(words)}")
    print_lines(*_table(found, name, lines))
    return 0


def _table(found: Sequence[dict[str, Any]], name: str, lines: Any) -> Iterator[str]:
    width = max(len(row[name]) for row in found)
    for row in found:
        first, second = lines(row)
        yield clean(f"{row[name]:<{width}}  {first}{_origin(row)}")
        yield clean(f"{'':<{width}}  {second}")


def _origin(row: dict[str, Any]) -> str:
    return f"  (plug-in {row['origin']})" if "origin" in row else ""


def _title(row: dict[str, Any]) -> tuple[str, str]:
    return row["title"], row["sentence"]

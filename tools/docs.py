"""Writes the generated parts of the pages from the code.

    python tools/docs.py            rewrite the text between `<!-- generated: NAME -->` and `<!-- end -->`, and the
                                    output of `$ trunkline explain ...` in ```console blocks, and the titles of
                                    invariants in their headings; and the JSON Schemas of scenario files
                                    and of gateway profiles
    python tools/docs.py --check    change nothing; list stale pages, and exit with 1 if there are any

The texts come from the tables and docstrings of the code, so a page cannot contradict the program.
"""

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from unittest import mock

from cyclopts import App

from tools.doc_actions import actions_table, channel_actions_table
from tools.doc_attach import profile_reference, slots_table, toy_defects_table
from tools.doc_catalogue import (
    bugs_list,
    bugs_table,
    event_table,
    invariants_table,
    reasons_table,
    screens_table,
    symptoms_table,
    types_table,
    wire_side_table,
)
from tools.doc_chat import closes_table, frames_table
from tools.doc_decisions import (
    binding_diagram,
    callback_diagram,
    channels_table,
    failures_table,
    intent_diagram,
    recovery_table,
    work_diagram,
)
from tools.doc_http import endpoints_table, limits_table, metrics_table, problems_table
from tools.doc_platforms import promises_table
from tools.doc_scenarios import agents_reference, fields_reference, platforms_reference, serve_reference
from tools.doc_text import ROOT
from trunkline.app.cli import stored_help
from trunkline.app.cli.commands import app, dispatch
from trunkline.app.cli.schema import gateway_schema_text, profile_schema_text
from trunkline.core.errors import UsageError
from trunkline.sim.invariants import CHECKERS
from trunkline.sim.scenario import schema_text

DOCS = ROOT / "docs"
_REGION = re.compile(r"(<!-- generated: (?P<name>[\w-]+) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL)
_CONSOLE = re.compile(r"```console\n(?P<command>\$ trunkline explain [^\n]*)\n.*?```", re.DOTALL)
_HOW_TO = re.compile(r"```yaml\n(scenario: [0-9]\n.*?)```", re.DOTALL)


def how_to_report() -> str:
    """What `trunkline run twice.yaml --bug recovery-resends-blindly` prints for the scenario of the how-to."""
    found = _HOW_TO.search((DOCS / "catching-a-bug.md").read_text("utf-8"))
    assert found is not None
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("twice.yaml").write_text(found[1], "utf-8")
        return f"```\n{_printed(['run', 'twice.yaml', '--bug', 'recovery-resends-blindly'])}```\n"


REGIONS: dict[str, Callable[[], str]] = {
    "intent-diagram": intent_diagram,
    "work-diagram": work_diagram,
    "callback-diagram": callback_diagram,
    "binding-diagram": binding_diagram,
    "recovery-table": recovery_table,
    "failures-table": failures_table,
    "reasons-table": reasons_table,
    "bugs-table": bugs_table,
    "invariants-table": invariants_table,
    "wire-side-table": wire_side_table,
    "event-table": event_table,
    "types-table": types_table,
    "channels-table": channels_table,
    "screens-table": screens_table,
    "actions-table": actions_table,
    "channel-actions-table": channel_actions_table,
    "http-chat-closes": closes_table,
    "http-chat-frames": frames_table,
    "http-endpoints": endpoints_table,
    "http-limits": limits_table,
    "http-metrics": metrics_table,
    "http-problems": problems_table,
    "platform-promises": promises_table,
    "how-to-report": how_to_report,
    "scenario-fields": fields_reference,
    "agent-fields": agents_reference,
    "platform-fields": platforms_reference,
    "profile-fields": profile_reference,
    "profile-slots": slots_table,
    "serve-fields": serve_reference,
    "symptoms-table": symptoms_table,
    "toy-defects": toy_defects_table,
}


def _printed(words: list[str]) -> str:
    """What a command prints; wrong use prints as users see it."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            dispatch(words)
        except UsageError as error:
            print(f"trunkline: {error}")
    return printed.getvalue()


def console(command: str) -> str:
    """A command with what it prints in the root of the clone."""
    with contextlib.chdir(ROOT):
        return f"```console\n{command}\n{_printed(shlex.split(command)[2:])}```"


def command_paths(command: App = app, *before: str) -> Iterator[tuple[str, ...]]:
    """The words of every command, group of commands and subcommand."""
    yield before
    for name in command:
        if not name.startswith("-"):
            yield from command_paths(command[name], *before, name)


def help_pages() -> str:
    """What ``--help`` of every command prints."""
    asked = [[*words, "--help"] for words in command_paths()]
    with mock.patch.dict(os.environ, COLUMNS=str(stored_help.WIDTH)):
        return stored_help.as_stored({" ".join(words): _printed(words) for words in asked})


def refreshed(text: str) -> str:
    """A page with fresh generated regions and headings. Raises `KeyError` for a region that has no generator."""
    for checker in CHECKERS:
        text = re.sub(rf"^### {checker.id} .*$", f"### {checker.id} {checker.title}", text, flags=re.MULTILINE)
    text = _REGION.sub(lambda found: f"{found[1]}{REGIONS[found['name']]()}{found[4]}", text)
    return _CONSOLE.sub(lambda found: console(found["command"]), text)


def without_generated(text: str) -> str:
    """The written part of a page."""
    return _REGION.sub("", text)


def generated() -> dict[Path, Callable[[], str]]:
    """Every page that has generated regions, and the schemas of files for editors, with what makes its fresh text."""
    every = (
        ROOT / "README.md",
        *sorted(DOCS.glob("*.md")),
        *sorted(DOCS.glob("platforms/*.md")),
        *sorted(DOCS.glob("attach/*.md")),
    )
    texts = {path: path.read_text("utf-8") for path in every}
    pages = {path: text for path, text in texts.items() if _REGION.search(text) or _CONSOLE.search(text)}
    return {
        **{path: partial(refreshed, text) for path, text in pages.items()},
        ROOT / "app" / "cli" / "run" / "bugs.json": bugs_list,
        ROOT / "app" / "cli" / "help.txt": help_pages,
        DOCS / "scenario.schema.json": schema_text,
        DOCS / "gateway.schema.json": gateway_schema_text,
        DOCS / "attach" / "profile.schema.json": profile_schema_text,
    }


def main() -> int:
    """Rewrite the pages, or with ``--check`` list the stale ones."""
    check = "--check" in sys.argv[1:]
    fresh = {path: make() for path, make in generated().items()}
    stale = [(path, text) for path, text in fresh.items() if path.read_text("utf-8") != text]
    for path, text in stale:
        print(f"{path.relative_to(ROOT).as_posix()}: {'stale: run python tools/docs.py' if check else 'rewritten'}")
        if not check:
            path.write_text(text, "utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())

"""Writes the generated parts of the pages from the code: diagrams, tables of codes, switches, invariants and events.

    python tools/docs.py            rewrite what stands between `<!-- generated: NAME -->` and `<!-- end -->`, and what
                                    `$ trunkline explain ...` prints in a ```console block
    python tools/docs.py --check    change nothing; exit code 1 when something is stale, and say what

The texts come from the tables and docstrings of the code, so a page cannot say something else than the program.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from trunkline.app.cli.commands import dispatch
from trunkline.core.bindings.records import BindingStatus
from trunkline.core.bindings.states import BINDING_TRANSITIONS
from trunkline.core.channels import known_channels, rules_for
from trunkline.core.config import DeliveryConfig
from trunkline.core.delivery.policy import (
    AttemptFacts,
    AttemptOutcome,
    InterruptedIntent,
    NextStep,
    after_attempt,
    outcome_of,
    recover,
)
from trunkline.core.delivery.states import TRANSITIONS, is_final, next_state
from trunkline.core.errors import (
    Ambiguous,
    NotSent,
    PlaceGone,
    PlatformError,
    RateLimited,
    Refused,
    Unauthorized,
    UsageError,
)
from trunkline.core.events import BODIES, Body
from trunkline.core.hands.states import DELEGATION_TRANSITIONS
from trunkline.core.reasons import Reason
from trunkline.core.values import Capabilities, ChatKind, Idempotency, IntentState
from trunkline.sim import BUGS, ScenarioFile, find_scenarios, load_scenario
from trunkline.sim.invariants import CHECKERS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SCENARIOS = ROOT / "scenarios"

_RESERVED = "reserved: nothing records it yet"
_REGION = re.compile(r"(<!-- generated: (?P<name>[\w-]+) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL)
_CONSOLE = re.compile(r"```console\n(?P<command>\$ trunkline explain [^\n]*)\n.*?```", re.DOTALL)
#: notes in docstrings that mean something to readers of the code only
_ASIDE = re.compile(r" \((?:seeds? \d|S\d|DESIGN|invariant )[^)]*\)")


# ---------------------------------------------------------------- text


def _table(heads: tuple[str, ...], rows: Iterable[Iterable[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def _first_sentences(doc: str | None) -> str:
    """The first paragraph of a docstring, on one line, without notes for readers of the code."""
    paragraph = inspect.cleandoc(doc or "").split("\n\n", 1)[0]
    return _ASIDE.sub("", " ".join(paragraph.split())).replace("``", "`")


def _modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def _codes(values: Iterable[str]) -> str:
    return ", ".join(f"`{value}`" for value in values)


# ---------------------------------------------------------------- state diagrams


def _diagram(edges: Mapping[tuple[str, str], list[str]], start: str, final: Iterable[str]) -> str:
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {start}"]
    lines += [f"    {source} --> {target}: {', '.join(events)}" for (source, target), events in edges.items()]
    lines += [f"    {state} --> [*]" for state in final]
    return "\n".join([*lines, "```"]) + "\n"


def intent_diagram() -> str:
    """The life of an intent as a Mermaid diagram."""
    edges: dict[tuple[str, str], list[str]] = {}
    late: dict[str, list[str]] = {}
    for state, row in TRANSITIONS.items():
        for event in row:
            edges.setdefault((state.value, next_state(state, event).value), []).append(event.value)
            if next_state(state, event, accepted_chunks=1) is not next_state(state, event):
                late.setdefault(state.value, []).append(event.value)
    for source, events in late.items():
        edges[source, IntentState.PARTIAL.value] = [*events[:-1], f"{events[-1]} (some chunks accepted)"]
    return _diagram(edges, IntentState.PREPARED.value, [state.value for state in TRANSITIONS if is_final(state)])


def delegation_diagram() -> str:
    """The life of a delegation as a Mermaid diagram."""
    edges: dict[tuple[str, str], list[str]] = {}
    for state, row in DELEGATION_TRANSITIONS.items():
        for event, after in row.items():
            edges.setdefault((state.value, after.value), []).append(event.value)
    states = list(DELEGATION_TRANSITIONS)
    final = [state.value for state, row in DELEGATION_TRANSITIONS.items() if not row]
    return _diagram(edges, states[0].value, final)


def binding_diagram() -> str:
    """The life of a binding as a Mermaid diagram."""
    edges: dict[tuple[str, str], list[str]] = {}
    for state, row in BINDING_TRANSITIONS.items():
        for event, after in row.items():
            edges.setdefault((state.value, after.value), []).append(event.value)
    final = [state.value for state, row in BINDING_TRANSITIONS.items() if not row]
    return _diagram(edges, BindingStatus.ACTIVE.value, final)


# ---------------------------------------------------------------- delivery decisions


def recovery_table() -> str:
    """What is done with an intent that an earlier process left open: idempotency x state -> action."""

    def cell(idempotency: Idempotency, state: IntentState, head: bool) -> str:
        can = Capabilities(idempotency=idempotency)
        decision = recover(
            InterruptedIntent(state=state, head=head, attempts=0, created_at=0.0),
            now=1.0,
            can=can,
            config=DeliveryConfig(),
        )
        return f"`{decision.action.value}` ({decision.reason.value})"

    rows = [
        (
            f"`{kind.value}`",
            cell(kind, IntentState.PREPARED, head=True),
            # Only an adapter with neither is marked before an attempt.
            cell(kind, IntentState.SENDING, head=True) if kind is Idempotency.NONE else "never in this state",
            cell(kind, IntentState.PREPARED, head=False),
        )
        for kind in Idempotency
    ]
    return _table(("idempotency", "head, `prepared`", "head, `sending`", "behind the head"), rows)


_FAILURES: tuple[PlatformError, ...] = (
    NotSent(),
    RateLimited(retry_after=30.0),
    Unauthorized(),
    PlatformError(),
    Refused(),
    PlaceGone(),
    Ambiguous(),
)


def failures_table() -> str:
    """What each error of an adapter means for the next step, by what the platform can do."""
    config = DeliveryConfig()

    def step(outcome: AttemptOutcome, idempotency: Idempotency) -> str:
        can, tried = Capabilities(idempotency=idempotency), AttemptFacts(attempts=1, created_at=0.0)
        decision = after_attempt(outcome, tried=tried, now=0.0, can=can, config=config)
        same_key = decision.next is NextStep.RETRY and outcome.ambiguous
        return f"`{decision.next.value}`" + (", same key" if same_key else "")

    rows = []
    for error in _FAILURES:
        outcome = outcome_of(error)
        name, doc = f"`{type(error).__name__}`", _first_sentences(type(error).__doc__)
        rows.append((name, doc, f"`{outcome.reason.value}`", *(step(outcome, kind) for kind in Idempotency)))
    return _table(("raised", "means", "reason", *(f"with `{kind.value}`" for kind in Idempotency)), rows)


# ---------------------------------------------------------------- reasons


def _reason_groups() -> Iterator[tuple[str, list[Reason]]]:
    """The codes under the comments that group them in the source."""
    title, codes = "", list[Reason]()
    for line in inspect.getsource(Reason).splitlines():
        stripped = line.strip()
        if stripped.startswith("# "):
            if codes:
                yield title, codes
            title, codes = stripped.removeprefix("# "), []
        elif found := re.match(r"([A-Z_]+) = \"", stripped):
            codes.append(Reason[found[1]])
    yield title, codes


def _used_reasons() -> tuple[set[Reason], set[Reason]]:
    """Codes that `core` names, and those that a bug switch or another part of `sim` names."""
    inside, around = set[Reason](), set[Reason]()
    for package, found in (("core", inside), ("sim", around)):
        for path in _modules(package):
            if path.name != "reasons.py":
                found.update(Reason[name] for name in re.findall(r"\bReason\.([A-Z_]+)\b", path.read_text("utf-8")))
    return inside, around


def reasons_table() -> str:
    """Every reason code with its sentence, in the groups of the source."""
    inside, around = _used_reasons()

    def note(code: Reason) -> str:
        if code in inside:
            return code.sentence
        return f"{code.sentence} *({'only with a bug switch on' if code in around else _RESERVED})*"

    parts = []
    for title, codes in _reason_groups():
        parts.append(f"### {title[0].upper()}{title[1:]}\n\n")
        parts.append(_table(("code", "means"), [(f"`{code.value}`", note(code)) for code in codes]))
        parts.append("\n")
    return "\n" + "".join(parts)


# ---------------------------------------------------------------- bug switches and invariants


def _files() -> list[ScenarioFile]:
    return [load_scenario(path) for path in find_scenarios((SCENARIOS,))]


def _links(files: Iterable[ScenarioFile]) -> str:
    return "<br>".join(f"[{file.id}](../{file.path.resolve().relative_to(ROOT).as_posix()})" for file in files)


def bugs_table() -> str:
    """Every bug switch: the defect, what must catch it, the public report, the scenario that shows it."""
    files = _files()
    rows = []
    for bug in BUGS.values():
        shown = [file for file in files if bug.name in file.scenario.bugs]
        sources = dict.fromkeys(file.scenario.source for file in shown if bug.reports and file.scenario.source)
        reports = "<br>".join((*bug.reports, *sources))
        rows.append((f"`{bug.name}`", _ASIDE.sub("", bug.sentence), ", ".join(bug.caught_by), reports, _links(shown)))
    return _table(("switch", "what goes wrong", "caught by", "report", "shown by"), rows)


def invariants_table() -> str:
    """Every checked invariant: the promise, and the bug switches that show it violated."""
    rows = []
    for checker in CHECKERS:
        bugs = [bug.name for bug in BUGS.values() if checker.id in bug.caught_by]
        where = f"`{checker.__module__}.{checker.__name__}`"
        rows.append((f"[{checker.id}](#{_slug(checker)})", checker.title, checker.sentence, _codes(bugs), where))
    return _table(("id", "name", "promise", "bug switches", "checker"), rows)


def _slug(checker: Any) -> str:
    text = f"{checker.id} {checker.title}".lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


# ---------------------------------------------------------------- events


_PLAIN = {str: "text", int: "number", float: "seconds", bool: "true/false"}


def _type_name(hint: Any) -> str:
    """A field's type as a reader of JSON needs it."""
    origin, args = get_origin(hint), [arg for arg in get_args(hint) if arg not in (type(None), Ellipsis)]
    if origin in (Union, UnionType):
        return f"{_type_name(args[0])} or null"
    if origin is tuple:
        return f"list of {_type_name(args[0])}"
    if inspect.isclass(hint) and issubclass(hint, Enum):
        return hint.__name__
    return _PLAIN.get(hint) or getattr(hint, "__name__", "any")


def _fields(body: type[msgspec.Struct]) -> str:
    hints = get_type_hints(body)
    names = []
    for field in msgspec.structs.fields(body):
        optional = "" if field.required else "?"
        names.append(f"`{field.name}{optional}` {_type_name(hints[field.name])}")
    return "<br>".join(names) or "none"


def _rows(bodies: Iterable[type[Body]]) -> Iterator[tuple[str, str, str]]:
    recorded = "".join(path.read_text("utf-8") for package in ("core/runtime", "sim") for path in _modules(package))
    others = (
        "core/gateway.py",
        "core/sessions/session_map.py",
        "core/decisions.py",
        "core/store/sqlite/group_commit.py",
        "core/store/sqlite/store.py",
    )
    recorded += "".join((ROOT / name).read_text("utf-8") for name in others)
    for body in bodies:
        tells = _first_sentences(body.__doc__)
        if f"{body.__name__}(" not in recorded:
            tells += f" *({_RESERVED})*"
        yield f"`{body.kind}`", tells, _fields(body)


#: the modules of events, by the heads under which the page tells of them
_EVENTS = {
    "The run": "trunkline.sim.events.script",
    "The end": "trunkline.core.events.base",
    "The world": "trunkline.sim.events.world",
    "The wire": "trunkline.sim.events.wire",
    "Processes": "trunkline.sim.events.processes",
    "The gateway, and what comes in": "trunkline.core.events.gateway",
    "The gateway, on the way out": "trunkline.core.events.delivery",
    "Bound conversations": "trunkline.core.events.bindings",
    "The gateway, for itself": "trunkline.core.events.leases",
}


def event_table() -> str:
    """Every event kind with its fields: what the world records, then what the gateway records."""
    parts = []
    for title, module in _EVENTS.items():
        bodies = [body for body in BODIES.values() if body.__module__ == module]
        parts.append(f"### {title}\n\n" + _table(("kind", "tells", "fields of `body`"), _rows(bodies)))
    return "\n" + "\n".join(parts) + "\n"


# ---------------------------------------------------------------- the pages


def channels_table() -> str:
    """What each platform's file says: targets, threads, ids, limits."""

    def row(name: str) -> tuple[str, ...]:
        rules = rules_for(name)
        if rules.thread_is_conversation:
            threads = "conversations of their own"
        else:
            threads = f"`:{rules.thread_word}:`" if rules.has_threads else "none"
        kept = [kind.value for kind in ChatKind if rules.fold(kind, "Aa") == "Aa"]
        case = "counts" if len(kept) == len(ChatKind) else f"counts for a {' or '.join(kept)}" if kept else "is folded"
        return f"`{name}`", _codes(rules.forms), threads, case, str(rules.text_limit)

    return _table(("channel", "targets", "threads in keys", "case of ids", "characters"), map(row, known_channels()))


REGIONS: dict[str, Callable[[], str]] = {
    "intent-diagram": intent_diagram,
    "delegation-diagram": delegation_diagram,
    "binding-diagram": binding_diagram,
    "recovery-table": recovery_table,
    "failures-table": failures_table,
    "reasons-table": reasons_table,
    "bugs-table": bugs_table,
    "invariants-table": invariants_table,
    "event-table": event_table,
    "channels-table": channels_table,
}


def console(command: str) -> str:
    """A command with what it prints, asked from the root of the clone; wrong use prints as users see it."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.chdir(ROOT):
        try:
            dispatch(shlex.split(command)[2:])
        except UsageError as error:
            print(f"trunkline: {error}")
    return f"```console\n{command}\n{printed.getvalue()}```"


def refreshed(text: str) -> str:
    """A page with its generated regions made anew. Raises `KeyError` for a region that nothing makes."""
    text = _REGION.sub(lambda found: f"{found[1]}{REGIONS[found['name']]()}{found[4]}", text)
    return _CONSOLE.sub(lambda found: console(found["command"]), text)


def pages() -> dict[Path, str]:
    """Every page that has generated regions, as it should be."""
    texts = {path: path.read_text("utf-8") for path in (ROOT / "README.md", *sorted(DOCS.glob("*.md")))}
    return {path: refreshed(text) for path, text in texts.items() if _REGION.search(text) or _CONSOLE.search(text)}


def main() -> int:
    """Rewrite the pages, or with ``--check`` tell which are stale."""
    check = "--check" in sys.argv[1:]
    stale = [(path, text) for path, text in pages().items() if path.read_text("utf-8") != text]
    for path, text in stale:
        print(f"{path.relative_to(ROOT).as_posix()}: {'stale: run python tools/docs.py' if check else 'rewritten'}")
        if not check:
            path.write_text(text, "utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())

"""Generated from the registries: reason codes, bug switches, invariants, event kinds and the types of their fields."""

import functools
import inspect
import re
from collections.abc import Iterable, Iterator
from enum import Enum
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from tools.doc_text import RESERVED, codes, first_paragraph, modules, table
from trunkline.app.runs.known_defects import SYMPTOMS, KnownDefect, ShownBy, known_defects
from trunkline.app.tui.keys import SCREENS
from trunkline.core.events import BODIES, Body
from trunkline.core.reasons import Reason
from trunkline.sim import BUGS
from trunkline.sim.invariants import CHECKERS, WIRE_SIDE_CHECKERS

# ---------------------------------------------------------------- screens


def screens_table() -> str:
    """Every screen of a run with its key."""
    return table(("key", "screen", "shows"), ((f"`{spec.key}`", spec.title, spec.help) for spec in SCREENS))


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
        elif found := re.match(r'([A-Z_]+) = [("a]', stripped):
            codes.append(Reason[found[1]])
    yield title, codes


def _used_reasons() -> tuple[set[Reason], set[Reason]]:
    """Codes that `core` names, and those that a bug switch or another part of `sim` names."""
    inside, around = set[Reason](), set[Reason]()
    for package, found in (("core", inside), ("sim", around)):
        for path in modules(package):
            if path.name != "reasons.py":
                found.update(Reason[name] for name in re.findall(r"\bReason\.([A-Z_]+)\b", path.read_text("utf-8")))
    return inside, around


def reasons_table() -> str:
    """Every reason code with its sentence, in the groups of the source."""
    inside, around = _used_reasons()

    def note(code: Reason) -> str:
        if code in inside:
            return code.sentence
        return f"{code.sentence} *({'only with a bug switch on' if code in around else RESERVED})*"

    parts = []
    for title, group in _reason_groups():
        parts.append(f"### {title[0].upper()}{title[1:]}\n\n")
        parts.append(table(("code", "means"), [(f"`{code.value}`", note(code)) for code in group]))
        parts.append("\n")
    return "\n" + "".join(parts)


# ---------------------------------------------------------------- bug switches and invariants


@functools.cache
def _defects() -> tuple[KnownDefect, ...]:
    return known_defects()


def _links(shown: Iterable[ShownBy]) -> str:
    return "<br>".join(f"[{each.path.stem}](../{each.path.as_posix()})" for each in shown)


def bugs_table() -> str:
    """Every bug switch: the defect, what must catch it, the public report, the scenario that shows it."""
    rows = []
    for defect in _defects():
        bug, reports = defect.bug, "<br>".join(defect.reports)
        rows.append((f"`{bug.name}`", bug.sentence, ", ".join(bug.caught_by), reports, _links(defect.shown_by)))
    return table(("switch", "what goes wrong", "caught by", "report", "shown by"), rows)


def bugs_list() -> str:
    """What `trunkline bugs` knows, a line each."""
    rows = (msgspec.json.encode(defect.as_builtins()).decode() for defect in _defects())
    return "[\n" + ",\n".join(rows) + "\n]\n"


def symptoms_table() -> str:
    """What people notice, and the bug switches and scenarios that show it."""
    parts: list[str] = []
    defects = _defects()
    for symptom, invariants in SYMPTOMS.items():
        rows = []
        for defect in (one for one in defects if symptom in one.symptoms):
            shown, reports = _links(defect.shown_by), "<br>".join(defect.reports)
            rows.append((f"`{defect.bug.name}`", defect.bug.sentence, shown, reports))
        parts.append(f"## {symptom[0].upper()}{symptom[1:]}\n\n")
        known = [checker.id for checker in CHECKERS if checker.id in invariants]
        parts.append(f"Invariants: {', '.join(known)}.\n\n")
        parts.append(table(("switch", "what goes wrong", "shown by", "public report"), rows) + "\n")
    return "\n" + "".join(parts)


def invariants_table() -> str:
    """Every checked invariant: the promise, and the bug switches that show it violated."""
    rows = []
    for checker in (one for one in CHECKERS if not one.wire_side):
        bugs = [bug.name for bug in BUGS.values() if checker.id in bug.caught_by]
        where = f"`{checker.__module__}.{checker.__name__}`"
        rows.append((f"[{checker.id}](#{_slug(checker)})", checker.title, checker.sentence, codes(bugs), where))
    return table(("id", "name", "promise", "bug switches", "checker"), rows)


def wire_side_table() -> str:
    """Every promise that is judged of a gateway of which only the wire is known."""
    rows = []
    for checker in WIRE_SIDE_CHECKERS:
        where = f"`{checker.__module__}.{checker.__name__}`"
        rows.append((f"[{checker.id}](#{_slug(checker)})", checker.title, checker.sentence, where))
    return table(("id", "name", "promise", "checker"), rows)


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


@functools.cache
def _constructed() -> frozenset[str]:
    """The names that are called, or filled, in the modules which record events."""
    source = "".join(path.read_text("utf-8") for package in ("core", "sim") for path in modules(package))
    return frozenset(re.findall(r"(?:\bfilled\(\s*(?:\w+\.)?|(?<!class )\b(?=\w+\())(\w+)", source))


def _rows(bodies: Iterable[type[Body]]) -> Iterator[tuple[str, str, str]]:
    for body in bodies:
        note = "" if body.__name__ in _constructed() else f" *({RESERVED})*"
        yield f"`{body.kind}`", first_paragraph(body.__doc__) + note, _fields(body)


#: the headings of the page, by the module that declares the events
_HEADINGS = {
    "trunkline.sim.events.script": "The run",
    "trunkline.core.events.base": "The end",
    "trunkline.sim.events.world": "The world",
    "trunkline.sim.events.wire": "The wire",
    "trunkline.sim.events.processes": "Processes",
    "trunkline.sim.events.hands": "Hands, workers, and what agents are given",
    "trunkline.core.events.gateway": "The gateway: inbound, turns, hands",
    "trunkline.core.events.delivery": "The gateway: outbound",
    "trunkline.core.events.bindings": "The gateway: session bindings",
    "trunkline.core.events.leases": "The gateway: leases and maintenance",
}


def event_table() -> str:
    """Every event kind with its fields, under the headings; a module without one comes last, under its name."""
    by_module: dict[str, list[type[Body]]] = {module: [] for module in _HEADINGS}
    for body in BODIES.values():
        by_module.setdefault(body.__module__, []).append(body)
    parts = [
        f"### {_HEADINGS.get(module, module)}\n\n" + table(("kind", "means", "fields of `body`"), _rows(bodies))
        for module, bodies in by_module.items()
    ]
    return "\n" + "\n".join(parts) + "\n"


def _named_types(hint: Any) -> Iterator[type]:
    """Every enum and struct in a field's type, and in the fields of such a struct."""
    for arg in get_args(hint):
        yield from _named_types(arg)
    if inspect.isclass(hint) and issubclass(hint, Enum | msgspec.Struct):
        yield hint
        if issubclass(hint, msgspec.Struct):
            for field in get_type_hints(hint).values():
                yield from _named_types(field)


def types_table() -> str:
    """The types that event fields name: the values of an enum, the fields of a struct."""
    hints = [hint for body in BODIES.values() for hint in get_type_hints(body).values()]
    found = {kind.__name__: kind for hint in hints for kind in _named_types(hint)}

    def content(kind: type) -> str:
        if kind is Reason:
            return "see [reasons.md](reasons.md)"
        return codes(member.value for member in kind) if issubclass(kind, Enum) else _fields(kind)

    return table(("type", "values, or fields"), ((f"`{name}`", content(found[name])) for name in sorted(found)))

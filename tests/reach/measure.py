"""Play every shipped scenario in one process, and count what they exercise.

Counted are the fields of the configuration and of the language that some file sets, the values of those that have a
closed set of values, and the reason codes, event kinds, transitions of the state tables and statements of core that
some run shows. What is declared is read from the models, the registry of events and the tables, never from a list.
"""

import ast
import sys
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Literal, get_args, get_origin

import msgspec
from pydantic.fields import FieldInfo

from tests.support.paths import ATTACH_FILES, FAMILY_FILES, ROOT, SCENARIO_FILES
from tests.support.scenario.shipped import shipped_scenario
from trunkline.core.config import Model
from trunkline.core.config.files.model_fields import bare, element, fields_of, file_name, walk
from trunkline.core.events import BODIES
from trunkline.core.reasons import Reason
from trunkline.core.states import binding, delegation, intent
from trunkline.sim import load_scenario, run_scenario
from trunkline.sim.scenario.model.scenario import Scenario

#: the function that looks up each state table, and the table
TABLES: dict[CodeType, tuple[str, Any]] = {
    intent.next_state.__code__: ("intent", intent.TRANSITIONS),
    binding.next_binding_status.__code__: ("binding", binding.BINDING_TRANSITIONS),
    delegation.next_work_state.__code__: ("work", delegation.WORK_TRANSITIONS),
    delegation.next_callback_state.__code__: ("callback", delegation.CALLBACK_TRANSITIONS),
}
#: rooms of core that no scenario runs: clients of real platforms, agents on the wire, the HTTP API
OUTSIDE = ("core/adapters/", "core/agents/", "core/http/")

#: a longer list of values is a list of names
_MOST_WORDS = 30


class Reach(msgspec.Struct, kw_only=True):
    """What is exercised, or what could be. The keys of `statements` are files of core."""

    fields: set[str]
    values: set[str]
    kinds: set[str]
    reasons: set[str]
    transitions: set[str]
    statements: dict[str, set[int]]


def declared() -> Reach:
    """Everything that scenarios could exercise."""
    models = {model for _, model in walk(Scenario)}
    return Reach(
        fields={f"{model.__name__}.{name}" for model in models for name in fields_of(model)},
        values={
            f"{model.__name__}.{name}={word}"
            for model in models
            for name, info in fields_of(model).items()
            for word in _words(info)
        },
        kinds=set(BODIES),
        reasons={reason.value for reason in Reason},
        transitions={
            f"{name}: {state.value} {event.value}"
            for name, table in TABLES.values()
            for state, events in table.items()
            for event in events
        },
        statements=dict(_statements()),
    )


def fields_set(paths: Iterable[Path] = (*SCENARIO_FILES, *FAMILY_FILES, *ATTACH_FILES)) -> Reach:
    """What the files set, also those for gateways that are not ours. Nothing is played."""
    found = _nothing()
    for path in paths:
        add_fields(found, shipped_scenario(path).scenario)
    return found


def exercised(paths: Iterable[Path] = (*SCENARIO_FILES, *FAMILY_FILES)) -> Reach:
    """What the scenarios of these files exercise."""
    found = fields_set()
    for path in paths:
        add_run(found, path)
    return found


def _nothing() -> Reach:
    return Reach(fields=set(), values=set(), kinds=set(), reasons=set(), transitions=set(), statements={})


def add_run(found: Reach, path: Path) -> None:
    """Add what a run of a scenario shows. It is read here too: its configuration is core's."""
    tracer = _Tracer(found)
    sys.settrace(tracer.called)
    try:
        file = load_scenario(path)
        events = run_scenario(file).trace.events
    finally:
        sys.settrace(None)
    for event in events:
        found.kinds.add(event.kind)
        found.reasons.update(_reasons(event.body))


def add_fields(found: Reach, value: object) -> None:
    if isinstance(value, Model):
        model = type(value)
        for name in value.model_fields_set:
            inner = getattr(value, name)
            field = f"{model.__name__}.{file_name(name, model.model_fields[name])}"
            found.fields.add(field)
            found.values.update(f"{field}={_text(word)}" for word in (inner if isinstance(inner, tuple) else (inner,)))
            add_fields(found, inner)
    elif isinstance(value, dict):
        for inner in value.values():
            add_fields(found, inner)
    elif isinstance(value, tuple | list):
        for inner in value:
            add_fields(found, inner)


def _words(info: FieldInfo) -> Iterator[str]:
    """The values of a field that has a closed set of them, but for its default: every file without the field has it."""
    kind = bare(info.annotation)
    if get_origin(kind) is tuple:
        kind = bare(element(kind))
    words = list[str]()
    if get_origin(kind) is Literal:
        words = [_text(word) for word in get_args(kind)]
    elif isinstance(kind, type) and issubclass(kind, StrEnum):
        words = [member.value for member in kind]
    elif kind is bool:
        words = ["false", "true"]
    # The actions of the message tool are words like names: the families of the tool call each of them.
    yield from () if len(words) > _MOST_WORDS else (word for word in words if word != _text(info.default))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(getattr(value, "value", value))


def _reasons(value: object) -> Iterator[str]:
    """The reason codes anywhere in the body of an event."""
    if isinstance(value, Reason):
        yield value.value
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            inner = getattr(value, name)
            if name == "reason" and isinstance(inner, str):
                yield str(getattr(inner, "value", inner))
            yield from _reasons(inner)
    elif isinstance(value, tuple | list | frozenset | set):
        for inner in value:
            yield from _reasons(inner)
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _reasons(inner)


# ------------------------------------------------------------ statements

_CORE = (f"{ROOT / 'core'}/", f"{ROOT / 'trunkline' / 'core'}/")


class _Tracer:
    """Notes lines of core. A code object whose every line was seen is not looked at again."""

    def __init__(self, found: Reach) -> None:
        self._found = found
        self._left: dict[CodeType, set[int] | None] = {}

    def called(self, frame: FrameType, event: str, argument: object) -> Any:
        """Look at a frame of core."""
        code = frame.f_code
        if code in TABLES:
            name, _ = TABLES[code]
            names = code.co_varnames
            state, change = frame.f_locals[names[0]], frame.f_locals[names[1]]
            self._found.transitions.add(f"{name}: {state.value} {change.value}")
        left = self._left[code] if code in self._left else self._first(code)
        return self.line if left else None

    def line(self, frame: FrameType, event: str, argument: object) -> Any:
        """Note a line; stop where none is left."""
        left = self._left[frame.f_code]
        assert left is not None
        left.discard(frame.f_lineno)
        if event == "line":
            self._found.statements[_name_of(frame.f_code)].add(frame.f_lineno)
        return self.line if left else None

    def _first(self, code: CodeType) -> set[int] | None:
        name = _name_of(code)
        if not name:
            self._left[code] = None
            return None
        seen = self._found.statements.setdefault(name, set())
        lines = {line for _, _, line in code.co_lines() if line is not None}
        self._left[code] = left = lines - seen
        return left


def _name_of(code: CodeType) -> str:
    """The file of core that a code object comes from, as the repository names it; empty if it is none."""
    file = code.co_filename
    return next((f"core/{file.removeprefix(top)}" for top in _CORE if file.startswith(top)), "")


def _statements() -> Iterator[tuple[str, set[int]]]:
    """The first line of each statement in a function of core: what is imported runs in any case."""
    for path in sorted((ROOT / "core").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(OUTSIDE):
            continue
        lines = set[int]()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines |= {part.lineno for part in ast.walk(node) if isinstance(part, ast.stmt) and _runs(part)}
        if lines:
            yield name, lines


def _runs(node: ast.stmt) -> bool:
    """Whether a node is a statement that leaves a line event: no docstring, no declaration, no stub of a protocol."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return False
    return not isinstance(
        node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Global | ast.Nonlocal | ast.Pass
    )

"""Adds steps to a scenario, and writes a scenario as text. Both go through the loader, so the result is always valid.

A *tree* is the plain values of a file, under the names that files use. It omits defaults, so loading it again gives the
same scenario.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from enum import Enum
from typing import Any, cast

from pydantic import PlainSerializer
from pydantic.fields import FieldInfo

from trunkline.core.config import Model, parse_duration
from trunkline.core.config.files.model_fields import file_name
from trunkline.core.config.files.problems import FileError, ProblemReport
from trunkline.core.config.files.yaml_reader import parse
from trunkline.core.errors import UsageError
from trunkline.sim.scenario.load import ScenarioError, ScenarioFile, load_text
from trunkline.sim.scenario.model.scenario import Scenario

Tree = dict[str, Any]

#: suffix of the name of a branch
BRANCH = "-branch"
#: a mapping or list wider than this gets one line per item
_WIDTH = 116
#: these always get one line per item
_OPEN = frozenset({"gateway", "world", "cast", "agents", "script", "expect", "accepted", "events", "transcripts"})
#: fields that hold a time, written with a unit
_TIMES = frozenset({"at", "after", "for", "down", "restart_after", "think", "takes", "tell"})
#: text that needs no quotes in any YAML, even inside brackets
_PLAIN = re.compile(r"[A-Za-z](?:[A-Za-z0-9_./@-]| (?=[A-Za-z0-9]))*")
_WORDS = frozenset({"null", "true", "false"})
#: text that other YAML readers take for booleans; quoted as values, but not as field names
_DOUBTED = frozenset({"yes", "no", "on", "off", "y", "n"})


def tree_of(scenario: Scenario) -> Tree:
    """A scenario as the plain values of a file, without defaults."""
    return cast("Tree", _plain(scenario))


def with_step(file: ScenarioFile, step: Mapping[str, Any], at: float) -> ScenarioFile:
    """The scenario with one more step at a time, after the other steps of that time.

    The result keeps the path of its file and lists the added steps in `steps`, so the run can be repeated from both.
    Raises `ScenarioError` if the step does not fit the scenario.
    """
    tree = tree_of(file.scenario)
    script = cast("list[Tree]", tree["script"])
    index = bisect_right(file.times, at)
    if index < len(script):
        # Its time may be relative to the previous step, which now changes.
        following = {name: value for name, value in script[index].items() if name not in ("at", "after")}
        script[index] = {"at": file.times[index], **following}
    script.insert(index, {"at": at, **step})
    made = load_text(text_of(tree), f"{file.id.removesuffix(BRANCH)}{BRANCH}.yaml", names=file.names)
    # Taken from the loaded scenario, so that the same step always has the same text.
    added = cast("list[Tree]", tree_of(made.scenario)["script"])[index]
    return replace(made, path=file.path, steps=(*file.steps, _flow(added)))


def with_step_text(file: ScenarioFile, text: str) -> ScenarioFile:
    """`with_step` for a line of a file with its time in `at`, as `step_text` writes it. Raises `UsageError`."""
    try:
        step = parse(text, ProblemReport("step"), begin="")
    except FileError as error:
        raise UsageError(f"the step {text!r} cannot be read: {error.problems[0].message}") from error
    if not isinstance(step, dict) or "at" not in step:
        hint = "write it as in a scenario file, with its time: '{at: 1.5s, crash: {}}'"
        raise UsageError(f"the step {text!r} has no time, or is not a mapping; {hint}")
    given = cast("dict[str, Any]", step)
    try:
        at = parse_duration(given["at"])
    except ValueError as error:
        raise UsageError(f"the step {text!r} has an invalid time: {error}") from error
    try:
        return with_step(file, {name: value for name, value in given.items() if name != "at"}, at)
    except ScenarioError as error:
        wrong = "; ".join(
            f"{problem.message} ({problem.hint})" if problem.hint else problem.message for problem in error.problems
        )
        raise UsageError(f"the step {text!r} does not fit {file.path}: {wrong}") from error


def text_of(tree: Mapping[str, Any], *, remark: str = "") -> str:
    """A tree as the text of a scenario file, formatted as people write it; `remark` becomes a comment above it."""
    lines = [f"# {line}" for line in remark.splitlines()]
    for name, value in tree.items():
        lines += _entry(name, value, 0)
    return "\n".join(lines) + "\n"


def step_text(step: Mapping[str, Any], at: float) -> str:
    """A step as a line of a file."""
    return _flow({"at": at, **step})


def _plain(value: object) -> object:
    if isinstance(value, Model):
        given = ((name, info) for name, info in type(value).model_fields.items() if name in value.model_fields_set)
        return {file_name(name, info): _plain(_written(info, getattr(value, name))) for name, info in given}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in cast("dict[object, object]", value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in cast("list[object]", value)]
    return value


def _written(info: FieldInfo, value: object) -> object:
    """A value in the form that its field is written in: an interval has its unit."""
    forms = [annotation for annotation in info.metadata if isinstance(annotation, PlainSerializer)]
    return cast("Callable[[object], object]", forms[-1].func)(value) if forms else value


def _entry(name: str, value: object, indent: int) -> Iterator[str]:
    pad = " " * indent
    head = f"{pad}{_word(name)}:"
    if name == "story" and isinstance(value, str) and _is_prose(value):
        yield f"{head} |"
        yield from (f"{pad}  {line}".rstrip() for line in value[:-1].split("\n"))
        return
    line = f"{head} {_flow(value, name)}"
    if not _is_open(value, name, line):
        yield line
        return
    yield head
    if isinstance(value, dict):
        for key, item in cast("Tree", value).items():
            yield from _entry(key, item, indent + 2)
    else:
        for item in cast("list[object]", value):
            yield from _item(item, indent + 2)


def _item(value: object, indent: int) -> Iterator[str]:
    line = f"{' ' * indent}- {_flow(value)}"
    if not isinstance(value, dict) or len(line) <= _WIDTH or not value:
        yield line
        return
    entries = cast("Tree", value).items()
    first, *rest = (line for key, item in entries for line in _entry(key, item, indent + 2))
    yield f"{' ' * indent}- {first.lstrip()}"
    yield from rest


def _is_open(value: object, name: str, line: str) -> bool:
    """Whether each item gets its own line."""
    return isinstance(value, dict | list) and value not in ({}, []) and (name in _OPEN or len(line) > _WIDTH)


def _is_prose(text: str) -> bool:
    """Whether a text can be written as a block scalar without changing."""
    lines = text.split("\n")
    tidy = all(line == line.strip() and line.isprintable() for line in lines)
    return tidy and len(lines) > 1 and lines[-1] == "" and lines[-2] != "" and lines[0] != ""


def _flow(value: object, name: str = "") -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"{_number(value)}s" if name in _TIMES else _number(value)
        case str():
            return json.dumps(value) if value.casefold() in _DOUBTED else _word(value)
        case dict():
            items = cast("dict[str, object]", value).items()
            return f"{{{', '.join(f'{_word(key)}: {_flow(item, key)}' for key, item in items)}}}"
        case _:
            return f"[{', '.join(_flow(item) for item in cast('list[object]', value))}]"


def _number(value: float) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    # Times have microsecond resolution, and times with a unit cannot have exponents.
    return f"{value:.6f}".rstrip("0") if isinstance(value, float) and 1e-6 <= value < 1e12 else repr(value)


def _word(text: str) -> str:
    plain = _PLAIN.fullmatch(text) and text.casefold() not in _WORDS
    return text if plain else _quoted(text)


def _quoted(text: str) -> str:
    """A text in double quotes; what cannot be seen is escaped, since some of it cannot stand in a YAML file."""
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if quoted.isprintable() else "".join(map(_escaped, quoted))


def _escaped(char: str) -> str:
    if char.isprintable():
        return char
    return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"

"""Parses YAML into plain values with the line and column of each; the only module that uses the YAML library.

Plain scalars follow YAML 1.2: ``true``, ``false``, ``null`` and decimal numbers; everything else is text, including
``on``, ``yes``, ``1:30`` and dates. Anchors, aliases and tags are rejected, so that a file is explicit and a small file
cannot expand. Events are read one by one and nesting is bounded, so no input exhausts the stack or memory.
"""

import math
import os
import re
import stat
from typing import Any, cast

import msgspec
import yaml

from trunkline.core.config.files.problems import Mark, Path, ProblemReport, dotted, shown

try:
    from yaml import CSafeLoader as _FastLoader
except ImportError:  # PyYAML was built without libyaml
    _FastLoader = yaml.SafeLoader

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 50

_INT = re.compile(r"[-+]?[0-9]{1,30}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_QUOTE = "put the text in quotes"
#: control characters, and surrogates, which stand for bytes that are not UTF-8
_UNSPEAKABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def read_text(report: ProblemReport, what: str) -> str:
    """Read the file of a report; `what`: what it should be, e.g. ``a scenario file``.

    Raises `FileError` if it is unreadable or over 1 MiB, or if it or its path is not UTF-8.
    """
    path = report.path
    if _UNSPEAKABLE.search(path):
        # Traces and commands contain the path: it must be possible to write and type it.
        raise _refused(report, "its path has control characters, or bytes that are not UTF-8: rename it")
    try:
        status = os.stat(path)  # noqa: PTH116 (the path is shown as it was given)
        if stat.S_ISDIR(status.st_mode):
            raise _refused(report, f"expected {what}, found a directory")
        if not stat.S_ISREG(status.st_mode):
            raise _refused(report, f"expected {what}, found something that is not a regular file")
        _check_size(status.st_size, report)
        with open(path, "rb") as file:  # noqa: PTH123
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _refused(report, f"cannot be read: {why}") from error
    _check_size(len(content), report)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        facts = f"expected UTF-8 text, found the byte 0x{content[error.start]:02x} at byte position {error.start}"
        report.add_at((line, column), "", facts, "save the file as UTF-8")
        raise report.error() from error


def parse(text: str, report: ProblemReport, *, begin: str, loader: Any = _FastLoader) -> object:
    """Parse a YAML text; fills `report.positions`, and reports recoverable problems to `report`.

    `begin`: how such a file begins, the hint for an empty one. Raises `FileError` for the others: not YAML, empty, over
    1 MiB, nested deeper than 50.
    """
    _check_size(len(text), report)
    text = text.removeprefix("\ufeff")
    if strange := _UNPRINTABLE.search(text):
        mark = (text.count("\n", 0, strange.start()) + 1, strange.start() - text.rfind("\n", 0, strange.start()))
        facts = f"not YAML: the character U+{ord(strange[0]):04X} cannot stand in a text file"
        raise _refused(report, facts, mark=mark)
    _check_size(len(text.encode("utf-8")), report)
    try:
        builder = _Builder(report)
        for event in yaml.parse(text, Loader=loader):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(error, text, report) from error
    except yaml.YAMLError as error:
        raise _refused(report, f"not YAML: {error}", mark=(1, 1)) from error
    if not builder.has_content:
        raise _refused(report, "the file is empty", begin, mark=(1, 1))
    return builder.root


def _check_size(size: int, report: ProblemReport) -> None:
    if size > MAX_BYTES:
        raise _refused(report, f"the file is too large: {size} bytes, the limit is 1 MiB ({MAX_BYTES} bytes)")


def _refused(report: ProblemReport, message: str, hint: str = "", *, mark: Mark = (0, 0)) -> Exception:
    report.add_at(mark, "", message, hint)
    return report.error()


def _not_yaml(error: yaml.MarkedYAMLError, text: str, report: ProblemReport) -> Exception:
    """Reword the parser's error for people who do not know the parser."""
    problem, context = error.problem or "", error.context or ""
    here = error.problem_mark or error.context_mark
    mark = (here.line + 1, here.column + 1) if here else (1, 1)
    begin = (error.context_mark.line + 1, error.context_mark.column + 1) if error.context_mark else mark
    opened = f"in line {begin[0]}"
    if "cannot start any token" in problem:
        lines = text.splitlines()
        char = lines[mark[0] - 1][mark[1] - 1 : mark[1]] if mark[0] <= len(lines) else ""
        if char == "\t":
            return _refused(report, "not YAML: found a tab", "indent with spaces", mark=mark)
        return _refused(report, f"not YAML: a plain text cannot begin with {char}", _QUOTE, mark=mark)
    if context.endswith((" an alias", " an anchor", " a tag")):
        return _refused(report, "not YAML: a plain text cannot begin with *, & or !", _QUOTE, mark=begin)
    if "mapping values are not allowed" in problem:
        hint = "put a text that has a colon in quotes, or check the indentation"
        return _refused(report, "not YAML: found a colon where no field can begin", hint, mark=mark)
    if "unexpected end of stream" in problem:
        return _refused(report, "not YAML: the quote that begins here never ends", "close it", mark=begin)
    if "flow" in context:
        facts = f"not YAML: the bracket opened {opened} is not closed before this"
        return _refused(report, facts, "close it; a text with brackets needs quotes", mark=mark)
    if "expected" in problem:
        hint = "check its indentation, and that texts with quotes or brackets in them are in quotes"
        return _refused(report, f"not YAML: this does not fit what began {opened}", hint, mark=mark)
    return _refused(report, f"not YAML: {problem}", mark=mark)


class _Frame(msgspec.Struct):
    value: list[object] | dict[str, object]
    path: Path
    #: the key whose value comes next
    key: str | None = None
    #: the key is a duplicate: its value is read and dropped
    dropped: bool = False


class _Builder:
    def __init__(self, report: ProblemReport) -> None:
        self.root: object = None
        self.has_content = False
        self._report = report
        self._stack: list[_Frame] = []
        self._documents = 0

    def take(self, event: yaml.Event) -> None:
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise _refused(self._report, "expected one document, found a second one", mark=_mark(event))
            case yaml.ScalarEvent() | yaml.AliasEvent():
                self._scalar(event)
            case yaml.SequenceStartEvent():
                self._open([], event)
            case yaml.MappingStartEvent():
                self._open({}, event)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                self._stack.pop()
            case _:
                pass

    def _scalar(self, event: yaml.ScalarEvent | yaml.AliasEvent) -> None:
        value = self._read(event)
        frame = self._stack[-1] if self._stack else None
        if frame is not None and isinstance(frame.value, dict) and frame.key is None:
            self._begin_field(frame, value, event)
        else:
            self._put(value, _mark(event))
            self.has_content = self.has_content or value is not None

    def _read(self, event: yaml.ScalarEvent | yaml.AliasEvent) -> object:
        self._refuse_extras(event)
        if isinstance(event, yaml.AliasEvent):
            return f"*{event.anchor}"
        if _SURROGATE.search(event.value):
            self._report.add_at(_mark(event), "", "a text cannot hold half of a character (U+D800 to U+DFFF)")
            return _SURROGATE.sub("\ufffd", event.value)
        return event.value if event.style else _plain(event.value)

    def _open(self, value: list[object] | dict[str, object], event: yaml.CollectionStartEvent) -> None:
        mark = _mark(event)
        self._refuse_extras(event)
        frame = self._stack[-1] if self._stack else None
        if frame is not None and isinstance(frame.value, dict) and frame.key is None:
            hint = "a text that begins with { or [ needs quotes"
            raise _refused(self._report, f"expected the name of a field, found {shown(value)}", hint, mark=mark)
        if len(self._stack) >= MAX_DEPTH:
            raise _refused(self._report, f"nested too deeply: the limit is {MAX_DEPTH}", mark=mark)
        self.has_content = True
        self._stack.append(_Frame(value, self._put(value, mark)))

    def _begin_field(self, frame: _Frame, value: object, event: yaml.Event) -> None:
        mark = _mark(event)
        name = value if isinstance(value, str) else str(getattr(event, "value", ""))
        if value is not name:
            self._report.add_at(mark, "", f"expected a text as name, found {shown(value)}", f'write "{name}" in quotes')
        path = (*frame.path, name)
        frame.key, frame.dropped = name, name in cast("dict[str, object]", frame.value)
        if frame.dropped:
            line = self._report.positions.keys[path][0]
            facts = f"this name is given twice; the first is in line {line}"
            self._report.add_at(mark, dotted(path), facts, "remove one")
        self._report.positions.keys.setdefault(path, mark)

    def _put(self, value: object, mark: Mark) -> Path:
        """Add a value to the innermost open list or mapping; return its path."""
        values = self._report.positions.values
        if not self._stack:
            self.root = value
            values[()] = mark
            return ()
        frame = self._stack[-1]
        if isinstance(frame.value, list):
            path = (*frame.path, len(frame.value))
            frame.value.append(value)
            if isinstance(value, str):  # a list of names may stand for a mapping
                values.setdefault((*frame.path, value), mark)
        else:
            assert frame.key is not None
            path = (*frame.path, frame.key)
            if not frame.dropped:
                frame.value[frame.key] = value
            frame.key = None
        values.setdefault(path, mark)
        return path

    def _refuse_extras(self, event: yaml.NodeEvent) -> None:
        tag = cast("str | None", getattr(event, "tag", None))
        if isinstance(event, yaml.AliasEvent):
            found = f"the alias *{event.anchor}"
        elif event.anchor is not None:
            found = f"the anchor &{event.anchor}"
        elif tag is not None:
            found = f"the tag {tag}"
        else:
            return
        hint = "write the value out; a text that begins with *, & or ! needs quotes"
        self._report.add_at(_mark(event), "", f"expected a plain value, found {found}", hint)


def _mark(event: yaml.Event) -> Mark:
    mark = event.start_mark
    assert mark is not None
    return (mark.line + 1, mark.column + 1)


def _plain(text: str) -> object:
    """The value of a scalar without quotes."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else text
    return text

"""The instructions of a heartbeat, usually the file HEARTBEAT.md: whether they hold anything to do."""

from __future__ import annotations

import re

#: an ATX heading: ``#`` and a blank or the end; ``#TODO`` is text
_HEADING = re.compile(r"#+(\s|$)")
#: a list item without text, perhaps with a check box
_EMPTY_ITEM = re.compile(r"[-*+]\s*(\[[\sXx]?\]\s*)?")
_COMMENT = re.compile(r"<!--.*?(-->|\Z)", re.DOTALL)
_FRONT_MATTER = re.compile(r"\A\ufeff?\s*---[ \t]*\r?\n(?:.*?\n)??---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
#: a list of tasks without tasks
_NO_TASKS = "tasks:"


def is_effectively_empty(text: str | None) -> bool:
    """Whether instructions hold nothing to do. None, a missing file, does not count as empty.

    Blank lines, headings, empty list items, HTML comments, YAML front matter and a bare ``tasks:`` are nothing.
    """
    if text is None:
        return False
    rest = _COMMENT.sub("", _FRONT_MATTER.sub("", text, count=1))
    return all(_is_nothing(line.strip()) for line in rest.splitlines())


def _is_nothing(line: str) -> bool:
    return not line or line == _NO_TASKS or bool(_HEADING.match(line)) or bool(_EMPTY_ITEM.fullmatch(line))

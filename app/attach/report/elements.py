"""HTML as values: every text is escaped, and loses its control characters, unless it is an element itself."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from trunkline.app.text.cells import clean_lines


class HtmlText(str):
    """HTML that is safe as it is."""

    __slots__ = ()


Child = str | Iterable[str]
_VOID = frozenset({"meta", "br", "hr"})


def element(name: str, /, *children: Child, **attributes: str | bool) -> HtmlText:
    """An element. An attribute loses its last underscore: ``class_``. Texts are escaped, `HtmlText` is not."""
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return HtmlText(f"<{name}{written}>")
    return HtmlText(f"<{name}{written}>{joined(*children)}</{name}>")


def joined(*children: Child) -> HtmlText:
    """Several pieces one after the other."""
    pieces: list[str] = []
    for child in children:
        if isinstance(child, HtmlText):
            pieces.append(child)
        elif isinstance(child, str):
            pieces.append(escape(clean_lines(child)))
        else:
            pieces.append(joined(*child))
    return HtmlText("".join(pieces))


def _attribute(key: str, value: str | bool) -> str:
    name = key.rstrip("_").replace("_", "-")
    if isinstance(value, bool):
        return f" {name}" if value else ""
    return f' {name}="{escape(clean_lines(value))}"' if value else ""

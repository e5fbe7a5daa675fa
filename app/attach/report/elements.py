"""HTML as values: every text is escaped, and loses its control characters, unless it is an element itself."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from trunkline.app.view.text.cells import clean_lines


class Markup(str):
    """HTML that is safe as it is."""

    __slots__ = ()


Child = str | Iterable[str]
_VOID = frozenset({"meta", "br", "hr"})


def element(name: str, /, *children: Child, **attributes: str | bool) -> Markup:
    """An element. A trailing underscore of an attribute is dropped: ``class_``. Texts are escaped, `Markup` is not."""
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(*children)}</{name}>")


def joined(*children: Child) -> Markup:
    """Several pieces one after the other."""
    pieces: list[str] = []
    for child in children:
        if isinstance(child, Markup):
            pieces.append(child)
        elif isinstance(child, str):
            pieces.append(escape(clean_lines(child)))
        else:
            pieces.append(joined(*child))
    return Markup("".join(pieces))


def _attribute(key: str, value: str | bool) -> str:
    name = key.rstrip("_").replace("_", "-")
    if isinstance(value, bool):
        return f" {name}" if value else ""
    return f' {name}="{escape(clean_lines(value))}"' if value else ""

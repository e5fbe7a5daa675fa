"""Checks of what an agent passes to its turn beside text and place. Type hints bind nobody at run time."""

# pyright: reportUnnecessaryIsInstance=false
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.untrusted import check_texts
from trunkline.core.values import Poll


def check_beside(media: object, poll: object, buttons: object, silent: object, dry_run: object) -> str:
    """What is wrong with files, poll, buttons or flags of a send; empty if nothing is."""
    if not (isinstance(media, list | tuple) and isinstance(buttons, list | tuple)):
        name, value = ("buttons", buttons) if isinstance(media, list | tuple) else ("media", media)
        return f"{name} is of type {type(value).__name__} instead of a list"
    files = cast("Sequence[object]", media)
    wrong = check_texts((f"media[{number}]", one) for number, one in enumerate(files))
    if wrong or None in files:
        return wrong or "media has None in it"
    if not (poll is None or isinstance(poll, Poll)):
        return f"poll is of type {type(poll).__name__} instead of a Poll"
    flags = silent in (True, False) and dry_run in (True, False)
    return next(_check_buttons(cast("Sequence[object]", buttons)), "") if flags else "silent or dry_run is not a bool"


def plain_params(params: object) -> dict[str, object] | None:
    """The parameters of a call as a dict; None for what is no mapping of names."""
    if not isinstance(params, Mapping):
        return None
    try:
        given = dict(cast("Mapping[object, object]", params))
    except Exception:  # noqa: BLE001 -- a mapping of the agent's own may raise anything
        return None
    return cast("dict[str, object]", given) if all(type(name) is str for name in given) else None


def _check_buttons(rows: Sequence[object]) -> Iterator[str]:
    """What is wrong with rows of buttons."""
    for number, row in enumerate(rows):
        if not isinstance(row, list | tuple):
            yield f"buttons[{number}] is of type {type(row).__name__} instead of a row of buttons"
            return
        for one in cast("Sequence[object]", row):
            if not isinstance(one, Button):
                yield f"buttons[{number}] has a {type(one).__name__} instead of a Button"
                return
            wrong = check_texts((("text", one.text), ("value", one.value), ("url", one.url)))
            if wrong or not one.text.strip():
                yield f"buttons[{number}]: {wrong or 'a button without a text'}"


def parts_of(buttons: Sequence[Sequence[Button]], *, silent: bool) -> MessageParts | None:
    """The parts of a send; None: none of them."""
    rows = tuple(tuple(row) for row in buttons if row)
    return MessageParts(silent=bool(silent), buttons=rows) if rows or silent else None

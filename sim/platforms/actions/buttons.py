"""Buttons of messages, in each form in which a platform takes them."""

import json
from collections.abc import Iterator
from typing import Any, cast

from trunkline.core.errors import UnknownName
from trunkline.sim.platforms.actions.message_board import BoardMessage, PostedMessage

#: names of a component's text and value in Discord's JSON and in the tool's
_TEXTS, _VALUES = ("label", "text", "title"), ("custom_id", "customId", "value", "data")


def buttons_of(message: BoardMessage) -> dict[str, str]:
    """The buttons of a message: text -> value. A button that opens a page is none."""
    parts = message.request.parts if isinstance(message, PostedMessage) else None
    if parts is None:
        return {}
    found = {button.text: button.value or button.text for row in parts.buttons for button in row if button.url is None}
    for source in (parts.components, parts.card):
        for component in _components(None if source is None else json.loads(source)):
            text = next((component[name] for name in _TEXTS if isinstance(component.get(name), str)), "")
            value = next((component[name] for name in _VALUES if isinstance(component.get(name), str)), None)
            if value is not None:
                found[text or value] = value
    return found


def value_of_button(message: BoardMessage, button: str) -> str:
    """The value of a button, named by its text or its value. Raises `UnknownName` if the message has no such button."""
    there = buttons_of(message)
    if button in there:
        return there[button]
    if button in there.values():
        return button
    raise UnknownName(f"the message has no button {button!r}; it has {', '.join(there) or 'none'}")


def _components(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        found = cast("dict[str, Any]", value)
        yield found
        for inner in found.values():
            yield from _components(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _components(inner)

"""How long the parts of a message may be that are no text: buttons and polls. The servers on the wire use the same."""

from __future__ import annotations

import msgspec

from trunkline.core.errors import Refused
from trunkline.core.values import SendRequest


class PartLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a platform; None: it has none, or nobody has said so."""

    #: characters of a button's label
    button_text: int | None = None
    #: bytes of a button's value in UTF-8, or characters of it where the platform counts those
    button_bytes: int | None = None
    button_value: int | None = None
    #: characters of the question of a poll, and of an option
    question: int | None = None
    option: int | None = None

    def check(self, request: SendRequest) -> None:
        """Raise `Refused` for a part that is too long."""
        for row in () if request.parts is None else request.parts.buttons:
            for button in row:
                value = "" if button.url is not None else button.value or button.text
                _check("the label of a button", len(button.text), self.button_text)
                _check("the value of a button", len(value), self.button_value)
                _check("the bytes of a button's value", len(value.encode("utf-8", "replace")), self.button_bytes)
        if request.poll is not None:
            _check("the question of a poll", len(request.poll.question), self.question)
            for option in request.poll.options:
                _check("an option of a poll", len(option), self.option)


def _check(what: str, length: int, most: int | None) -> None:
    if most is not None and length > most:
        raise Refused(f"{what}: longer than {most}")

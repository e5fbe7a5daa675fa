"""What a message may have beside its text and files: buttons, a card, an effect, silence."""

from __future__ import annotations

import msgspec


class Button(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A button below a message. A press sends `value` to the gateway, as an inbound of the person who pressed."""

    text: str
    value: str = ""
    #: opens this page instead
    url: str | None = None


class MessageParts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The parts of a message beside text, files, poll and payload; they go with its first chunk."""

    #: without a notification on the person's device
    silent: bool = False
    #: rows of buttons
    buttons: tuple[tuple[Button, ...], ...] = ()
    #: a card, as platform-specific JSON
    card: str | None = None
    #: interactive components, as platform-specific JSON (Discord)
    components: str | None = None
    #: the description of an embed (Discord); carries the cross-context mark
    embed: str | None = None
    #: a visual effect (iMessage)
    effect: str | None = None
    #: the id of a sticker
    sticker: str | None = None
    #: the name that a file is shown by
    file_name: str | None = None
    mime_type: str | None = None
    #: a sound file is shown as a voice message
    as_voice: bool = False
    #: a video is shown as an animation
    gif: bool = False

    @property
    def is_visible(self) -> bool:
        """Whether people see something even if there is no text: a card, a sticker, components."""
        return self.card is not None or self.components is not None or self.sticker is not None

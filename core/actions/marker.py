"""The mark that says where a message from another context comes from."""

import re

import msgspec

from trunkline.core.message_parts import MessageParts
from trunkline.core.values import Address, ChatKind, WorkKind

#: what the templates of a mark contain for the name of the place
CHANNEL = "{channel}"
_LONGEST_NAME = 60
_ANY_NAME = r"[^\n]{1,200}?"
#: turns that work in no conversation, by the names that people know
_NAMES = {WorkKind.WAKE: "wake-up", WorkKind.CALLBACK: "a task", WorkKind.CRON: "schedule"}


class ContextMark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A finished mark: text around the message, or the description of an embed below it."""

    #: where the message comes from, e.g. ``#general``
    label: str
    prefix: str = ""
    suffix: str = ""
    #: instead of prefix and suffix, where the platform shows embeds
    embed: str | None = None

    def around(self, text: str) -> str:
        """A text with its mark, unless an embed has the mark."""
        return text if self.embed is not None else f"{self.prefix}{text}{self.suffix}"

    def beside(self, parts: MessageParts | None) -> MessageParts | None:
        """The parts of a message with the embed that has the mark, if one has."""
        if self.embed is None:
            return parts
        return msgspec.structs.replace(parts or MessageParts(), embed=self.embed)


def make_mark(label: str, prefix: str, suffix: str, *, embeds: bool) -> ContextMark | None:
    """The mark with a label filled in everywhere; None if nothing of it would be visible."""
    if embeds:
        return ContextMark(label=label, embed=f"From {label}")
    before, after = prefix.replace(CHANNEL, label), suffix.replace(CHANNEL, label)
    return ContextMark(label=label, prefix=before, suffix=after) if (before + after).strip() else None


def unmarked(text: str, prefix: str, suffix: str) -> str:
    """A text without the mark of two templates; unchanged without a mark."""
    before, after = (re.escape(part).replace(re.escape(CHANNEL), _ANY_NAME) for part in (prefix, suffix))
    found = re.fullmatch(f"{before}(.*){after}", text, re.DOTALL)
    return text if found is None else found[1]


def label_of(origin: Address | None, name: str, work: WorkKind, target: Address) -> str:
    """Where a message comes from, for the people who read it elsewhere.

    `name` is that of the origin in a directory, if it is known. The id of a direct chat is often a phone number, so
    it is not shown to others.
    """
    if origin is None:
        return _NAMES.get(work, work.value)
    direct = origin.kind is ChatKind.DIRECT
    if shown := " ".join(name.split())[:_LONGEST_NAME]:
        label = _signed(shown, "@" if direct else "#")
    else:
        label = "a direct chat" if direct else f"#{origin.conversation}"
    return label if origin.channel == target.channel else f"{label} on {origin.channel}"


def _signed(name: str, sign: str) -> str:
    return name if name.startswith(("#", "@")) else f"{sign}{name}"

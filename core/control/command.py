"""Commands read: ``/focus <session>``, ``/unfocus``, ``/agents`` (issue 5)."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class CommandName(StrEnum):
    """What can be asked."""

    #: bind this conversation to a session
    FOCUS = "focus"
    #: end the binding of this conversation
    UNFOCUS = "unfocus"
    #: what is bound, and what work is under way in a session of its own
    AGENTS = "agents"


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A command with what stands behind it."""

    name: CommandName
    argument: str = ""


_NAMES = {name.value: name for name in CommandName}


def read_command(text: str) -> Command | None:
    """The command that a message is; none: it is none. Telegram writes the bot behind it: ``/focus@bot main``."""
    word, _, rest = text.strip().partition(" ")
    if not word.startswith("/"):
        return None
    name = _NAMES.get(word[1:].partition("@")[0].lower())
    return None if name is None else Command(name=name, argument=" ".join(rest.split()))


def is_command(text: str) -> bool:
    """Whether a message is a command."""
    return read_command(text) is not None

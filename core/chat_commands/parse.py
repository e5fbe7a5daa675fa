"""Commands read: ``/focus <session>``, ``/unfocus``, ``/agents`` (issue 5)."""

from __future__ import annotations

from collections.abc import Collection
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


def read_command(text: str, names: Collection[str] = ()) -> Command | None:
    """The command that a message is; none: it is none.

    Telegram writes the bot behind it: ``/focus@bot main``. `names`: those of this gateway's bots, in lower case; empty:
    any name is one of them.
    """
    word, _, rest = text.strip().partition(" ")
    if not word.startswith("/"):
        return None
    said, _, bot = word[1:].lower().partition("@")
    name = _NAMES.get(said) if not bot or not names or bot in names else None
    return None if name is None else Command(name=name, argument=" ".join(rest.split()))


def is_command(text: str, names: Collection[str] = ()) -> bool:
    """Whether a message is a command for this gateway; see `read_command`."""
    return read_command(text, names) is not None

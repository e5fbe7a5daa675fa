"""Parses chat commands: ``/focus <session>``, ``/unfocus``, ``/agents``, ``/tasks``, ``/cancel <task>``."""

from collections.abc import Collection
from enum import StrEnum

import msgspec


class CommandName(StrEnum):
    """The name of a command."""

    #: bind this conversation to a session
    FOCUS = "focus"
    #: end the binding of this conversation
    UNFOCUS = "unfocus"
    #: list bindings, including those of delegated work
    AGENTS = "agents"
    #: list what hands do for this person
    TASKS = "tasks"
    #: end one of these
    CANCEL = "cancel"


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A command with an argument."""

    name: CommandName
    argument: str = ""


_NAMES = {name.value: name for name in CommandName}


def read_command(text: str, names: Collection[str] = ()) -> Command | None:
    """The command in a message, or None.

    Telegram appends the name of the bot: ``/focus@bot main``. `names`: those of this gateway's bots, in lower case; if
    empty, any name matches.
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

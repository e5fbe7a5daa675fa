"""The marks of messages that OpenClaw forwards to another conversation."""

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.marker import ContextMark, make_mark
from trunkline.core.config import MessageToolConfig
from trunkline.core.profiles.openclaw.message_tool import TextQuestion, same_target

#: the channel whose messages have an embed with the mark
_EMBEDS = "discord"
_SIGNS = {"channel": "#", "group": "#", "room": "#", "conversation": "#", "user": "@", "dm": "@"}


def mark_of(
    question: TextQuestion, tool: MessageToolConfig, guarded: frozenset[Action], name: str
) -> ContextMark | None:
    """The mark of an allowed message that is forwarded; what an agent sends by itself has none.

    `name` is that of the current conversation in the directory, if it has one.
    """
    marker = tool.cross_context.marker
    marked = question.action in guarded and question.action is not Action.THREAD_CREATE
    if not marked or not marker.enabled or not question.current.strip():
        return None
    if not question.target.strip() or same_target(question.channel, question.target, question.current):
        return None
    label = label_of(question.channel, question.current, name)
    return make_mark(label, marker.prefix, marker.suffix, embeds=question.channel == _EMBEDS)


def label_of(channel: str, current: str, name: str) -> str:
    """The name in the directory, else the id; the word before the id becomes ``#`` or ``@``."""
    bare = current.strip()
    if bare.lower().startswith(f"{channel.lower()}:"):
        bare = bare[len(channel) + 1 :].strip()
    word, colon, rest = bare.partition(":")
    sign = _SIGNS.get(word.lower(), "") if colon else ""
    shown = name.strip() or (rest.strip() if sign else bare)
    return shown if shown.startswith(("#", "@")) else f"{sign}{shown}"

"""Telegram: forum topics are threads inside their group; the topic is part of the session key.

Ids are numbers: negative for groups and channels, positive for users, whose private chat has their number. Private
chats with a bot may have topics too. The Bot API also puts thread ids on replies in chats without topics, but refuses
them in sends (scenario B090); a forum's topic 1, "General", is the group itself and is refused as a thread id. There
are no idempotency keys.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from trunkline.core.action_names import Action
from trunkline.core.actions.spec import Feature
from trunkline.core.channels.channel_actions import (
    NO_HANDLER,
    THREAD_REPLY,
    ChannelAction,
    PollFeatures,
    action,
    react,
    table,
)
from trunkline.core.channels.rules import (
    ChannelRules,
    CurrentConversation,
    Hints,
    InboundPlace,
    OutboundPlace,
    ParsedTarget,
    TargetText,
    given,
)
from trunkline.core.channels.target_parsing import agree, word_kind
from trunkline.core.values import Address, Capabilities, ChatKind, Chunker, Markup

PREFIXES = re.compile(r"\A(?:telegram|tg):\s*(?:(?:telegram|tg|group):\s*)*", re.IGNORECASE)
TOPIC = re.compile(r"(.+?):topic:([0-9]{1,18})")
SHORT_TOPIC = re.compile(r"(.+):([0-9]{1,18})")
NUMBER = re.compile(r"-?[0-9]{1,18}")
_CHAT = re.compile(r"-?[1-9][0-9]{0,17}")
_ANY_TOPIC = re.compile(r"(-?[0-9]+):(?:topic:)?([0-9]{1,18})", re.IGNORECASE)
#: the number of the topic "General", which every forum has
GENERAL = 1
_WORDS = ("user", "dm", "group", "channel", "conversation", "room", "chat")


class TelegramMessage(msgspec.Struct, frozen=True, kw_only=True):
    """Telegram's facts about a message; numbers may be integers or text."""

    chat_id: str | int
    chat_type: Literal["private", "group", "supergroup", "channel"]
    sender_id: str | int | None = None
    message_id: str | int | None = None
    #: ``message_thread_id``: of a topic or of a reply chain
    thread_id: str | int | None = None
    #: whether the chat is a forum
    is_forum: bool = False
    #: ``is_topic_message``; None: unknown, then exactly a forum's thread ids are topics
    is_topic: bool | None = None


_ACTIONS = table(
    {
        Action.THREAD_REPLY: THREAD_REPLY,
        Action.POLL: action(gate="poll"),
        Action.POLL_RESULTS: action("messageId|pollId", gate="poll"),
        Action.REACT: react("Emoji is required to remove a Telegram reaction."),
        Action.EDIT: action("messageId", "message", gate="edit_message"),
        Action.DELETE: action("messageId", gate="delete_message", of_others="moderation"),
        Action.STICKER: ChannelAction(
            needs=("to", "stickerId|fileId"), gate="sticker", on=False, labels={"stickerId|fileId": "fileId"}
        ),
        Action.STICKER_SEARCH: action("query", gate="sticker", on=False),
        Action.PIN: action("messageId", gate="pins"),
        Action.UNPIN: action("messageId", gate="pins"),
        Action.TOPIC_CREATE: action("name", gate="create_forum_topic"),
        Action.TOPIC_EDIT: action("threadId", gate="edit_forum_topic"),
    }
)


class Telegram(ChannelRules):
    """The rules of Telegram."""

    channel = "telegram"
    prefixes = ("tg",)
    forms = ("-1001 (a group)", "1 (a user)", "-1001:topic:2", "-1001:2", "telegram:...", "user:1", "group:-1001")
    case_sensitive = False
    thread_word = "topic"
    has_threads = True
    capabilities = Capabilities(text_limit=4096, caption_limit=1024, markup=Markup.HTML)
    chunker = Chunker.MARKDOWN
    chunk_limit = 4000
    actions = _ACTIONS
    features = frozenset({Feature.BUTTONS, Feature.SILENT})
    polls = PollFeatures(seconds=True, anonymous=True)
    unsupported = NO_HANDLER

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """A number, perhaps with a topic; its sign shows the kind."""
        trimmed = self.clean(text)
        word, rest = self.kind_word(self.strip(trimmed, repeat=True), _WORDS)
        topic = _ANY_TOPIC.fullmatch(rest)
        chat = topic[1] if topic else rest
        kind = ChatKind.GROUP if chat.startswith("-") else ChatKind.DIRECT
        if not chat:
            return self.target(word_kind(word) or kind, chat, text, f"by the prefix {word or self.channel}:")
        found = self.target(kind, chat, text, "by the minus of its number" if chat.startswith("-") else "by its number")
        if not _CHAT.fullmatch(chat):
            raise self.wrong(text, f"a chat is a number, but {chat!r} is none; a name must be looked up first")
        agree(self, text, word, kind)
        return msgspec.structs.replace(found, thread=_topic(kind, int(topic[2])) if topic else None)

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None) -> OutboundPlace:
        """The topic in the target, else the thread. A reply is a quote in the same place."""
        topic = target.thread or self._topic_of(target, thread)
        tail = f":topic:{topic}" if topic else ""
        group = target.kind is ChatKind.GROUP
        return OutboundPlace(
            conversation=target.id,
            thread=topic,
            peer=target.id + (tail if group else ""),
            thread_id=topic,
            sender=f"telegram:{'group:' if group else ''}{target.id}{tail}",
            to=f"telegram:{target.id}{tail}",
        )

    def _topic_of(self, target: ParsedTarget, thread: str | None) -> str | None:
        """The topic that a send names: a number, alone or after its chat."""
        text = given(thread) or ""
        scoped = _ANY_TOPIC.fullmatch(text)
        number = scoped[2] if scoped else text
        if text and (not NUMBER.fullmatch(number) or int(number) < 0 or (scoped and scoped[1] != target.id)):
            raise self.wrong(f"{target.id}:topic:{text}", f"{text!r} is not a topic of {target.id}")
        return _topic(target.kind, int(number)) if text else None

    def inherit(self, target: ParsedTarget, current: CurrentConversation) -> str | None:
        """A send to the current chat stays in its topic, in any reply mode."""
        if target.thread is not None or current.conversation is None:
            return None
        here = PREFIXES.sub("", current.conversation.strip(), count=1)
        topic = TOPIC.fullmatch(here) or SHORT_TOPIC.fullmatch(here)
        return current.thread if (topic[1] if topic else here).strip().lower() == target.id.lower() else None

    def write(self, address: Address) -> TargetText:
        tail = f":topic:{address.thread}" if address.thread else ""
        return TargetText(target=f"telegram:{address.conversation}{tail}", thread=address.thread)


def _topic(kind: ChatKind, number: int) -> str | None:
    """The thread of a topic number. 0 means none; a forum's General is the group itself."""
    return None if number == 0 or (number == GENERAL and kind is ChatKind.GROUP) else str(number)


def read_inbound(message: TelegramMessage, account: str) -> InboundPlace:
    """The place of a message. A private chat has the id of its sender; only topics are threads."""
    chat, direct = str(message.chat_id), message.chat_type == "private"
    kind = ChatKind.DIRECT if direct else ChatKind.GROUP
    number = None if message.thread_id is None else int(message.thread_id)
    topical = message.is_topic if message.is_topic is not None else message.is_forum
    thread = _topic(kind, number) if topical and number is not None else None
    sender = str(message.sender_id) if direct and message.sender_id is not None else chat
    return InboundPlace(
        address=Address(
            channel=Telegram.channel,
            account=account,
            kind=kind,
            conversation=sender,
            thread=thread,
        ),
        is_thread_reply=thread is not None,
        reply_to=None if message.message_id is None else str(message.message_id),
        message_thread=thread,
        threaded=thread is not None or number is None or (message.is_forum and number == GENERAL),
    )

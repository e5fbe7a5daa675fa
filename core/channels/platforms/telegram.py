"""Telegram: forum topics are threads inside their group; the topic is part of the session key.

Ids are numbers: negative for groups and channels, positive for users, whose private chat has their number. Private
chats with a bot may have topics too. The Bot API also puts thread ids on replies in chats without topics, but refuses
them in sends (scenario B090); a forum's topic 1, "General", is the group itself and is refused as a thread id. The
direct messages of a channel are one chat with a topic for each person: its thread is ``dm`` and the topic's number,
since sends name such topics by another parameter. There are no idempotency keys.
"""

import re
from typing import Literal

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.features import Feature
from trunkline.core.channels import channel_actions, rules
from trunkline.core.channels.target_parsing import agree, word_kind
from trunkline.core.values import Address, Capabilities, ChatKind, Chunker, Markup

PREFIXES = re.compile(r"\A(?:telegram|tg):\s*(?:(?:telegram|tg|group):\s*)*", re.IGNORECASE)
TOPIC = re.compile(r"(.+?):topic:((?:dm)?[0-9]{1,18})")
SHORT_TOPIC = re.compile(r"(.+):((?:dm)?[0-9]{1,18})")
NUMBER = re.compile(r"-?[0-9]{1,18}")
_CHAT = re.compile(r"-?[1-9][0-9]{0,17}")
_ANY_TOPIC = re.compile(r"(-?[0-9]+):(?:topic:)?((?:dm)?[0-9]{1,18})", re.IGNORECASE)
_DIRECT_TOPIC = re.compile(r"dm([0-9]{1,18})", re.IGNORECASE)
_DIGITS = 18
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
    is_forum: bool = False
    #: ``is_topic_message``; None: unknown, then exactly a forum's thread ids are topics
    is_topic: bool | None = None
    #: ``direct_messages_topic``: of a person who writes to a channel
    direct_topic: str | int | None = None


_ACTIONS = channel_actions.table(
    {
        Action.THREAD_REPLY: channel_actions.THREAD_REPLY,
        Action.POLL: channel_actions.action(gate="poll"),
        Action.POLL_RESULTS: channel_actions.action("messageId|pollId", gate="poll"),
        Action.REACT: channel_actions.react("Emoji is required to remove a Telegram reaction."),
        Action.EDIT: channel_actions.action("messageId", "message", gate="edit_message"),
        Action.DELETE: channel_actions.action("messageId", gate="delete_message", of_others="moderation"),
        Action.STICKER: channel_actions.ChannelAction(
            needs=("to", "stickerId|fileId"), gate="sticker", on=False, labels={"stickerId|fileId": "fileId"}
        ),
        Action.STICKER_SEARCH: channel_actions.action("query", gate="sticker", on=False),
        Action.PIN: channel_actions.action("messageId", gate="pins"),
        Action.UNPIN: channel_actions.action("messageId", gate="pins"),
        Action.TOPIC_CREATE: channel_actions.action("name", gate="create_forum_topic"),
        Action.TOPIC_EDIT: channel_actions.action("threadId", gate="edit_forum_topic"),
    }
)


class Telegram(rules.ChannelRules):
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
    polls = channel_actions.PollFeatures(seconds=True, anonymous=True)
    unsupported = channel_actions.NO_HANDLER

    def read(self, text: str, hints: rules.Hints) -> rules.ParsedTarget:
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
        return msgspec.structs.replace(found, thread=_topic(kind, topic[2]) if topic else None)

    def place(self, target: rules.ParsedTarget, thread: str | None, reply_to: str | None) -> rules.OutboundPlace:
        """The topic in the target, else the thread. A reply is a quote in the same place."""
        topic = target.thread or self._topic_of(target, thread)
        tail = f":topic:{topic}" if topic else ""
        group = target.kind is ChatKind.GROUP
        return rules.OutboundPlace(
            conversation=target.id,
            thread=topic,
            peer=target.id + (tail if group else ""),
            thread_id=topic,
            sender=f"telegram:{'group:' if group else ''}{target.id}{tail}",
            to=f"telegram:{target.id}{tail}",
        )

    def _topic_of(self, target: rules.ParsedTarget, thread: str | None) -> str | None:
        """The topic that a send names: a number, alone or after its chat."""
        text = rules.given(thread) or ""
        scoped = _ANY_TOPIC.fullmatch(text)
        number = scoped[2] if scoped else text
        plain = number.isascii() and number.isdecimal() and len(number) <= _DIGITS
        if text and (not (plain or direct_topic(number)) or (scoped and scoped[1] != target.id)):
            raise self.wrong(f"{target.id}:topic:{text}", f"{text!r} is not a topic of {target.id}")
        return _topic(target.kind, number) if text else None

    def inherit(self, target: rules.ParsedTarget, current: rules.CurrentConversation) -> str | None:
        """A send to the current chat stays in the topic, in any reply mode."""
        if target.thread is not None or current.conversation is None:
            return None
        here = PREFIXES.sub("", current.conversation.strip(), count=1)
        topic = TOPIC.fullmatch(here) or SHORT_TOPIC.fullmatch(here)
        return current.thread if (topic[1] if topic else here).strip().lower() == target.id.lower() else None

    def write(self, address: Address) -> rules.TargetText:
        tail = f":topic:{address.thread}" if address.thread else ""
        return rules.TargetText(target=f"telegram:{address.conversation}{tail}", thread=address.thread)


def direct_topic(thread: str | None) -> int | None:
    """The number of a topic in the direct messages of a channel; None for any other thread."""
    found = _DIRECT_TOPIC.fullmatch(thread or "")
    return None if found is None else int(found[1])


def _topic(kind: ChatKind, text: str) -> str | None:
    """The thread of a topic. 0 means none; a forum's General is the group itself."""
    direct = direct_topic(text)
    if direct is not None:
        return f"dm{direct}"
    number = int(text)
    return None if number == 0 or (number == GENERAL and kind is ChatKind.GROUP) else str(number)


def read_inbound(message: TelegramMessage, account: str) -> rules.InboundPlace:
    """The place of a message. A private chat has the id of its sender; only topics are threads."""
    chat, direct = str(message.chat_id), message.chat_type == "private"
    kind = ChatKind.DIRECT if direct else ChatKind.GROUP
    number = None if message.thread_id is None else int(message.thread_id)
    topical = message.is_topic if message.is_topic is not None else message.is_forum
    thread = _topic(kind, str(number)) if topical and number is not None else None
    if message.direct_topic is not None:
        thread, number = f"dm{message.direct_topic}", None
    sender = str(message.sender_id) if direct and message.sender_id is not None else chat
    return rules.InboundPlace(
        address=Address(channel=Telegram.channel, account=account, kind=kind, conversation=sender, thread=thread),
        is_thread_reply=thread is not None,
        reply_to=None if message.message_id is None else str(message.message_id),
        message_thread=thread,
        threaded=thread is not None or number is None or (message.is_forum and number == GENERAL),
    )

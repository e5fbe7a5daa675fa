"""Handles and chats of iMessage, shared by the channels iMessage and BlueBubbles.

People have handles: a phone number, a mail address, or a service's short number. A chat is named by its row number in
the database (``chat_id``), by its guid ``<service>;<style>;<identifier>``, or by the identifier alone. Style ``-`` is a
chat with one person, whose handle is the identifier; ``+`` is a group. So guid and identifier of a group are one
conversation with one key. The row number cannot be matched to them without the database.
"""

import re

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.features import Feature
from trunkline.core.channels.channel_actions import NO_HANDLER, ActionTable, ChannelAction, PollFeatures, table
from trunkline.core.channels.rules import ChannelRules, Hints, ParsedTarget
from trunkline.core.channels.target_parsing import agree, normal_phone, word_kind
from trunkline.core.values import ChatKind

#: services before a target; a person is the same conversation over any of them
SERVICES = ("imessage", "sms", "auto")
#: spellings of the words that name a chat, and their canonical form
CHAT_WORDS = {
    **dict.fromkeys(("chat_id", "chatid", "chat"), "chat_id"),
    **dict.fromkeys(("chat_guid", "chatguid", "guid"), "chat_guid"),
    **dict.fromkeys(("chat_identifier", "chatidentifier", "chatident"), "chat_identifier"),
}
FORMS = (
    "+15551234567",
    "ana@example.com",
    "imessage:, sms: or auto: before either",
    "chat_id:42",
    "chat_guid:iMessage;+;chat123",
    "chat_identifier:chat123",
)
_KIND_WORDS = ("user", "dm", "group", "room", "channel", "conversation")
_ROW = re.compile(r"[0-9]+")
_GUID = re.compile(r"[A-Za-z]+;([-+]);(.+)")
#: identifiers recognised as groups: ``chat<digits>``, long hexadecimal numbers, UUIDs
_IDENTIFIER = re.compile(r"chat[0-9]+|[0-9a-f]{24,64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_MAIL = re.compile(r"[^\s@:;]+@[^\s@:;]+")
#: short numbers of services, and accounts of businesses
_SERVICE = re.compile(r"[0-9]{3,6}|urn:biz:[0-9a-z-]+", re.IGNORECASE)

_TARGET = "to or target (the chat target)"
_TEXT = "text or message (the message content)"
_EFFECT = "slam, loud, gentle, invisible-ink, confetti, lasers, fireworks, balloons, heart"


def _group(which: str, *needs: str, error: str = "") -> ChannelAction:
    return ChannelAction(needs=needs, gate=which, errors=dict.fromkeys(needs, error), group_only=True)


#: the errors are BlueBubbles' own
APPLE_ACTIONS: ActionTable = table(
    {
        Action.REACT: ChannelAction(
            needs=("messageId", "emoji"),
            gate="reactions",
            errors={
                "messageId": (
                    "BlueBubbles react requires messageId parameter (the message ID to react to). Use action=react with"
                    " messageId=<message_id>, emoji=<emoji>, and to/chatGuid to identify the chat."
                ),
                "emoji": (
                    "BlueBubbles react requires emoji parameter. Use action=react with emoji=<emoji> and"
                    " messageId=<message_id>."
                ),
                "emoji to remove": "Emoji is required to remove a BlueBubbles reaction.",
            },
        ),
        Action.EDIT: ChannelAction(
            needs=("messageId", "text|newText|message"),
            gate="edit",
            labels={
                "messageId": "messageId (the message ID to edit)",
                "text|newText|message": "text (the new message content)",
            },
            all_missing=(
                "BlueBubbles edit requires: {}. Use action=edit with messageId=<message_id>, text=<new_content>."
            ),
        ),
        Action.UNSEND: ChannelAction(
            needs=("messageId",),
            gate="unsend",
            errors={
                "messageId": (
                    "BlueBubbles unsend requires messageId parameter (the message ID to unsend). Use action=unsend with"
                    " messageId=<message_id>."
                )
            },
        ),
        Action.REPLY: ChannelAction(
            needs=("messageId", "text|message", "to"),
            gate="reply",
            labels={
                "messageId": "messageId (the message ID to reply to)",
                "text|message": "text or message (the reply message content)",
                "to": _TARGET,
            },
            all_missing=(
                "BlueBubbles reply requires: {}. Use action=reply with messageId=<message_id>, message=<your reply>,"
                " target=<chat_target>."
            ),
        ),
        Action.SEND_WITH_EFFECT: ChannelAction(
            needs=("text|message", "to", "effectId|effect"),
            gate="send_with_effect",
            labels={"text|message": _TEXT, "to": _TARGET, "effectId|effect": f"effectId or effect (e.g., {_EFFECT})"},
            all_missing=(
                "BlueBubbles sendWithEffect requires: {}. Use action=sendWithEffect with message=<message>,"
                " target=<chat_target>, effectId=<effect_name>."
            ),
        ),
        Action.SEND_ATTACHMENT: ChannelAction(
            needs=("to", "media|path|filePath|buffer"),
            gate="send_attachment",
            errors={"media|path|filePath|buffer": "BlueBubbles sendAttachment requires buffer (base64) parameter."},
        ),
        Action.RENAME_GROUP: _group(
            "rename_group", "displayName|name", error="BlueBubbles renameGroup requires displayName or name parameter."
        ),
        Action.SET_GROUP_ICON: _group(
            "set_group_icon",
            "media|path|filePath|buffer",
            error=(
                "BlueBubbles setGroupIcon requires an image. Use action=setGroupIcon with media=<image_url> or"
                " path=<local_file_path> to set the group icon."
            ),
        ),
        Action.ADD_PARTICIPANT: _group(
            "add_participant",
            "address|participant",
            error="BlueBubbles addParticipant requires address or participant parameter.",
        ),
        Action.REMOVE_PARTICIPANT: _group(
            "remove_participant",
            "address|participant",
            error="BlueBubbles removeParticipant requires address or participant parameter.",
        ),
        Action.LEAVE_GROUP: _group("leave_group"),
    }
)


def without_services(text: str) -> str:
    """The text without any service prefixes, in any case."""
    return re.sub(rf"\A(?:(?:{'|'.join(SERVICES)}):\s*)+", "", text, flags=re.IGNORECASE)


def chat_word(kind: ChatKind, id: str) -> str:  # noqa: A002 -- the word
    """The word that names a chat with this id; empty for a person's handle."""
    if ";" in id:
        return "chat_guid:"
    if kind is ChatKind.DIRECT:
        return ""
    return "chat_id:" if _ROW.fullmatch(id) else "chat_identifier:"


class AppleRules(ChannelRules):
    """The rules of iMessage over any bridge."""

    forms = FORMS
    #: for people; ids of chats keep their case, see `fold`
    case_sensitive = False
    chunk_limit = 4000
    actions = APPLE_ACTIONS
    features = frozenset({Feature.EFFECTS})
    polls = PollFeatures()
    unsupported = NO_HANDLER

    def fold(self, kind: ChatKind, id: str) -> str:  # noqa: A002
        """Handles are folded, identifiers of groups keep their case; a guid becomes its identifier."""
        guid = _GUID.fullmatch(id)
        named = guid[2] if guid else id
        return named.lower() if kind is ChatKind.DIRECT else named

    def to(self, target: ParsedTarget) -> str:
        """To: the platform, and the handle, or the chat with a word."""
        return f"{self.channel}:{chat_word(target.kind, target.id)}{target.id}"

    def target_by_alias(self, name: str, value: str) -> str:
        word = CHAT_WORDS.get(name.lower())
        return f"{word}:{value}" if word else value

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        bare = without_services(self.strip(self.clean(text), repeat=True))
        word, id = self.kind_word(bare, _KIND_WORDS)  # noqa: A001 -- the word
        form, value = self.kind_word(id, tuple(CHAT_WORDS))
        if form:
            found = self._chat(CHAT_WORDS[form], value, text)
        elif not id:
            return self.target(word_kind(word) or ChatKind.DIRECT, id, text, f"by the prefix {word or self.channel}:")
        elif word_kind(word) in (ChatKind.GROUP, ChatKind.CHANNEL):
            found = self._chat(word, id, text)
        else:
            found = self._plain(id, text, hints)
        agree(self, text, word, found.kind)
        return found

    def _chat(self, word: str, value: str, text: str) -> ParsedTarget:
        """A target that is named as a chat. A chat with one person is the direct conversation with that person."""
        if word == "chat_id" and value and not _ROW.fullmatch(value):
            raise self.wrong(text, f"it was understood as the number of a chat, but {value!r} is not a number")
        if (guid := _GUID.fullmatch(value)) and guid[1] == "-":
            return self.target(ChatKind.DIRECT, value, text, "by the guid of a chat with one person")
        if not guid and (value.startswith("+") or "@" in value):
            return self._handle(value, text)
        return self.target(ChatKind.GROUP, value, text, f"by the prefix {word}:")

    def _plain(self, id: str, text: str, hints: Hints) -> ParsedTarget:  # noqa: A002
        if _GUID.fullmatch(id):
            return self._chat("chat_guid", id, text)
        known = _IDENTIFIER.fullmatch(id)
        if known or hints.kind is ChatKind.GROUP:
            how = "by the form of the identifier" if known else "according to a directory"
            return self.target(ChatKind.GROUP, id, text, how)
        return self._handle(id, text)

    def _handle(self, handle: str, text: str) -> ParsedTarget:
        if _MAIL.fullmatch(handle):
            return self.target(ChatKind.DIRECT, handle, text, "by mail address")
        if _SERVICE.fullmatch(handle):
            return self.target(ChatKind.DIRECT, handle, text, "by the number of a service")
        phone = normal_phone(handle)
        if phone is None:
            raise self.wrong(text, f"{handle!r} is neither a phone number with its country nor a mail address")
        return self.target(ChatKind.DIRECT, phone, text, "by phone number")

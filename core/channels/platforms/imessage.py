"""iMessage and SMS through a Mac: people have handles, chats a number, guid or identifier; no threads."""

from trunkline.core.channels.platforms.imessage_common import AppleRules, chat_word
from trunkline.core.channels.rules import ParsedTarget


class IMessage(AppleRules):
    channel = "imessage"

    def to(self, target: ParsedTarget) -> str:
        return f"{chat_word(target.kind, target.id) or f'{self.channel}:'}{target.id}"

"""BlueBubbles, a bridge to iMessage and SMS: handles and chats as on iMessage, no threads."""

from trunkline.core.channels.platforms.imessage_common import FORMS, AppleRules


class BlueBubbles(AppleRules):
    channel = "bluebubbles"
    forms = (*FORMS, "chat123 (a group)", "group:ID")

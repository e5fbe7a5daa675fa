"""The names of the actions of the message tool, as agents and models write them."""

from enum import StrEnum


class Action(StrEnum):
    """An action of the message tool. `core.actions.catalogue` declares what each needs."""

    # messages
    SEND = "send"
    BROADCAST = "broadcast"
    POLL = "poll"
    REPLY = "reply"
    THREAD_REPLY = "thread-reply"
    STICKER = "sticker"
    SEND_WITH_EFFECT = "sendWithEffect"
    SEND_ATTACHMENT = "sendAttachment"
    UPLOAD_FILE = "upload-file"

    # changes of messages
    EDIT = "edit"
    UNSEND = "unsend"
    DELETE = "delete"
    REACT = "react"
    PIN = "pin"
    UNPIN = "unpin"
    POLL_VOTE = "poll-vote"

    # threads and topics
    THREAD_CREATE = "thread-create"
    TOPIC_CREATE = "topic-create"
    TOPIC_EDIT = "topic-edit"

    # groups
    RENAME_GROUP = "renameGroup"
    SET_GROUP_ICON = "setGroupIcon"
    ADD_PARTICIPANT = "addParticipant"
    REMOVE_PARTICIPANT = "removeParticipant"
    LEAVE_GROUP = "leaveGroup"

    # servers: members, channels, events
    TIMEOUT = "timeout"
    KICK = "kick"
    BAN = "ban"
    ROLE_ADD = "role-add"
    ROLE_REMOVE = "role-remove"
    CHANNEL_CREATE = "channel-create"
    CHANNEL_EDIT = "channel-edit"
    CHANNEL_DELETE = "channel-delete"
    CHANNEL_MOVE = "channel-move"
    CATEGORY_CREATE = "category-create"
    CATEGORY_EDIT = "category-edit"
    CATEGORY_DELETE = "category-delete"
    EVENT_CREATE = "event-create"
    EMOJI_UPLOAD = "emoji-upload"
    STICKER_UPLOAD = "sticker-upload"

    # the account itself
    SET_PRESENCE = "set-presence"
    SET_PROFILE = "set-profile"

    # questions
    REACTIONS = "reactions"
    READ = "read"
    LIST_PINS = "list-pins"
    PERMISSIONS = "permissions"
    SEARCH = "search"
    STICKER_SEARCH = "sticker-search"
    MEMBER_INFO = "member-info"
    ROLE_INFO = "role-info"
    EMOJI_LIST = "emoji-list"
    CHANNEL_INFO = "channel-info"
    CHANNEL_LIST = "channel-list"
    THREAD_LIST = "thread-list"
    VOICE_STATUS = "voice-status"
    EVENT_LIST = "event-list"
    DOWNLOAD_FILE = "download-file"
    #: ours: the votes of a poll so far
    POLL_RESULTS = "poll-results"

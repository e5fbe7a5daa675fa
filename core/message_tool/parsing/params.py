"""The parameters of the message tool: wire name, type, description, and the actions that take it."""

from enum import StrEnum

import msgspec

from trunkline.core.action_catalogue import Action as A
from trunkline.core.action_catalogue import ActionKind
from trunkline.core.actions.features import Feature


class ParamType(StrEnum):
    TEXT = "text"
    #: a text; a whole number is accepted too
    ID = "id"
    #: true or false, also as text
    FLAG = "flag"
    NUMBER = "number"
    INTEGER = "integer"
    #: a list of texts; one text is accepted too
    TEXTS = "texts"
    #: an object or a list, also as JSON text
    JSON = "json"


class Param(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str
    type: ParamType
    about: str
    #: the actions that take it; empty: every action
    actions: frozenset[A] = frozenset()
    needs: Feature | None = None
    #: another spelling, or another name of the target: understood, and not shown to agents
    hidden: bool = False


_TEXT, _ID, _FLAG, _NUMBER = ParamType.TEXT, ParamType.ID, ParamType.FLAG, ParamType.NUMBER
_INTEGER, _TEXTS, _JSON = ParamType.INTEGER, ParamType.TEXTS, ParamType.JSON

_SENDS = tuple(action for action in A if action.spec.kind is ActionKind.MESSAGE)
#: actions that send a text or a file
MESSAGES = tuple(action for action in _SENDS if action not in (A.POLL, A.STICKER))
_OF_MESSAGE = tuple(action for action in A if action.spec.of_message)
_FILES = (*MESSAGES, A.SET_GROUP_ICON, A.EMOJI_UPLOAD, A.STICKER_UPLOAD, A.SET_PROFILE)
_PEOPLE = (A.MEMBER_INFO, A.ROLE_ADD, A.ROLE_REMOVE, A.TIMEOUT, A.KICK, A.BAN, A.VOICE_STATUS)
_CATEGORIES = (A.CATEGORY_CREATE, A.CATEGORY_EDIT, A.CATEGORY_DELETE)
_CHANNELS = (A.CHANNEL_CREATE, A.CHANNEL_EDIT, A.CHANNEL_MOVE)
_SERVER = (
    *(*_PEOPLE, *_CATEGORIES, *_CHANNELS, A.CHANNEL_INFO, A.CHANNEL_LIST, A.CHANNEL_DELETE, A.THREAD_LIST, A.SEARCH),
    *(A.ROLE_INFO, A.EMOJI_LIST, A.EMOJI_UPLOAD, A.STICKER_UPLOAD, A.EVENT_LIST, A.EVENT_CREATE),
)
_LISTS = (A.REACTIONS, A.READ, A.SEARCH, A.STICKER_SEARCH, A.THREAD_LIST, A.LIST_PINS, A.EVENT_LIST, A.CHANNEL_LIST)
_OF_CHAT = tuple(action for action in A if "chatId" in action.spec.aliases)
_NAMED = (A.RENAME_GROUP, A.CHANNEL_CREATE, A.CHANNEL_EDIT, *_CATEGORIES, A.TOPIC_CREATE, A.TOPIC_EDIT, A.SET_PROFILE)
_PARTS = (A.REACT, A.EDIT, A.UNSEND, A.REPLY)


def _param(
    name: str,
    type: ParamType,  # noqa: A002 -- the word
    about: str,
    *actions: A,
    needs: Feature | None = None,
    hidden: bool = False,
) -> Param:
    return Param(name=name, type=type, about=about, actions=frozenset(actions), needs=needs, hidden=hidden)


_DECLARED = (
    # routing
    _param("channel", _TEXT, "The channel. Default: that of the current conversation, or the only one there is."),
    _param("target", _ID, "The person, group or channel: an id or a name. Default: the current conversation."),
    _param("targets", _TEXTS, "Several targets, for a broadcast.", A.BROADCAST),
    _param("accountId", _TEXT, "The account that acts. Default: the agent's own on that channel."),
    _param("dryRun", _FLAG, "Only check the call; nothing is sent or changed."),
    _param("to", _ID, "Former name of `target`.", hidden=True),
    # texts and files
    _param("message", _TEXT, "The text.", *_SENDS, A.EDIT, A.THREAD_CREATE),
    _param("text", _TEXT, "Another name of `message`.", *_SENDS, A.EDIT, hidden=True),
    _param("newText", _TEXT, "Another name of `message`.", A.EDIT, hidden=True),
    _param("content", _TEXT, "Another name of `message`.", *_SENDS, A.EDIT, hidden=True),
    _param("caption", _TEXT, "The text below a file, if there is no `message`.", *MESSAGES),
    _param("media", _TEXT, "URL or local path of a file to send.", *_FILES),
    _param("path", _TEXT, "Local path of a file to send.", *_FILES),
    _param("filePath", _TEXT, "Local path of a file to send.", *_FILES),
    _param("buffer", _TEXT, "A file as base64, or as a data: URL.", *_FILES),
    _param("filename", _TEXT, "The name that a file is shown by.", *_FILES),
    _param("contentType", _TEXT, "MIME type of the file.", *_FILES),
    _param("mimeType", _TEXT, "Another name of `contentType`.", *_FILES),
    _param("asVoice", _FLAG, "Show a sound file as a voice message.", *MESSAGES),
    _param("gifPlayback", _FLAG, "Show a video as an animation.", *MESSAGES),
    _param("replyTo", _ID, "The id of the message that this one answers.", *_SENDS),
    _param("threadId", _ID, "The thread or topic.", *_SENDS, *_OF_MESSAGE, A.READ, A.LIST_PINS, A.TOPIC_EDIT),
    _param("silent", _FLAG, "Send without a notification.", *_SENDS, needs=Feature.SILENT),
    _param("bestEffort", _FLAG, "Make only one attempt.", *_SENDS),
    _param("effectId", _TEXT, "The effect of a message.", *MESSAGES, needs=Feature.EFFECTS),
    _param("effect", _TEXT, "Another name of `effectId`.", *MESSAGES, needs=Feature.EFFECTS),
    _param(
        "buttons",
        _JSON,
        "Rows of buttons: [[{text, callback_data or url}]]. A press comes back as a message with the callback data.",
        *(*MESSAGES, A.EDIT),
        needs=Feature.BUTTONS,
    ),
    _param("card", _JSON, "A card, as an object of the platform.", *MESSAGES, needs=Feature.CARDS),
    _param(
        "components",
        _JSON,
        "Buttons, selects and forms, as objects of the platform.",
        *MESSAGES,
        needs=Feature.COMPONENTS,
    ),
    # polls
    _param("pollQuestion", _TEXT, "The question of a poll.", A.POLL),
    _param("pollOption", _TEXTS, "The options of a poll, at least two; of a vote the chosen.", A.POLL, A.POLL_VOTE),
    _param("pollMulti", _FLAG, "Allow more than one choice.", A.POLL),
    _param("pollDurationHours", _INTEGER, "Hours until the poll closes.", A.POLL, needs=Feature.POLL_HOURS),
    _param("pollDurationSeconds", _INTEGER, "Seconds until the poll closes.", A.POLL, needs=Feature.POLL_SECONDS),
    _param("pollAnonymous", _FLAG, "Hide who voted for what.", A.POLL, needs=Feature.ANONYMOUS_POLLS),
    _param("pollId", _ID, "The poll.", A.POLL_VOTE, A.POLL_RESULTS),
    _param("pollOptionId", _ID, "The option to vote for, by its id.", A.POLL_VOTE),
    _param("pollOptionIds", _TEXTS, "The options to vote for, by their ids.", A.POLL_VOTE),
    _param("pollOptionIndex", _INTEGER, "The option to vote for, by its number from 1.", A.POLL_VOTE),
    _param("pollOptionIndexes", _TEXTS, "The options to vote for, by their numbers from 1.", A.POLL_VOTE),
    # messages that exist
    _param("messageId", _ID, "The message that is meant.", *_OF_MESSAGE, A.REPLY, A.THREAD_CREATE, A.DOWNLOAD_FILE),
    _param("emoji", _TEXT, "The emoji of a reaction.", A.REACT),
    _param("remove", _FLAG, "Take the reaction away instead of adding it.", A.REACT),
    _param("targetAuthor", _ID, "Who wrote the message that is meant.", A.REACT),
    _param("targetAuthorUuid", _ID, "Who wrote the message that is meant, as a UUID.", A.REACT),
    _param("fromMe", _FLAG, "The message that is meant is the gateway's own.", A.REACT),
    _param("partIndex", _INTEGER, "The part of the message that is meant.", *_PARTS),
    _param("limit", _INTEGER, "How many results at most.", *_LISTS),
    _param("before", _ID, "Only what is older than this message.", A.READ, A.THREAD_LIST, A.SEARCH),
    _param("after", _ID, "Only what is newer than this message.", A.READ, A.SEARCH),
    _param("around", _ID, "What is around this message.", A.READ),
    _param("query", _TEXT, "What to search for.", A.SEARCH, A.STICKER_SEARCH),
    _param("authorId", _ID, "Only messages of this person.", A.SEARCH),
    _param("authorIds", _TEXTS, "Only messages of these people.", A.SEARCH),
    _param("channelId", _ID, "Only this channel.", A.SEARCH, A.THREAD_LIST, A.EVENT_CREATE),
    _param("channelIds", _TEXTS, "Only these channels.", A.SEARCH),
    _param("fileId", _ID, "The file or sticker.", A.STICKER, A.DOWNLOAD_FILE),
    # threads and topics
    _param("threadName", _TEXT, "The name of the new thread.", A.THREAD_CREATE),
    _param("autoArchiveMin", _INTEGER, "Minutes of silence until the thread is archived.", A.THREAD_CREATE),
    _param("appliedTags", _TEXTS, "Tags of the new thread.", A.THREAD_CREATE),
    _param("includeArchived", _FLAG, "Archived threads too.", A.THREAD_LIST),
    _param("iconColor", _INTEGER, "The color of a topic's icon.", A.TOPIC_CREATE),
    _param("iconCustomEmojiId", _ID, "The emoji of a topic's icon.", A.TOPIC_CREATE, A.TOPIC_EDIT),
    # stickers and emoji
    _param("stickerId", _TEXTS, "The sticker.", A.STICKER),
    _param("stickerName", _TEXT, "The name of a new sticker.", A.STICKER_UPLOAD),
    _param("stickerDesc", _TEXT, "The description of a new sticker.", A.STICKER_UPLOAD),
    _param("stickerTags", _TEXT, "The tags of a new sticker.", A.STICKER_UPLOAD),
    _param("emojiName", _TEXT, "The name of a new emoji.", A.EMOJI_UPLOAD),
    # groups
    _param("chatGuid", _ID, "The chat, by its guid.", *_OF_CHAT),
    _param("chatIdentifier", _ID, "The chat, by its identifier.", *_OF_CHAT),
    _param("chatId", _ID, "The chat, by its number.", *_OF_CHAT),
    _param("displayName", _TEXT, "The new name of a group or account.", A.RENAME_GROUP, A.SET_PROFILE),
    _param("address", _ID, "The person to add or remove.", A.ADD_PARTICIPANT, A.REMOVE_PARTICIPANT),
    _param("participant", _ID, "The person who is meant.", A.ADD_PARTICIPANT, A.REMOVE_PARTICIPANT, A.REACT),
    # servers
    _param("guildId", _ID, "The server.", *_SERVER),
    _param("teamId", _ID, "The workspace or team.", *_SERVER),
    _param("userId", _ID, "The person who is meant.", *_PEOPLE),
    _param("roleId", _ID, "The role.", A.ROLE_ADD, A.ROLE_REMOVE),
    _param("roleIds", _TEXTS, "The roles that may use a new emoji.", A.EMOJI_UPLOAD),
    _param("name", _TEXT, "The name.", *_NAMED),
    _param("type", _INTEGER, "The kind of the new channel, as a number of the platform.", A.CHANNEL_CREATE),
    _param("parentId", _ID, "The category of a channel.", *_CHANNELS),
    _param("clearParent", _FLAG, "Take a channel out of its category.", A.CHANNEL_EDIT, A.CHANNEL_MOVE),
    _param("topic", _TEXT, "The topic of a channel.", A.CHANNEL_CREATE, A.CHANNEL_EDIT),
    _param("position", _INTEGER, "The position in the list.", *_CHANNELS, A.CATEGORY_CREATE, A.CATEGORY_EDIT),
    _param("nsfw", _FLAG, "Mark a channel as not safe for work.", A.CHANNEL_CREATE, A.CHANNEL_EDIT),
    _param("rateLimitPerUser", _INTEGER, "Seconds between two messages of one person.", A.CHANNEL_EDIT),
    _param("categoryId", _ID, "The category.", A.CATEGORY_EDIT, A.CATEGORY_DELETE),
    _param("durationMin", _INTEGER, "Minutes of a timeout.", A.TIMEOUT),
    _param("until", _TEXT, "The end of a timeout, as a time in ISO 8601.", A.TIMEOUT),
    _param("reason", _TEXT, "Why, for the server's log.", A.TIMEOUT, A.KICK, A.BAN),
    _param("deleteDays", _INTEGER, "Delete the messages of this many days.", A.BAN),
    _param("eventName", _TEXT, "The name of an event.", A.EVENT_CREATE),
    _param("eventType", _TEXT, "Where an event takes place: stage, voice or external.", A.EVENT_CREATE),
    _param("startTime", _TEXT, "The start of an event, as a time in ISO 8601.", A.EVENT_CREATE),
    _param("endTime", _TEXT, "The end of an event, as a time in ISO 8601.", A.EVENT_CREATE),
    _param("desc", _TEXT, "The description of an event.", A.EVENT_CREATE),
    _param("location", _TEXT, "The place of an event.", A.EVENT_CREATE),
    # the account itself
    _param("status", _TEXT, "online, dnd, idle or invisible.", A.SET_PRESENCE),
    _param("activityType", _TEXT, "playing, streaming, listening, watching, competing or custom.", A.SET_PRESENCE),
    _param("activityName", _TEXT, "The name of the activity.", A.SET_PRESENCE),
    _param("activityUrl", _TEXT, "The address of a stream.", A.SET_PRESENCE),
    _param("activityState", _TEXT, "The text of the activity.", A.SET_PRESENCE),
)

#: wire name -> declaration, `action` not among them
PARAMS: dict[str, Param] = {param.name: param for param in _DECLARED}
#: parameters that name the target
TARGET_PARAMS = ("target", "to", "channelId")

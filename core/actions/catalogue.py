"""The catalogue of actions: each is declared once. Which channels have it, and what they need: `core.channels`."""

from trunkline.core.action_names import Action
from trunkline.core.actions.spec import ActionKind, ActionSpec, TargetMode

_CHAT = ("chatGuid", "chatIdentifier", "chatId")
_NONE, _CHANNEL = TargetMode.NONE, TargetMode.CHANNEL_ID
_MESSAGE, _CHANGE, _QUERY = ActionKind.MESSAGE, ActionKind.CHANGE, ActionKind.QUERY

_DECLARED = (
    ActionSpec(action=Action.SEND, kind=_MESSAGE, guarded=True),
    ActionSpec(action=Action.BROADCAST, kind=_MESSAGE, target=_NONE),
    ActionSpec(action=Action.POLL, kind=_MESSAGE, guarded=True),
    ActionSpec(action=Action.REPLY, kind=_MESSAGE, guarded=True),
    ActionSpec(action=Action.THREAD_REPLY, kind=_MESSAGE, guarded=True),
    ActionSpec(action=Action.STICKER, kind=_MESSAGE, guarded=True),
    ActionSpec(action=Action.SEND_WITH_EFFECT, kind=_MESSAGE, guarded=True),
    ActionSpec(action=Action.SEND_ATTACHMENT, kind=_MESSAGE, guarded=True),
    ActionSpec(action=Action.UPLOAD_FILE, kind=_MESSAGE, guarded=True),
    ActionSpec(action=Action.EDIT, kind=_CHANGE, aliases=("messageId",), guarded=True, of_message=True),
    ActionSpec(action=Action.UNSEND, kind=_CHANGE, aliases=("messageId",), guarded=True, of_message=True),
    ActionSpec(action=Action.DELETE, kind=_CHANGE, guarded=True, of_message=True),
    ActionSpec(action=Action.REACT, kind=_CHANGE, aliases=_CHAT, of_message=True),
    ActionSpec(action=Action.PIN, kind=_CHANGE, guarded=True, of_message=True),
    ActionSpec(action=Action.UNPIN, kind=_CHANGE, guarded=True, of_message=True),
    ActionSpec(action=Action.POLL_VOTE, kind=_CHANGE, of_message=True),
    ActionSpec(action=Action.THREAD_CREATE, kind=_CHANGE, guarded=True, repeatable=False),
    ActionSpec(action=Action.TOPIC_CREATE, kind=_CHANGE, guarded=True, repeatable=False),
    ActionSpec(action=Action.TOPIC_EDIT, kind=_CHANGE, guarded=True),
    ActionSpec(action=Action.RENAME_GROUP, kind=_CHANGE, aliases=_CHAT),
    ActionSpec(action=Action.SET_GROUP_ICON, kind=_CHANGE, aliases=_CHAT),
    ActionSpec(action=Action.ADD_PARTICIPANT, kind=_CHANGE, aliases=_CHAT),
    ActionSpec(action=Action.REMOVE_PARTICIPANT, kind=_CHANGE, aliases=_CHAT),
    ActionSpec(action=Action.LEAVE_GROUP, kind=_CHANGE, aliases=_CHAT),
    ActionSpec(action=Action.TIMEOUT, kind=_CHANGE, target=_NONE, repeatable=False),
    ActionSpec(action=Action.KICK, kind=_CHANGE, target=_NONE, repeatable=False),
    ActionSpec(action=Action.BAN, kind=_CHANGE, target=_NONE),
    ActionSpec(action=Action.ROLE_ADD, kind=_CHANGE, target=_NONE),
    ActionSpec(action=Action.ROLE_REMOVE, kind=_CHANGE, target=_NONE),
    ActionSpec(action=Action.CHANNEL_CREATE, kind=_CHANGE, target=_NONE, repeatable=False),
    ActionSpec(action=Action.CHANNEL_EDIT, kind=_CHANGE, target=_CHANNEL),
    ActionSpec(action=Action.CHANNEL_DELETE, kind=_CHANGE, target=_CHANNEL),
    ActionSpec(action=Action.CHANNEL_MOVE, kind=_CHANGE, target=_CHANNEL),
    ActionSpec(action=Action.CATEGORY_CREATE, kind=_CHANGE, target=_NONE, repeatable=False),
    ActionSpec(action=Action.CATEGORY_EDIT, kind=_CHANGE, target=_NONE),
    ActionSpec(action=Action.CATEGORY_DELETE, kind=_CHANGE, target=_NONE),
    ActionSpec(action=Action.EVENT_CREATE, kind=_CHANGE, target=_NONE, repeatable=False),
    ActionSpec(action=Action.EMOJI_UPLOAD, kind=_CHANGE, target=_NONE, repeatable=False),
    ActionSpec(action=Action.STICKER_UPLOAD, kind=_CHANGE, target=_NONE, repeatable=False),
    ActionSpec(action=Action.SET_PRESENCE, kind=_CHANGE, target=_NONE),
    ActionSpec(action=Action.SET_PROFILE, kind=_CHANGE, target=_NONE),
    ActionSpec(action=Action.REACTIONS, kind=_QUERY, of_message=True),
    ActionSpec(action=Action.READ, kind=_QUERY),
    ActionSpec(action=Action.LIST_PINS, kind=_QUERY),
    ActionSpec(action=Action.PERMISSIONS, kind=_QUERY),
    ActionSpec(action=Action.SEARCH, kind=_QUERY, target=_NONE),
    ActionSpec(action=Action.STICKER_SEARCH, kind=_QUERY, target=_NONE),
    ActionSpec(action=Action.MEMBER_INFO, kind=_QUERY, target=_NONE),
    ActionSpec(action=Action.ROLE_INFO, kind=_QUERY, target=_NONE),
    ActionSpec(action=Action.EMOJI_LIST, kind=_QUERY, target=_NONE),
    ActionSpec(action=Action.CHANNEL_INFO, kind=_QUERY, target=_CHANNEL),
    ActionSpec(action=Action.CHANNEL_LIST, kind=_QUERY, target=_NONE),
    ActionSpec(action=Action.THREAD_LIST, kind=_QUERY, target=_NONE),
    ActionSpec(action=Action.VOICE_STATUS, kind=_QUERY, target=_NONE),
    ActionSpec(action=Action.EVENT_LIST, kind=_QUERY, target=_NONE),
    ActionSpec(action=Action.DOWNLOAD_FILE, kind=_QUERY, target=_NONE),
    ActionSpec(action=Action.POLL_RESULTS, kind=_QUERY, of_message=True),
)

#: the declaration of each action
SPECS: dict[Action, ActionSpec] = {spec.action: spec for spec in _DECLARED}

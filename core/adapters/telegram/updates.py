"""From an update of Telegram to an envelope. Pure.

A topic is a thread of its group, also in private chats; "General" is the group itself. A person who writes to a channel
has a topic in the channel's direct messages, which is nobody else's conversation. The number that Telegram puts
on replies outside of topics is that of a reply chain, see `trunkline.core.values.Envelope.threaded` (scenario B090).
"""

import json
import re
from typing import Any, cast

import msgspec

from trunkline.core import message_parts
from trunkline.core.adapters.json_values import Json, as_object, as_objects, as_text
from trunkline.core.adapters.own_names import OwnAccount, OwnPost
from trunkline.core.adapters.telegram import update_types
from trunkline.core.channels.acts import LONG_TEXT
from trunkline.core.channels.platforms.telegram import TelegramMessage, read_inbound
from trunkline.core.message_parts import says_something
from trunkline.core.reasons import Reason
from trunkline.core.text.chunking.utf16 import units
from trunkline.core.values import Address, Deed, DeedKind, Envelope, Peer
from trunkline.core.well_formed import is_well_formed

#: bytes of an update as JSON; a message has 4096 characters
_LARGEST = 1_000_000
_NUMBER = re.compile(rb'(?<!\\)"update_id"\s*:\s*([0-9]{1,18})')
_TYPES = ("private", "group", "supergroup", "channel")
#: ids and times that can be stored
_MOST_BITS = 63
#: UTF-16 units: a client splits a longer text at a blank, if there is one behind this many
_SPLIT = 4_000
#: what is wrong with an error of msgspec, without the values
_LONGEST = 300


# The content of a message: the person's text, and the parts beside it. A field of a wrong type costs that field.

#: in front of the id of a file that Telegram keeps; the address of the file itself contains the bot's token
FILE_PREFIX = "telegram-file:"
#: fields with a file. An animation is a document too, so it comes first
_FILES = {
    "animation": message_parts.MediaKind.ANIMATION,
    "document": message_parts.MediaKind.DOCUMENT,
    "live_photo": message_parts.MediaKind.PICTURE,
    "video": message_parts.MediaKind.VIDEO,
    "video_note": message_parts.MediaKind.VIDEO,
    "voice": message_parts.MediaKind.VOICE,
    "audio": message_parts.MediaKind.SOUND,
    "sticker": message_parts.MediaKind.STICKER,
}
#: other fields in which a person says something, with the texts in them that say it
_OTHER = {
    "dice": ("emoji", "value"),
    "game": ("title", "text"),
    "story": (),
    "invoice": ("title", "description"),
    "successful_payment": ("total_amount", "currency"),
    "web_app_data": ("button_text", "data"),
    "paid_media": (),
    "giveaway": ("prize_description",),
    "giveaway_winners": ("prize_description",),
    "users_shared": (),
    "chat_shared": ("title", "chat_id"),
    "passport_data": (),
    "gift": ("text",),
    "unique_gift": (),
    "rich_message": (),
    "checklist_tasks_done": (),
    "checklist_tasks_added": (),
    "proximity_alert_triggered": ("distance",),
}
#: fields of every message that are no content; the last ones are of earlier versions
_FRAME_NAMES = (
    "origin message_id message_thread_id direct_messages_topic from sender_chat sender_boost_count sender_business_bot"
    " sender_tag date guest_query_id business_connection_id chat forward_origin is_topic_message is_automatic_forward"
    " reply_to_message external_reply quote reply_to_story reply_to_checklist_task_id reply_to_poll_option_id via_bot"
    " guest_bot_caller_user guest_bot_caller_chat edit_date has_protected_content is_from_offline is_paid_post"
    " media_group_id author_signature paid_star_count text entities link_preview_options suggested_post_info effect_id"
    " caption caption_entities show_caption_above_media has_media_spoiler photo checklist contact poll venue location"
    " reply_markup forward_from forward_from_chat forward_from_message_id forward_signature forward_sender_name"
    " forward_date"
)
#: fields by which Telegram says what became of the chat
_SERVICE_NAMES = (
    "new_chat_members new_chat_member new_chat_participant left_chat_member left_chat_participant chat_owner_left"
    " chat_owner_changed new_chat_title new_chat_photo delete_chat_photo group_chat_created supergroup_chat_created"
    " channel_chat_created message_auto_delete_timer_changed migrate_to_chat_id migrate_from_chat_id pinned_message"
    " refunded_payment gift_upgrade_sent connected_website write_access_allowed boost_added chat_background_set"
    " direct_message_price_changed forum_topic_created forum_topic_edited forum_topic_closed forum_topic_reopened"
    " general_forum_topic_hidden general_forum_topic_unhidden giveaway_created giveaway_completed managed_bot_created"
    " paid_message_price_changed poll_option_added poll_option_deleted suggested_post_approved"
    " suggested_post_approval_failed suggested_post_declined suggested_post_paid suggested_post_refunded"
    " video_chat_scheduled video_chat_started video_chat_ended video_chat_participants_invited voice_chat_scheduled"
    " voice_chat_started voice_chat_ended voice_chat_participants_invited"
)
_FRAME, _SERVICE = frozenset(_FRAME_NAMES.split()), frozenset(_SERVICE_NAMES.split())


def text_of(post: Json) -> str:
    return as_text(post.get("text")) or as_text(post.get("caption"))


def parts_of(post: Json, topic: int | None) -> tuple[message_parts.Part, ...]:
    """The parts of a message. `topic`: every message in it "replies" to the message that opened it."""
    about = [part for part in (_forward(post), _quote(post, topic)) if part is not None]
    content = _content_parts(post)
    if not content and not text_of(post):
        # A kind that is not known here. Beside known content, a new field is more likely a fact about the message.
        known = (_FRAME, _SERVICE, _FILES, _OTHER)
        unknown = [name for name in sorted(post) if not any(name in names for names in known)]
        content += [message_parts.OtherPart(what=name) for name in unknown]
    return (*about, *content)


#: the field by which Telegram says that a closed topic is open
REOPENED = "forum_topic_reopened"


def service_of(post: Json) -> str:
    """The names of the fields by which a message says what became of the chat; empty: there are none."""
    return ", ".join(sorted(_SERVICE.intersection(post)))


def _content_parts(post: Json) -> list[message_parts.Part]:
    parts = [_file(kind, as_object(post.get(name))) for name, kind in _FILES.items() if post.get(name)]
    # The document of an animation is the same file once more.
    found: list[message_parts.Part] = [*parts[:1]]
    sizes = as_objects(post.get("photo"))
    if sizes and not found:
        found.append(_file(message_parts.MediaKind.PICTURE, sizes[-1]))
    venue = as_object(post.get("venue"))
    if place := as_object(venue.get("location") or post.get("location")):
        found.append(_location(place, venue))
    elif post.get("location"):
        found.append(message_parts.OtherPart(what="location", text=as_text(post["location"])))
    if contact := as_object(post.get("contact")):
        name = " ".join(filter(None, (as_text(contact.get("first_name")), as_text(contact.get("last_name")))))
        found.append(message_parts.ContactPart(name=name, reached_at=(as_text(contact.get("phone_number")),)))
    if poll := as_object(post.get("poll")):
        options = tuple(as_text(option.get("text")) for option in as_objects(poll.get("options")))
        what = "quiz" if poll.get("type") == "quiz" else "poll"
        found.append(message_parts.PollPart(question=as_text(poll.get("question")), options=options, what=what))
    if tasks := as_object(post.get("checklist")):
        options = tuple(as_text(task.get("text")) for task in as_objects(tasks.get("tasks")))
        found.append(message_parts.PollPart(question=as_text(tasks.get("title")), options=options, what="checklist"))
    found += [_other(name, post[name]) for name in _OTHER if post.get(name) is not None]
    return found


def _file(kind: message_parts.MediaKind, file: Json) -> message_parts.FilePart:
    size, seconds = file.get("file_size"), file.get("duration")
    name = as_text(file.get("file_id"))
    return message_parts.FilePart(
        file=kind,
        source=f"{FILE_PREFIX}{name}" if name else "",
        name=as_text(file.get("file_name")) or as_text(file.get("title")),
        mime_type=as_text(file.get("mime_type")),
        size=size if isinstance(size, int) else None,
        seconds=float(seconds) if isinstance(seconds, int) and kind is not message_parts.MediaKind.ANIMATION else None,
        about=as_text(file.get("emoji")),
    )


def _location(place: Json, venue: Json) -> message_parts.Part:
    latitude, longitude = place.get("latitude"), place.get("longitude")
    if not isinstance(latitude, int | float) or not isinstance(longitude, int | float):
        return message_parts.OtherPart(what="location")
    name = ", ".join(filter(None, (as_text(venue.get("title")), as_text(venue.get("address")))))
    live = isinstance(place.get("live_period"), int)
    return message_parts.LocationPart(latitude=latitude, longitude=longitude, name=name, live=live)


def _other(name: str, value: object) -> message_parts.OtherPart:
    fields = as_object(value)
    texts = (str(fields[field]) for field in _OTHER[name] if isinstance(fields.get(field), str | int))
    return message_parts.OtherPart(what=name.replace("_", " "), text=" ".join(texts))


def _forward(post: Json) -> message_parts.ForwardPart | None:
    origin = as_object(post.get("forward_origin"))
    return message_parts.ForwardPart(author=_name(origin)) if origin else None


def _quote(post: Json, topic: int | None) -> message_parts.QuotePart | None:
    """The chosen piece of the message that is answered, else its words, if they are known."""
    answered, outside = as_object(post.get("reply_to_message")), as_object(post.get("external_reply"))
    number = answered.get("message_id", outside.get("message_id"))
    if answered and topic is not None and number == topic:
        answered = {}
    chosen = as_text(as_object(post.get("quote")).get("text"))
    words = chosen or message_parts.quotable(text_of(answered), tuple(_content_parts(answered or outside)))
    if not words:
        return None
    author = _name(answered) or _name(as_object(outside.get("origin")))
    return message_parts.QuotePart(text=words, author=author, message_id=str(number) if isinstance(number, int) else "")


def _name(of: Json) -> str:
    """The name of the author of a message, or of the origin of a forwarded message."""
    chat = as_object(of.get("sender_chat")) or as_object(of.get("chat") if of.get("type") == "channel" else None)
    person = as_object(of.get("from")) or as_object(of.get("sender_user"))
    name = " ".join(filter(None, (as_text(person.get("first_name")), as_text(person.get("last_name")))))
    return as_text(chat.get("title")) or name or as_text(person.get("username")) or as_text(of.get("sender_user_name"))


class BadUpdate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A dropped update: unreadable, or posted by another account of the gateway."""

    detail: str
    reason: Reason = Reason.BAD_UPDATE
    #: the topic that it says is open again
    opened: Address | None = None


class ReadUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """An update: the number, and the message or the fault; None for an update without a message."""

    #: None: not even its number can be read
    number: int | None
    content: Envelope | BadUpdate | None = None


def read_batch(body: bytes, account: str, own: OwnAccount) -> list[ReadUpdate] | None:
    """The updates in an answer to `getUpdates`, in the order of their numbers. `own`: the gateway's bots.

    None: the body as a whole cannot be read.
    """
    try:
        answer = json.loads(body.decode("utf-8", "surrogatepass"))
        found = cast("list[Any]", answer["result"])
        if not isinstance(found, list):  # pyright: ignore[reportUnnecessaryIsInstance] -- from outside
            return None
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    updates = [read_update(update, account, own, len(body)) for update in found]
    return sorted(updates, key=lambda update: -1 if update.number is None else update.number)


def read_body(body: bytes, account: str, own: OwnAccount) -> ReadUpdate:
    try:
        value = json.loads(body.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        return ReadUpdate(number=number_in(body), content=BadUpdate(detail=f"no JSON: {type(error).__name__}"))
    return read_update(value, account, own, len(body))


def number_in(body: bytes) -> int | None:
    """The number of the first update in a body without valid JSON."""
    found = _NUMBER.search(body)
    return None if found is None else int(found[1])


def read_update(value: Any, account: str, own: OwnAccount, size: int) -> ReadUpdate:
    """An update from a JSON value. `size`: the maximum number of bytes."""
    try:
        number = msgspec.convert(value, update_types.UpdateHead).update_id
    except msgspec.ValidationError as error:
        return ReadUpdate(number=None, content=BadUpdate(detail=str(error)[:_LONGEST]))
    if not 0 <= number < 2**_MOST_BITS:
        # An offset below 0 would make Telegram forget the updates before it.
        return ReadUpdate(number=None, content=BadUpdate(detail="update_id is no number of an update"))
    try:
        if size > _LARGEST and len(json.dumps(value)) > _LARGEST:
            return ReadUpdate(number=number, content=BadUpdate(detail=f"more than {_LARGEST} bytes"))
        return ReadUpdate(number=number, content=_content(value, account, own))
    except OwnPost as post:
        content = None if post.account == account else BadUpdate(detail=str(post), reason=Reason.OWN_ECHO)
        return ReadUpdate(number=number, content=content)
    except (msgspec.ValidationError, ValueError, OverflowError, RecursionError) as error:
        return ReadUpdate(number=number, content=BadUpdate(detail=str(error)[:_LONGEST]))


def _content(value: Json, account: str, own: OwnAccount) -> Envelope | BadUpdate | None:
    update = update_types.update_of(value)
    post = update.message or update.channel_post
    if post is not None:
        return _message(post, as_object(value.get("message") or value.get("channel_post")), account, own)
    # Telegram delivers an update again under its number, which no message has as its id.
    name, edited = f"update/{update.update_id}", update.edited_message or update.edited_channel_post
    if edited is not None:
        given = as_object(value.get("edited_message") or value.get("edited_channel_post"))
        return _edit(edited, given, account, own, name)
    if update.message_reaction is not None:
        return _reaction(update.message_reaction, account, own, name)
    return None if update.callback_query is None else _press(update.callback_query, account)


def _edit(
    post: update_types.TelegramPost, given: Json, account: str, own: OwnAccount, name: str
) -> Envelope | BadUpdate:
    """The edit of a message, with the whole message. Raises `OwnPost`."""
    if given.get("location"):
        return BadUpdate(detail="a live location has moved", reason=Reason.SERVICE_MESSAGE)
    found = _message(post, given, account, own)
    if isinstance(found, BadUpdate):
        return found
    return msgspec.structs.replace(found, message_id=name, act=None, deed=Deed(kind=DeedKind.EDIT, of=found.message_id))


def _reaction(given: Json, account: str, own: OwnAccount, name: str) -> Envelope | None:
    """The new reactions of a person, else the lost ones, without a topic. Raises `OwnPost`."""
    who = {"from": given.get("user"), "sender_chat": given.get("actor_chat")}
    post = msgspec.convert(given | who, update_types.TelegramPost)
    own.check(None if post.from_ is None else str(post.from_.id))
    sides = (as_objects(given.get(side)) for side in ("old_reaction", "new_reaction"))
    before, after = ([_emoji(reaction) for reaction in side] for side in sides)
    new, gone = [emoji for emoji in after if emoji not in before], [emoji for emoji in before if emoji not in after]
    if not new and not gone:
        return None
    return Envelope(
        address=_place(post, account)[0],
        peer=_author(post),
        message_id=name,
        text=" ".join(new or gone),
        sent_at=float(post.date),
        bot=post.from_ is not None and post.from_.is_bot,
        deed=Deed(kind=DeedKind.REACT if new else DeedKind.UNREACT, of=_id(post.message_id)),
    )


def _emoji(reaction: Json) -> str:
    return as_text(reaction.get("emoji")) or f"[{as_text(reaction.get('type')).replace('_', ' ') or 'reaction'}]"


def _message(post: update_types.TelegramPost, given: Json, account: str, own: OwnAccount) -> Envelope | BadUpdate:
    """A message, with its JSON; a note of Telegram about the chat says nothing. Raises `OwnPost`."""
    service = service_of(given)
    if REOPENED in given:
        # Also if an account of the gateway has opened it.
        place = _place(post, account)[0]
        return BadUpdate(detail=f"a note of Telegram: {service}", reason=Reason.SERVICE_MESSAGE, opened=place)
    origin = post.forward_origin if post.is_automatic_forward else None
    own.check(None if post.from_ is None else str(post.from_.id), None if origin is None else origin.post)
    address, threaded = _place(post, account)
    replied = None if post.reply_to_message is None else post.reply_to_message.message_id
    # Every message of a topic "replies" to the message that opened it.
    quotes = replied is not None and replied != post.message_thread_id
    text, parts = text_of(given), parts_of(given, post.message_thread_id)
    if not text and not any(map(says_something, parts)):
        if service:
            return BadUpdate(detail=f"a note of Telegram: {service}", reason=Reason.SERVICE_MESSAGE)
        return BadUpdate(detail="a message without content")
    # Of a long answer, the first piece alone quotes what it answers.
    may_go_on = units(text) >= _SPLIT and all(isinstance(part, message_parts.QuotePart) for part in parts)
    return Envelope(
        address=address,
        peer=_author(post),
        message_id=_id(post.message_id),
        text=text,
        parts=parts,
        sent_at=float(post.date),
        reply_to=str(replied) if quotes else None,
        threaded=threaded,
        bot=post.from_ is not None and post.from_.is_bot and post.sender_chat is None,
        act=post.media_group_id or (LONG_TEXT if may_go_on else None),
    )


def _press(press: update_types.TelegramPress, account: str) -> Envelope:
    """The press of a button. Raises `ValueError` for a button below a message without chat."""
    if press.message is None:
        raise ValueError("a button of a message without a chat")
    if not press.id or not is_well_formed(press.id):
        raise ValueError("the id of the press cannot be stored")
    address, threaded = _place(press.message, account)
    return Envelope(
        address=address,
        peer=_person(press.from_),
        message_id=press.id,
        text=press.data,
        # A press has no time of its own; that of its message may be long ago.
        sent_at=float(press.message.date),
        pressed=_id(press.message.message_id),
        threaded=threaded,
        bot=press.from_.is_bot,
    )


def _place(post: update_types.TelegramPost, account: str) -> tuple[Address, bool]:
    """The place of a message, and whether the thread is a topic."""
    if post.chat.type not in _TYPES:
        raise ValueError("a chat of an unknown type")
    if post.business_connection_id:
        # Without the connection, an answer would go to another chat: that of the person with the bot itself.
        raise ValueError("a chat of a business account, in whose name the gateway does not write")
    direct = post.direct_messages_topic
    if direct is None and post.chat.is_direct_messages:
        # Without its topic it could only join the messages of all other people.
        raise ValueError("a direct message of a channel without its topic")
    found = read_inbound(
        TelegramMessage(
            chat_id=_id(post.chat.id),
            chat_type=post.chat.type,  # type: ignore[arg-type] -- checked above
            message_id=post.message_id,
            thread_id=post.message_thread_id,
            is_forum=post.chat.is_forum,
            is_topic=post.is_topic_message,
            direct_topic=None if direct is None else _id(direct.topic_id),
        ),
        account,
    )
    if found.threaded or post.message_thread_id is None or direct is not None:
        return found.address, True
    return msgspec.structs.replace(found.address, thread=_id(post.message_thread_id)), False


def _author(post: update_types.TelegramPost) -> Peer:
    """The author of a message: a person, or the group or channel in whose name a person wrote."""
    if post.sender_chat is not None:
        return Peer(id=_id(post.sender_chat.id), name=post.sender_chat.title)
    if post.from_ is not None:
        return _person(post.from_)
    return Peer(id=_id(post.chat.id), name=post.chat.title)


def _person(user: update_types.TelegramUser) -> Peer:
    return Peer(id=_id(user.id), name=user.name)


def _id(number: int) -> str:
    if number == 0 or number.bit_length() > _MOST_BITS:
        raise ValueError("an id that is none")
    return str(number)

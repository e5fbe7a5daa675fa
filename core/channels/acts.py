"""Acts of a person, such as an album, in several messages of a platform.

An album comes as a message for each file, and a text that is too long for a client as a message for each piece of it.
An adapter names the act of such a message (`Envelope.act`). The gateway waits for the rest, and takes the whole as one
message, which starts one turn. A message that can be no part of an act waits for nothing.
"""

from collections.abc import Sequence

import msgspec

from trunkline.core.message_parts import FilePart, MediaKind, Part
from trunkline.core.values import Envelope

#: the act of a text that may go on in the person's next message; any other act is an album
LONG_TEXT = "long text"
#: the album of a platform that does not name albums: files that follow each other at once
ALBUM = "album"
_IN_ALBUMS = frozenset({MediaKind.PICTURE, MediaKind.VIDEO, MediaKind.ANIMATION, MediaKind.DOCUMENT})
#: seconds after a message of an act after which no other belongs to it
QUIET = 1.5
#: messages of an act
MOST = 10
#: UTF-16 units of a piece which is as long as a message may be: a client has cut it wherever that was, else at a blank
_FULL = 4096


def album_of(parts: Sequence[Part]) -> str | None:
    """The act of a message with such parts, where the platform does not name albums."""
    return ALBUM if any(isinstance(part, FilePart) and part.file in _IN_ALBUMS for part in parts) else None


def belongs(envelope: Envelope, last: Envelope) -> bool:
    """Whether a message continues the act of the message before."""
    if abs(envelope.sent_at - last.sent_at) > QUIET + 1:
        # They come at once after the gateway was away. Some platforms round times to whole seconds.
        return False
    if envelope.act == last.act:
        return True
    plain = not envelope.parts and envelope.pressed is None and envelope.stands_for is None and envelope.deed is None
    return last.act == LONG_TEXT and envelope.act is None and plain


def is_whole(messages: Sequence[Envelope]) -> bool:
    """Whether nothing can follow the messages of an act."""
    return messages[-1].act is None or len(messages) >= MOST


def joined(messages: Sequence[Envelope]) -> Envelope:
    """A message with the content of all messages of an act, under the id of the first."""
    first, *others = messages
    if not others:
        return first
    text = first.text
    for before, message in zip(messages, others, strict=False):
        cut = first.act == LONG_TEXT and len(before.text.encode("utf-16-le", "surrogatepass")) == 2 * _FULL
        text += ("" if cut or not text or not message.text else "\n") + message.text
    return msgspec.structs.replace(
        first, text=text, parts=tuple(part for message in messages for part in message.parts)
    )

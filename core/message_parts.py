"""Parts of a message beside its text: those that the gateway sends, and those that people send.

People send more than text: files, places on the map, polls, the words of others that they quote or forward. An adapter
names each part, also one that it does not understand (`OtherPart`), so that nothing that a person sent is silence. The
words stand below the person's own text, and before it for what the text is about (`with_words`). All texts in them are
of strangers: they are cut to a length, and to one line where the part is one line.
"""

from enum import StrEnum

import msgspec

from trunkline.core.well_formed import well_formed


class Button(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A button below a message. A press sends `value` to the gateway, as an inbound of the person who pressed."""

    text: str
    value: str = ""
    #: opens this page instead
    url: str | None = None


class MessageParts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The parts of a message beside text, files, poll and payload; they go with its first chunk."""

    #: without a notification on the person's device
    silent: bool = False
    #: rows of buttons
    buttons: tuple[tuple[Button, ...], ...] = ()
    #: a card, as platform-specific JSON
    card: str | None = None
    #: interactive components, as platform-specific JSON (Discord)
    components: str | None = None
    #: the description of an embed (Discord); carries the cross-context mark
    embed: str | None = None
    #: a visual effect (iMessage)
    effect: str | None = None
    #: the id of a sticker
    sticker: str | None = None
    #: the name that a file is shown by
    file_name: str | None = None
    mime_type: str | None = None
    #: a sound file is shown as a voice message
    as_voice: bool = False
    #: a video is shown as an animation
    gif: bool = False

    @property
    def is_visible(self) -> bool:
        """Whether people see something even if there is no text: a card, a sticker, components."""
        return self.card is not None or self.components is not None or self.sticker is not None


#: characters of a text in a part, and of a name; parts of a message
LONGEST_TEXT, LONGEST_NAME, MOST_PARTS = 4_000, 200, 50


class MediaKind(StrEnum):
    """The kinds of files, as people see them."""

    PICTURE = "picture"
    VOICE = "voice message"
    SOUND = "sound file"
    VIDEO = "video"
    ANIMATION = "animation"
    STICKER = "sticker"
    DOCUMENT = "document"

    @classmethod
    def of(cls, mime_type: str) -> "MediaKind":
        """The kind of a file of a media type."""
        return _BY_TYPE.get(mime_type.split("/", maxsplit=1)[0], cls.DOCUMENT)


#: media types by their first word
_BY_TYPE = {"image": MediaKind.PICTURE, "video": MediaKind.VIDEO, "audio": MediaKind.SOUND}


class _Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="part", gc=False):
    @property
    def words(self) -> str:
        raise NotImplementedError


class FilePart(_Part, frozen=True, kw_only=True, tag="file"):
    """A file that a person sent. `source`: what a ``MEDIA:`` line takes; else `id` is the platform's name for it."""

    file: MediaKind
    source: str = ""
    id: str = ""
    name: str = ""
    mime_type: str = ""
    #: bytes
    size: int | None = None
    seconds: float | None = None
    #: the emoji of a sticker, or what the sender says is in the file
    about: str = ""

    @property
    def words(self) -> str:
        length = "" if self.seconds is None else f"{self.seconds:.0f} s"
        facts = ", ".join(filter(None, (line(self.name), line(self.id), line(self.about), length)))
        shown = f"[{self.file}: {facts}]" if facts else f"[{self.file}]"
        return f"{shown}\nMEDIA:{self.source}" if self.source else shown


class LocationPart(_Part, frozen=True, kw_only=True, tag="location"):
    """A place on the map, in degrees."""

    latitude: float
    longitude: float
    name: str = ""
    #: it moves with its sender
    live: bool = False

    @property
    def words(self) -> str:
        name = f", {line(self.name)}" if self.name else ""
        return f"[{'live ' if self.live else ''}location: {self.latitude:.6f}, {self.longitude:.6f}{name}]"


class ContactPart(_Part, frozen=True, kw_only=True, tag="contact"):
    """A person from an address book, with numbers and addresses."""

    name: str
    reached_at: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        return f"[contact: {line(' '.join((self.name, *self.reached_at)))}]"


class PollPart(_Part, frozen=True, kw_only=True, tag="poll"):
    """A poll, quiz or checklist."""

    question: str
    options: tuple[str, ...] = ()
    what: str = "poll"

    @property
    def words(self) -> str:
        options = " / ".join(line(option) for option in self.options)
        return f"[{self.what}: {line(self.question)}{f' ({options})' if options else ''}]"


class QuotePart(_Part, frozen=True, kw_only=True, tag="quote"):
    """The words that the text is about: of an earlier message, or a chosen piece of it."""

    text: str
    author: str = ""
    message_id: str = ""

    @property
    def words(self) -> str:
        return f"[quotes {line(self.author)}: {line(self.text)}]" if self.author else f"[quotes: {line(self.text)}]"


class ForwardPart(_Part, frozen=True, kw_only=True, tag="forward"):
    """Says that the message is another's, or has another's message in it, in words `text`."""

    author: str = ""
    text: str = ""

    @property
    def words(self) -> str:
        head = f"[forwarded from {line(self.author)}]" if self.author else "[forwarded]"
        return f"{head}\n{cut(self.text)}" if self.text else head


class CardPart(_Part, frozen=True, kw_only=True, tag="card"):
    """A box with words: an embed, an attachment, blocks of an app, the preview of a link."""

    text: str
    title: str = ""
    url: str = ""
    #: of a page that the text links to: alone it says nothing
    preview: bool = False

    @property
    def words(self) -> str:
        if self.preview:
            words = line(" - ".join(filter(None, (self.title, self.text, self.url))))
            return f"[link preview: {words}]" if words else "[link preview]"
        return "\n".join(filter(None, (line(self.title), cut(self.text), line(self.url)))) or "[card]"


class OtherPart(_Part, frozen=True, kw_only=True, tag="other"):
    """Any other content, by its name, such as ``order`` or ``dice``."""

    what: str
    text: str = ""

    @property
    def words(self) -> str:
        return f"[{line(self.what)}: {cut(self.text)}]" if self.text else f"[{line(self.what)}]"


Part = FilePart | LocationPart | ContactPart | PollPart | QuotePart | ForwardPart | CardPart | OtherPart


def line(text: str) -> str:
    """The text as a single storable line of bounded length."""
    return cut(" ".join(text.split()), LONGEST_NAME if len(text) <= LONGEST_NAME else LONGEST_TEXT)


def cut(text: str, longest: int = LONGEST_TEXT) -> str:
    """The text, storable and cut to a length."""
    shown = well_formed(text)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def says_something(part: Part) -> bool:
    """Whether the part alone is a message: a quote or the preview of a link is about another one."""
    match part:
        case QuotePart():
            return False
        case ForwardPart():
            return bool(part.text)
        case CardPart():
            return not part.preview
        case _:
            return True


def quotable(text: str, parts: tuple[Part, ...]) -> str:
    """The words of a message that is quoted: its files are named, and not there once more."""
    return "\n".join(filter(None, (text, *(part.words.partition("\nMEDIA:")[0] for part in parts))))


def with_words(text: str, parts: tuple[Part, ...]) -> str:
    """A message as text: what it is about, then the person's text, then its other parts, each in words."""
    if not parts:
        return text
    before = [part.words for part in parts if isinstance(part, QuotePart | ForwardPart)]
    after = [part.words for part in parts if not isinstance(part, QuotePart | ForwardPart)]
    return "\n".join(filter(None, (*before, text, *after)))

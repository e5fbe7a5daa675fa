"""Request rules common to all fake platforms: lengths of parts, transports, files, polls, payloads, styles, HTML."""

import json
from html import unescape
from html.parser import HTMLParser

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.errors import Refused
from trunkline.core.message_parts import MessageParts
from trunkline.core.values import Capabilities, Capability, DeliveryMode, SendRequest


class PartLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How long the parts of a message may be that are no text: buttons and polls. The servers on the wire use the same.

    None: the platform has no limit, or nobody has said so.
    """

    #: characters of a button's label
    button_text: int | None = None
    #: bytes of a button's value in UTF-8, or characters of it where the platform counts those
    button_bytes: int | None = None
    button_value: int | None = None
    #: characters of the question of a poll, and of an option
    question: int | None = None
    option: int | None = None

    def check(self, request: SendRequest) -> None:
        """Raise `Refused` for too long a part."""
        for row in () if request.parts is None else request.parts.buttons:
            for button in row:
                value = "" if button.url is not None else button.value or button.text
                _check("the label of a button", len(button.text), self.button_text)
                _check("the value of a button", len(value), self.button_value)
                _check("the bytes of a button's value", len(value.encode("utf-8", "replace")), self.button_bytes)
        if request.poll is not None:
            _check("the question of a poll", len(request.poll.question), self.question)
            for option in request.poll.options:
                _check("an option of a poll", len(option), self.option)


def _check(what: str, length: int, most: int | None) -> None:
    if most is not None and length > most:
        raise Refused(f"{what}: longer than {most}")


#: in front of an effect's name, in the form of Apple's ids
_EFFECT = "com.apple.messages.effect."
#: buttons that fit into a row
_BUTTONS = 8
#: HTML tags that Telegram supports; others are refused
_TAGS = frozenset(
    "b strong i em u ins s strike del span tg-spoiler tg-emoji a code pre blockquote".split()  # noqa: SIM905 -- plainer
)


def check_request(request: SendRequest, can: Capabilities, effects: frozenset[str] = frozenset()) -> None:
    """Raise `Refused` for a request that the platform does not support. `effects`: the names of its effects."""
    if can.mode is not DeliveryMode.HYBRID and request.transport is not can.mode.first:
        raise Refused(f"there is no {request.transport.value} transport")
    given = {
        Capability.MEDIA: bool(request.media),
        Capability.POLL: request.poll is not None,
        Capability.PAYLOAD: request.payload is not None,
    }
    for capability, asked in given.items():
        if asked and capability not in can.can:
            raise Refused(f"there is no {capability.value} here")
    if request.poll is not None and can.poll_options is not None and len(request.poll.options) > can.poll_options:
        raise Refused(f"a poll with more than {can.poll_options} options")
    if request.payload is not None:
        _check_payload(request.payload)
    if request.parts is not None:
        _check_parts(request.parts, can, effects)
    _check_styles(request)


def _check_parts(parts: MessageParts, can: Capabilities, effects: frozenset[str]) -> None:
    given = {
        Capability.SILENT: parts.silent,
        Capability.BUTTONS: bool(parts.buttons),
        Capability.CARDS: parts.card is not None,
        Capability.COMPONENTS: parts.components is not None,
        Capability.EMBEDS: parts.embed is not None,
    }
    for capability, asked in given.items():
        if asked and capability not in can.can:
            raise Refused(f"there is no {capability.value} here")
    for action, asked in ((Action.SEND_WITH_EFFECT, parts.effect), (Action.STICKER, parts.sticker)):
        if asked is not None and action not in can.actions:
            raise Refused(f"there is no {action.value} here")
    for text in (parts.card, parts.components):
        if text is not None:
            _check_payload(text)
    if parts.effect is not None and parts.effect.removeprefix(_EFFECT) not in effects:
        raise Refused(f"there is no effect {parts.effect!r}")
    if any(len(row) > _BUTTONS for row in parts.buttons):
        raise Refused(f"more than {_BUTTONS} buttons in a row")


def _check_payload(payload: str) -> None:
    try:
        json.loads(payload)
    except ValueError as error:
        raise Refused(f"the payload is no JSON: {error}") from None


def _check_styles(request: SendRequest) -> None:
    """Raise `Refused` for an empty range, or one outside the text, in UTF-16 code units."""
    units = len(request.text.encode("utf-16-le", "surrogatepass")) // 2
    for style in request.styles:
        if style.start < 0 or style.length < 1 or style.start + style.length > units:
            raise Refused(f"a style from {style.start} over {style.length} in a text of {units} units")


class _Reader(HTMLParser):
    """Parses the HTML that Telegram accepts: known tags, closed in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.text = ""
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _TAGS:
            raise Refused(f"cannot parse entities: unsupported start tag {tag!r}")
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            raise Refused(f"cannot parse entities: unexpected end tag {tag!r}")

    def handle_data(self, data: str) -> None:
        if "<" in data:
            raise Refused("cannot parse entities: a lone <")
        self.text += data

    def handle_entityref(self, name: str) -> None:
        self.text += unescape(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self.text += unescape(f"&#{name};")

    def handle_comment(self, data: str) -> None:
        raise Refused("cannot parse entities: a comment")

    def handle_decl(self, decl: str) -> None:
        raise Refused("cannot parse entities: a declaration")

    def handle_pi(self, data: str) -> None:
        raise Refused("cannot parse entities: an instruction")


def text_of_html(source: str) -> str:
    """The visible text of Telegram's HTML. Raises `Refused` if it cannot be parsed."""
    reader = _Reader()
    reader.feed(source)
    reader.close()
    if reader.open:
        raise Refused(f"cannot parse entities: {reader.open[-1]!r} is not closed")
    return reader.text

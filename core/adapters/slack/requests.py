"""The bodies of Slack's requests to post and edit messages. Pure.

Texts go as Markdown, which Slack renders itself (``markdown_text``), or as they are in Slack's own mrkdwn (``text``). A
message with blocks shows no text but that of its blocks, so there the text is the first block, and ``text`` only what
notifications show.
"""

import json
from collections.abc import Sequence
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from trunkline.core.errors import Refused
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.values import SendRequest

TextForm = Literal["markdown", "mrkdwn"]
#: arguments of chat.postMessage that a payload may set; none of them changes who posts what where
PAYLOAD = frozenset(
    {"blocks", "attachments", "metadata", "unfurl_links", "unfurl_media", "mrkdwn", "link_names", "parse"}
)
#: what Slack shows from a public address by itself; every other file is uploaded
_IMAGES = (".png", ".jpg", ".jpeg", ".gif")
#: in front of the action ids of our buttons: of those that send their value, and of those that open a page
PRESS, LINK = "trunkline-press", "trunkline-link"


def is_image_url(media: str) -> bool:
    """Whether Slack shows a file from a public address, without an upload."""
    parts = urlsplit(media)
    return parts.scheme == "https" and parts.path.lower().endswith(_IMAGES)


def post_of(request: SendRequest, form: TextForm) -> dict[str, Any]:
    """The arguments of ``chat.postMessage`` beside channel and thread. Raises `Refused` for what Slack has not."""
    more = payload_of(request.payload)
    blocks = [
        *(_image(url) for url in request.media if is_image_url(url)),
        *([] if request.parts is None else _buttons(request.parts)),
        *more.pop("blocks", ()),
    ]
    return {**text_of(request.text, form, blocks), **more}


def text_of(text: str, form: TextForm, blocks: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """The arguments for a text, with blocks below, if any."""
    if not blocks:
        return {"markdown_text": text} if form == "markdown" else {"text": text}
    return {"text": text, "blocks": [*([text_block(text, form)] if text.strip() else ()), *blocks]}


def text_block(text: str, form: TextForm) -> dict[str, Any]:
    if form == "markdown":
        return {"type": "markdown", "text": text}
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def payload_of(text: str | None) -> dict[str, Any]:
    """The arguments of a payload: an object for chat.postMessage, or a list of blocks. Raises `Refused`."""
    if text is None:
        return {}
    try:
        given: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refused(f"the payload is no JSON: {error}") from None
    found: object = {"blocks": cast("list[Any]", given)} if isinstance(given, list) else given
    if not isinstance(found, dict):
        raise Refused("the payload is neither an object nor a list of blocks")
    payload = cast("dict[str, Any]", found)
    unknown = sorted(set(payload) - PAYLOAD)
    if unknown:
        raise Refused(f"the payload sets {', '.join(unknown)}; it may set {', '.join(sorted(PAYLOAD))}")
    if not isinstance(payload.get("blocks", []), list):
        raise Refused("the blocks of the payload are no list")
    return dict(payload)


def _image(url: str) -> dict[str, Any]:
    name = urlsplit(url).path.rpartition("/")[2]
    return {"type": "image", "image_url": url, "alt_text": name or "image"}


def _buttons(parts: MessageParts) -> list[dict[str, Any]]:
    return [
        {"type": "actions", "elements": [_button(button, f"{y}-{x}") for x, button in enumerate(row)]}
        for y, row in enumerate(parts.buttons)
        if row
    ]


def _button(button: Button, where: str) -> dict[str, Any]:
    label = {"type": "plain_text", "text": button.text, "emoji": True}
    if button.url is not None:
        return {"type": "button", "text": label, "action_id": f"{LINK}-{where}", "url": button.url}
    return {"type": "button", "text": label, "action_id": f"{PRESS}-{where}", "value": button.value or button.text}

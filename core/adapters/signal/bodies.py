"""The parameters of calls to signal-cli. Pure, but for what `MessageAuthors` remembers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trunkline.core.actions.requests import ActionRequest
from trunkline.core.adapters.signal.authors import MessageAuthors
from trunkline.core.errors import Refused
from trunkline.core.values import Address, ChatKind, SendRequest, Style

_USERNAME = "username:"


def recipient(place: Address) -> dict[str, Any]:
    """The recipient of a message. Raises `Refused` for a place unknown to Signal."""
    if place.thread is not None:
        raise Refused("Signal has no threads")
    if place.kind is ChatKind.GROUP:
        return {"groupId": place.conversation}
    if place.kind is not ChatKind.DIRECT:
        raise Refused("Signal has people and groups only")
    if place.conversation.lower().startswith(_USERNAME):
        return {"username": [place.conversation[len(_USERNAME) :]]}
    return {"recipient": [place.conversation.removeprefix("uuid:")]}


def styles_of(styles: Sequence[Style]) -> list[str]:
    """Ranges of a text in UTF-16 code units, in the form of signal-cli: ``0:4:BOLD``."""
    return [f"{style.start}:{style.length}:{style.kind.value.upper()}" for style in styles]


def message_params(request: SendRequest, attachments: Sequence[str], authors: MessageAuthors) -> dict[str, Any]:
    """The parameters of a send. A quote without a known author, which signal-cli needs, is left out."""
    params: dict[str, Any] = recipient(request.address) | {"message": request.text}
    if request.styles:
        params["textStyle"] = styles_of(request.styles)
    if attachments:
        params["attachments"] = list(attachments)
    if request.reply_to is not None:
        time, author, text = authors.find(request.address, request.reply_to)
        if author is not None:
            params |= {"quoteTimestamp": time, "quoteAuthor": author, "quoteMessage": text}
    if not request.text and not attachments:
        raise Refused("a message needs a text or a file")
    return params


def check_text(text: str, limit: int) -> None:
    """Raise `Refused` for a text that Signal would send as a file."""
    if len(text) > limit:
        raise Refused(f"longer than {limit}: Signal would send it as a file")


def edit_params(request: ActionRequest, authors: MessageAuthors, limit: int) -> dict[str, Any]:
    """The parameters of an edit, which is a send with the time of the message."""
    if not request.text.strip() or len(request.text) > limit:
        raise Refused(f"the new text is empty, or longer than {limit}")
    params = recipient(request.address) | {"message": request.text}
    if request.styles:
        params["textStyle"] = styles_of(request.styles)
    return params | {"editTimestamp": _meant(request, authors)[0]}


def delete_params(request: ActionRequest, authors: MessageAuthors) -> dict[str, Any]:
    """The parameters of a deletion for everybody."""
    return recipient(request.address) | {"targetTimestamp": _meant(request, authors)[0]}


def reaction_params(request: ActionRequest, authors: MessageAuthors, author: str | None) -> dict[str, Any]:
    """The parameters of a reaction. `author`: who wrote the message, as the caller of the tool says."""
    time, known, _ = _meant(request, authors)
    author = author or known
    if author is None:
        raise Refused("it is not known who wrote that message: say it by targetAuthor")
    emoji = request.text.strip()
    if not emoji:
        raise Refused("there is no emoji")
    params = recipient(request.address) | {"emoji": emoji, "targetAuthor": author, "targetTimestamp": time}
    return params | ({"remove": True} if request.remove else {})


def _meant(request: ActionRequest, authors: MessageAuthors) -> tuple[int, str | None, str]:
    if request.message_id is None:
        raise Refused("it names no message")
    return authors.find(request.address, request.message_id)

"""Requests and answers of signal-cli's JSON-RPC. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from trunkline.core.errors import PlatformError, RateLimited, Refused, Unauthorized
from trunkline.core.values import Address, ChatKind, Style, StyleKind
from trunkline.sim.platforms.channels.signal import FakeSignal

_STYLES = {kind.value.upper(): kind for kind in StyleKind}
_INTERNAL, _BAD_PARAMS, _USER, _RATE = -32603, -32602, -1, -5


class BadCall(Exception):
    """A call that signal-cli refuses, with its code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class RpcRequest(msgspec.Struct, frozen=True):
    """A request."""

    method: str
    jsonrpc: str = "2.0"
    id: str | int | None = None
    params: dict[str, Any] = {}


class Params(msgspec.Struct, frozen=True, rename="camel"):
    """The parameters of the calls that concern a conversation. Lists may be given as single values."""

    account: str | None = None
    recipient: list[str] | str | None = None
    username: list[str] | str | None = None
    group_id: list[str] | str | None = None
    message: str = ""
    attachment: list[str] | str | None = None
    attachments: list[str] | None = None
    text_style: list[str] | str | None = None
    text_styles: list[str] | None = None
    quote_timestamp: int | None = None
    quote_author: str | None = None
    edit_timestamp: int | None = None
    target_timestamp: int | None = None
    target_author: str | None = None
    emoji: str | None = None
    remove: bool = False


def read_params(given: dict[str, Any]) -> Params:
    """The parameters of a call. Raises `BadCall`."""
    try:
        return msgspec.convert(given, Params)
    except msgspec.MsgspecError as error:
        raise BadCall(_BAD_PARAMS, str(error)) from None


def several(*given: list[str] | str | None) -> tuple[str, ...]:
    """The values of a parameter in any of its forms."""
    found: list[str] = []
    for values in given:
        found += [values] if isinstance(values, str) else values or []
    return tuple(found)


def place_of(params: Params, platform: FakeSignal, account: str) -> Address:
    """The one conversation of a call. Raises `BadCall`."""
    people, groups = several(params.recipient, params.username), several(params.group_id)
    if len(people) + len(groups) != 1:
        raise BadCall(_USER, "No recipients given" if not people and not groups else "One recipient at a time")
    if groups:
        return Address(channel="signal", account=account, kind=ChatKind.GROUP, conversation=groups[0])
    person = platform.number_of(people[0]) or people[0]
    return Address(channel="signal", account=account, kind=ChatKind.DIRECT, conversation=person)


def styles_of(params: Params) -> tuple[Style, ...]:
    """The ranges of a text. Raises `BadCall`."""
    found: list[Style] = []
    for style in several(params.text_style, params.text_styles):
        start, _, rest = style.partition(":")
        length, _, name = rest.partition(":")
        if not start.isdecimal() or not length.isdecimal():
            raise BadCall(_USER, f"Invalid textStyle syntax ({style}) expected 'start:length:STYLE'")
        if name not in _STYLES:
            raise BadCall(_USER, f"Invalid style: {name}")
        found.append(Style(kind=_STYLES[name], start=int(start), length=int(length)))
    return tuple(found)


def files_of(params: Params) -> tuple[str, ...]:
    """The files of a message: data addresses, or paths of the daemon's machine. Raises `BadCall`."""
    return several(params.attachment, params.attachments)


def result_for(platform: FakeSignal, place: Address, kind: str, **more: Any) -> dict[str, Any]:
    """The result of one recipient."""
    who = place.conversation
    direct = place.kind is ChatKind.DIRECT
    address = {"uuid": platform.account_id(who), "number": who if direct else None, "username": None}
    group = {} if direct else {"groupId": place.conversation}
    return {"recipientAddress": address, **group, "type": kind, **more}


def error_body(platform: FakeSignal, place: Address | None, error: PlatformError) -> dict[str, Any]:
    """The error of a call that the platform did not carry out."""
    if isinstance(error, RateLimited) and place is not None:
        wait = {} if error.retry_after is None else {"retryAfterSeconds": int(-(-error.retry_after // 1))}
        results = [result_for(platform, place, "RATE_LIMIT_FAILURE", **wait)]
        response = {"timestamp": 0, "results": results}
        return {"code": _RATE, "message": "Failed to send message due to rate limiting", "data": {"response": response}}
    if isinstance(error, Refused | Unauthorized | RateLimited):
        return {"code": _USER, "message": error.facts, "data": None}
    return {"code": _INTERNAL, "message": error.facts, "data": None}

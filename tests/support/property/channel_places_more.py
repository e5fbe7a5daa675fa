"""Places that inbound messages can come from, with ids as the platforms give them: ten platforms, one strategy each."""

import base64

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from trunkline.core.values import Address, ChatKind

_DIRECT, _GROUP, _CHANNEL = ChatKind.DIRECT, ChatKind.GROUP, ChatKind.CHANNEL


def _ids(pattern: str) -> SearchStrategy[str]:
    return st.from_regex(pattern, fullmatch=True)


def _places(channel: str, *kinds: tuple[ChatKind, SearchStrategy[str]]) -> SearchStrategy[Address]:
    accounts = st.sampled_from(["default", "work"])
    places = [
        st.builds(Address, channel=st.just(channel), account=accounts, kind=st.just(kind), conversation=ids)
        for kind, ids in kinds
    ]
    return st.one_of(places)


_PHONE = _ids(r"\+[1-9][0-9]{6,14}")
_UUID = st.uuids().map(str)
_GUID = _UUID | _UUID.map(str.upper)
_MAIL = _ids(r"[a-zA-Z][a-zA-Z0-9._+-]{0,12}@[a-z0-9]{1,10}\.(?:com|org)")
_HEX = _ids(r"[0-9a-f]{64}")
_BASE64 = st.binary(min_size=32, max_size=32).map(lambda raw: base64.b64encode(raw).decode())

_HANDLE = st.one_of(_PHONE, _MAIL, _ids(r"[1-9][0-9]{4,5}"), _ids(r"urn:biz:[0-9a-f]{8}-[0-9a-f]{4}"))
_CHAT_NAME = _ids(r"chat[0-9]{15,20}") | _ids(r"[0-9a-f]{32}")
_SERVICE = st.sampled_from(["iMessage", "SMS", "RCS", "any"])
_CHAT = st.one_of(_CHAT_NAME, st.integers(1, 99_999).map(str), st.builds("{};+;{}".format, _SERVICE, _CHAT_NAME))
_PERSON = _HANDLE | st.builds("{};-;{}".format, _SERVICE, _HANDLE)

_SHIP = _ids(r"~(?:[a-z]{3}|[a-z]{6}(?:-[a-z]{6}){0,3}|[a-z]{6}(?:-[a-z]{6}){3}--[a-z]{6}(?:-[a-z]{6}){3})")
_NEST = st.builds("{}/{}/{}".format, st.sampled_from(["chat", "diary", "heap"]), _SHIP, _ids(r"[a-z][a-z0-9-]{0,15}"))

_ZALO = _ids(r"[0-9]{10,19}") | _ids(r"[0-9a-f]{20}")
_OPAQUE = r"[0-9a-zA-Z_-]{20,40}"
_TEAM_CHANNEL = _ids(rf"19:{_OPAQUE}@thread\.tacv2") | _ids(r"19:[0-9a-f]{32}@thread\.skype")
_TEAM_GROUP = _ids(rf"19:(?:meeting_)?{_OPAQUE}@thread\.v2") | _ids(r"19:[0-9a-f]{32}@thread\.skype")
_TEAM_PERSON = st.one_of(
    _GUID,
    _ids(rf"29:1{_OPAQUE}"),
    _ids(rf"a:1{_OPAQUE}"),
    _UUID.map("8:orgid:{}".format),
    st.builds("19:{}_{}@unq.gbl.spaces".format, _UUID, _UUID),
)
_TEAM_THREADS = st.builds(
    Address,
    channel=st.just("msteams"),
    account=st.just("default"),
    kind=st.just(_CHANNEL),
    conversation=_TEAM_CHANNEL,
    thread=_ids(r"1[67][0-9]{11}"),
)

_SPACE = _ids(r"spaces/[A-Za-z0-9_-]{11}")
_SPACE_THREADS = st.builds(
    lambda space, thread: Address(
        channel="googlechat", account="default", kind=_GROUP, conversation=space, thread=f"{space}/threads/{thread}"
    ),
    _SPACE,
    _ids(r"[A-Za-z0-9_-]{11}"),
)

STRATEGIES: dict[str, SearchStrategy[Address]] = {
    "whatsapp": _places(
        "whatsapp",
        (_DIRECT, _PHONE | _ids(r"[1-9][0-9]{6,14}@(?:s\.whatsapp\.net|c\.us|lid)")),
        (_GROUP, _ids(r"(?:[1-9][0-9]{6,14}-1[0-9]{9}|120363[0-9]{12})@g\.us")),
        (_CHANNEL, _ids(r"120363[0-9]{12}@newsletter")),
    ),
    "signal": _places(
        "signal",
        (_DIRECT, _PHONE | _GUID | _ids(r"username:[a-zA-Z_][a-zA-Z0-9_]{2,20}\.[0-9]{2,4}")),
        (_GROUP, _BASE64),
    ),
    "googlechat": _places(
        "googlechat", (_DIRECT, _ids(r"users/[0-9]{21}") | _SPACE | _MAIL.map("users/{}".format)), (_GROUP, _SPACE)
    )
    | _SPACE_THREADS,
    "imessage": _places("imessage", (_DIRECT, _PERSON), (_GROUP, _CHAT)),
    "bluebubbles": _places("bluebubbles", (_DIRECT, _PERSON), (_GROUP, _CHAT)),
    "nextcloud-talk": _places(
        "nextcloud-talk",
        (_DIRECT, _ids(r"[a-z0-9]{8}") | _MAIL | _ids(r"[A-Za-z]{1,10} [A-Za-z]{1,10}")),
        (_GROUP, _ids(r"[a-zA-Z0-9]{4,30}")),
    ),
    "zalo": _places("zalo", (_DIRECT, _ZALO), (_GROUP, _ZALO)),
    "zalouser": _places(
        "zalouser", (_DIRECT, _ZALO | _ids(r"u-[0-9]{5,10}")), (_GROUP, _ZALO | _ids(r"g-[0-9]{5,10}"))
    ),
    "nostr": _places("nostr", (_DIRECT, _HEX | _HEX.map(str.upper))),
    "tlon": _places("tlon", (_DIRECT, _SHIP), (_GROUP, _NEST)),
    "msteams": _places("msteams", (_DIRECT, _TEAM_PERSON), (_GROUP, _TEAM_GROUP), (_CHANNEL, _TEAM_CHANNEL))
    | _TEAM_THREADS,
}

"""Places that inbound messages can come from, with ids as the platforms give them: one strategy for each platform."""

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.support.property import channel_places_more
from trunkline.core.values import Address, ChatKind

_DIRECT, _GROUP, _CHANNEL = ChatKind.DIRECT, ChatKind.GROUP, ChatKind.CHANNEL
_accounts = st.sampled_from(["default", "work"])
_nothing = st.none()


def _ids(pattern: str) -> SearchStrategy[str]:
    return st.from_regex(pattern, fullmatch=True)


def _places(
    channel: str,
    kind: ChatKind,
    ids: SearchStrategy[str],
    *,
    threads: SearchStrategy[str] | None = None,
    parents: SearchStrategy[str] | None = None,
) -> SearchStrategy[Address]:
    return st.builds(
        Address,
        channel=st.just(channel),
        account=_accounts,
        kind=st.just(kind),
        conversation=ids,
        thread=_nothing if threads is None else _nothing | threads,
        parent=_nothing if parents is None else parents,
    )


_SNOWFLAKE = _ids(r"[1-9][0-9]{16,19}")
_SLACK_TS = _ids(r"1[67][0-9]{8}\.[0-9]{6}")
_TELEGRAM_USER = st.integers(1, 8_000_000_000).map(str)
_TELEGRAM_GROUP = st.integers(1, 9_999_999_999).map(lambda number: f"-100{number}") | st.integers(
    -4_999_999_999, -1
).map(str)
_POST = _ids(r"[a-z0-9]{26}")
_EVENT = _ids(r"\$[A-Za-z0-9_-]{43}")
_SERVER = r"[a-z][a-z0-9-]{0,9}\.(?:org|example)(?::8448)?"
_ROOM = _ids(rf"![A-Za-z]{{18}}:{_SERVER}") | _ids(r"![A-Za-z0-9_-]{43}")
#: ids of a platform that nobody knows: anything printable without spaces around
_ANYTHING = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=20).filter(
    lambda text: text == text.strip()
)

STRATEGIES: dict[str, SearchStrategy[Address]] = {
    "discord": st.one_of(
        _places("discord", _DIRECT, _SNOWFLAKE),
        _places("discord", _GROUP, _SNOWFLAKE),
        _places("discord", _CHANNEL, _SNOWFLAKE),
        _places("discord", _CHANNEL, _ids(r"7[0-9]{17}"), parents=_ids(r"5[0-9]{17}")),
    ),
    "slack": st.one_of(
        _places("slack", _DIRECT, _ids(r"[UW][A-Z0-9]{8,10}"), threads=_SLACK_TS),
        _places("slack", _GROUP, _ids(r"[CG][A-Z0-9]{8,10}"), threads=_SLACK_TS),
        _places("slack", _CHANNEL, _ids(r"[CG][A-Z0-9]{8,10}"), threads=_SLACK_TS),
    ),
    "telegram": st.one_of(
        _places("telegram", _DIRECT, _TELEGRAM_USER, threads=st.integers(1, 10**9).map(str)),
        _places("telegram", _GROUP, _TELEGRAM_GROUP, threads=st.integers(2, 10**9).map(str)),
    ),
    "mattermost": st.one_of(
        *(_places("mattermost", kind, _POST, threads=_POST) for kind in (_DIRECT, _GROUP, _CHANNEL))
    ),
    "matrix": st.one_of(
        _places("matrix", _DIRECT, _ids(rf"@[a-zA-Z0-9._=/+-]{{1,12}}:{_SERVER}"), threads=_EVENT),
        _places("matrix", _CHANNEL, _ROOM, threads=_EVENT),
    ),
    "feishu": st.one_of(
        _places("feishu", _DIRECT, _ids(r"o[un]_[0-9a-f]{32}|[0-9a-zA-Z]{8}")),
        _places("feishu", _GROUP, _ids(r"oc_[0-9a-zA-Z]{32}")),
    ),
    "voice": _places("voice", _DIRECT, _ids(r"\+[1-9][0-9]{6,14}")),
    **channel_places_more.STRATEGIES,
}
#: a platform without a file
GENERIC = st.one_of(*(_places("customchat", kind, _ANYTHING, threads=_ANYTHING) for kind in ChatKind))

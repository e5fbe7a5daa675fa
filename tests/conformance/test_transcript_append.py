"""When upstream appends a sent message to a transcript."""

from typing import Any

from tests.conformance.upstream.transcript_append import AppendPlan, MirroredLine, plan_append
from tests.support.for_each import for_each

KEY = "agent:main:discord:channel:c1"


def plan(*lines: MirroredLine, **instead: Any) -> AppendPlan:
    given: dict[str, Any] = {"session_key": KEY, "text": "hello", "media": None, **instead}
    where = {"sessions": {KEY}, "key": None, **{name: given.pop(name) for name in ("sessions", "key") if name in given}}
    return plan_append(given["session_key"], given["text"], given["media"], lines=lines, **where)


def said(text: str = "hello", *, role: str = "assistant", key: str | None = None) -> MirroredLine:
    return MirroredLine(role=role, text=text, key=key)


@for_each(
    ("instead", "refused"),
    [
        ({"session_key": None}, "missing sessionKey"),
        ({"session_key": " \t"}, "missing sessionKey"),
        ({"session_key": "", "text": ""}, "missing sessionKey"),
        ({"text": None}, "empty text"),
        ({"text": "  "}, "empty text"),
        ({"text": "  ", "session_key": "nobody"}, "empty text"),
        ({"session_key": "nobody"}, "unknown sessionKey: nobody"),
        ({"session_key": " Nobody "}, "unknown sessionKey: Nobody"),
        ({"sessions": set()}, f"unknown sessionKey: {KEY}"),
    ],
)
def test_what_cannot_be_mirrored_is_refused(instead: dict[str, Any], refused: str) -> None:
    found = plan(**instead)
    assert (found.refused, found.append, found.text) == (refused, False, None)
    assert str(found) == f"refused: {refused}"


def test_a_key_is_looked_for_in_small_letters() -> None:
    assert plan(session_key=f" {KEY.upper()} ").append


@for_each(
    ("lines", "key", "append"),
    [
        ([], None, True),
        ([], "k1", True),
        # With a key: by the key, wherever it is, whatever was said.
        ([said(key="k1")], "k1", False),
        ([said("other", key="k1"), said("more", key="k2"), said("x", role="user")], "k1", False),
        ([said(role="user", key="k1")], "k1", False),
        ([said(key="k2")], "k1", True),
        ([said()], "k1", True),
        # Without one: by what was said last.
        ([said()], None, False),
        ([said(" hello\n")], None, False),
        ([said(key="k1")], None, False),
        ([said("hello!")], None, True),
        ([said("Hello")], None, True),
        ([said(), said("else")], None, True),
        ([said(), said(role="user")], None, True),
        ([said(role="user")], None, True),
        # What nobody sees is not what was said last.
        ([said(), said("{}", role="tool")], None, False),
        ([said(), said("  ")], None, False),
        ([said(role="tool")], None, True),
        # An empty key is none.
        ([said(key="")], "", False),
        ([said("else", key="")], "", True),
    ],
)
def test_a_message_is_remembered_once(lines: list[MirroredLine], key: str | None, append: bool) -> None:
    found = plan(*lines, key=key)
    assert (found.append, found.text, found.refused) == (append, "hello", None)
    assert str(found).startswith("append: " if append else "leave: ")


def test_what_is_compared_is_what_would_be_remembered() -> None:
    assert not plan(said("a.png"), text="hello", media=["/tmp/a.png"]).append
    assert plan(said(), text="hello", media=["/tmp/a.png"]).append

"""Tokens that are bound: they speak and read for their people, rooms and accounts, however others are written."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.chat import add_mailbox, said, web_chat
from tests.support.factories import direct
from tests.support.http import ALL, Api, authorised
from trunkline.core.agent import Turn
from trunkline.core.config import SessionConfig
from trunkline.core.http.auth import Tokens, check_place, check_proof, require
from trunkline.core.http.clients import Bound, Caller, Reach, Scope
from trunkline.core.http.problems import Problem
from trunkline.core.http.settings import HttpSettings, Token
from trunkline.core.routing.session_keys import session_key_for
from trunkline.core.values import Address, ChatKind

pytestmark = pytest.mark.anyio

#: ways to write ana, and people whom a careless comparison takes for her
SPELLINGS = (
    *("ana", "Ana", "ANA", " ana", "ana ", "an%61", "%61na", "ana%20", "ana%00", "ana\u0301", "\u0430na", "a\u200bna"),
    *("webchat:ana", "user:ana", "@ana", "ana/", "ana/../ben", "ana,ben", "*", "%2A", "ana&conversation=ben", "ben"),
)


def bound_to(*places: tuple[str, ...]) -> Bound:
    """Bound to people (channel, id), rooms (channel, kind, id), and accounts (``account``, channel, id)."""
    accounts = frozenset((place[1], place[2]) for place in places if place[0] == "account")
    named = [(place[0], "direct", place[1]) if len(place) == 2 else place for place in places]
    rooms = frozenset((place[0], ChatKind(place[1]), place[2]) for place in named if place[0] != "account")
    return Bound(conversations=rooms, accounts=accounts)


def token(name: str, *places: tuple[str, ...], scopes: frozenset[Scope] | None = None) -> Token:
    bound = bound_to(*places) if places else None
    caller = Caller(name=name, scopes=scopes or frozenset({Scope.READ, Scope.SEND}), bound=bound)
    return Token(caller=caller, secret=f"secret-of-{name}")


def refusal(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["type"].rpartition(":")[2]


@asynccontextmanager
async def chat(path: Path, *more: Token, **config: Any) -> AsyncGenerator[Api]:
    every = Token(caller=Caller(name="all", scopes=frozenset(Scope)), secret=ALL)
    bridge = token("bridge", scopes=frozenset({Scope.SEND}))
    ana = token("ana", ("webchat", "ana"))
    async with web_chat(path, settings=HttpSettings(tokens=(every, bridge, ana, *more)), **config) as one:
        yield one


async def say(one: Api, by: str, text: str = "hello", message: str = "m1", **fields: Any) -> httpx.Response:
    """Hand over a message with the token of `by`."""
    body = {**said(text, message, "ana", wait=10), **fields}
    return await one.http.post("/v1/chat/inbound", json=body, headers=authorised(f"secret-of-{by}"))


async def outbox(one: Api, by: str, query: str) -> httpx.Response:
    return await one.http.get(f"/v1/chat/outbox?channel=webchat{query}", headers=authorised(f"secret-of-{by}"))


# ---------------------------------------------------------------- the pure rule

IDS = st.one_of(st.sampled_from(SPELLINGS), st.text(min_size=1, max_size=6))


@given(a=IDS, b=IDS, channel=st.sampled_from(["webchat", "Webchat", "webchat:ana", "telegram"]))
@example(a="ana:x", b="x", channel="webchat:ana")
async def test_a_token_bound_to_a_is_never_b(a: str, b: str, channel: str) -> None:
    caller = Caller(name="t", scopes=frozenset(Scope), bound=bound_to(("webchat", a)))
    same = (channel, b) == ("webchat", a)
    place = Address(channel=channel, account="default", kind=ChatKind.DIRECT, conversation=b)
    for check in (lambda: check_place(caller, place), lambda: check_proof(caller, channel, b)):
        if same:
            check()
        else:
            with pytest.raises(Problem) as refused:
                check()
            assert refused.value.slug == "bound-token"
    assert caller.proves(channel, b) is same
    if not same:
        # Whoever is let in as another person has another session, too.
        keys = [
            session_key_for("main", direct(who, channel=on), SessionConfig())
            for on, who in (("webchat", a), (channel, b))
        ]
        assert keys[0] != keys[1]


def test_what_nobody_has_thought_about_is_refused() -> None:
    caller = Caller(name="t", scopes=frozenset(Scope), bound=bound_to(("webchat", "ana")))
    with pytest.raises(Problem, match="not bound"):
        require(caller, Scope.READ)
    require(caller, Scope.READ, Reach.PLACE)


async def test_a_connection_ends_when_its_token_loses_its_person() -> None:
    ana = token("ana", ("webchat", "ana"))
    tokens = Tokens([ana])
    tokens.replace([token("ana", ("webchat", "ben"))])
    await tokens.until_refused(ana.secret, lambda caller: check_proof(caller, "webchat", "ana"))


# ---------------------------------------------------------------- over HTTP


async def test_every_spelling_of_another_person_is_refused_at_every_door(tmp_path: Path) -> None:
    tokens = [token(f"t{n}", ("webchat", who)) for n, who in enumerate(SPELLINGS)]
    async with chat(tmp_path / "gateway.db", *tokens) as one:
        for n, who in enumerate(SPELLINGS):
            first = await say(one, f"t{n}", f"words of {n}", peer={"kind": "direct", "id": who})
            assert first.status_code == 200, (who, first.text)
            assert await later(one, f"t{n}", first) == 200
            own = await outbox(one, f"t{n}", f"&conversation={quote(who, safe='')}")
            assert [message["text"] for message in own.json()["messages"]] == [f"you said words of {n}"], who
            for m, other in enumerate(SPELLINGS):
                if m == n:
                    continue
                where = f"{who!r} as {other!r}"
                spoken = await say(one, f"t{n}", peer={"kind": "direct", "id": other}, message_id="x")
                assert refusal(spoken) == (403, "bound-token"), where
                read = await outbox(one, f"t{n}", f"&conversation={quote(other, safe='')}")
                assert refusal(read) == (403, "bound-token"), where
                assert await later(one, f"t{m}", first) == 404, where


async def later(one: Api, by: str, answer: httpx.Response) -> int:
    """The status for somebody who asks what a message has caused so far."""
    name = quote(answer.json()["id"], safe="")
    statuses = {
        (await one.http.get(f"/v1/chat/inbound/{name}{wait}", headers=authorised(f"secret-of-{by}"))).status_code
        for wait in ("", "?wait=1")
    }
    assert len(statuses) == 1
    return statuses.pop()


@pytest.mark.parametrize(
    "fields",
    [
        {"peer": {"kind": "group", "id": "ana"}, "sender": {"id": "ana"}},
        {"peer": {"kind": "channel", "id": "ana"}},
        {"channel": "Webchat"},
        {"channel": "telegram", "account": "default"},
        {"roles": ["admin"]},
        {"guild_id": "g"},
        {"team_id": "t"},
        {"parent_id": "ben"},
    ],
    ids=lambda fields: next(iter(fields)) + str(fields.get("peer", {}).get("kind", "")),
)
async def test_a_person_speaks_in_their_direct_conversation_and_claims_nothing(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    async with chat(tmp_path / "gateway.db") as one:
        add_mailbox(one, "telegram")
        assert (await say(one, "ana", **fields)).status_code in (403, 404)
        assert (await say(one, "ana")).status_code == 200, "without them"


async def test_a_room_with_the_id_of_the_person_is_not_theirs(tmp_path: Path) -> None:
    async with chat(tmp_path / "gateway.db") as one:
        await say(one, "bridge", "of the room", peer={"kind": "group", "id": "ana"}, sender={"id": "ben"})
        assert (await outbox(one, "ana", "&conversation=ana")).json()["messages"] == []
        assert (await outbox(one, "ana", "&conversation=ana&wait=0.2")).json()["messages"] == []
        assert refusal(await outbox(one, "ana", "")) == (403, "bound-token"), "all conversations"


class Gossip:
    """An agent that tells ben what ana says."""

    async def turn(self, turn: Turn) -> str:
        if turn.peer.id == "ana":
            await turn.send(
                "for ben alone", Address(channel="webchat", account="default", kind=ChatKind.DIRECT, conversation="ben")
            )
        return "heard"


async def test_what_the_agent_writes_to_others_is_not_shown(tmp_path: Path) -> None:
    async with chat(tmp_path / "gateway.db", agent=Gossip()) as one:
        shown = await say(one, "ana")
        assert [payload["text"] for payload in shown.json()["outbound_payloads"]] == ["heard"]
        every = await one.http.get(f"/v1/chat/inbound/{shown.json()['id']}")
        assert len(every.json()["outbound_payloads"]) == 2, "a token of the whole gateway sees both"


CONTROL = {"enabled": True, "owners": ("webchat:boss",)}


@pytest.mark.parametrize(
    ("by", "done"), [("bridge", False), ("boss", True), ("operator", True)], ids=["bridge", "bound", "operate"]
)
async def test_an_owner_is_one_only_with_a_token_that_proves_it(tmp_path: Path, by: str, done: bool) -> None:
    tokens = (token("boss", ("webchat", "boss")), token("operator", scopes=frozenset({Scope.SEND, Scope.OPERATE})))
    async with chat(tmp_path / "gateway.db", *tokens, control=CONTROL) as one:
        await say(one, "bridge", "a secret of ana")
        command = "/focus main:webchat:default:direct:ana"
        answer = await say(one, by, command, peer={"kind": "direct", "id": "boss"})
        (reply,) = (payload["text"] for payload in answer.json()["outbound_payloads"])
        assert reply.startswith("This conversation belongs to" if done else "Not done: only an owner"), reply
        assert ("people: [webchat:boss]" in reply) is not done
        bound = (await one.http.get("/v1/bindings")).json()
        assert bool(bound.get("bindings") or bound.get("rows")) is done


# ---------------------------------------------------------------- rooms and accounts

#: what a bridge hands in: who may hand it in is in `HANDED_IN`
PLACES: dict[str, dict[str, Any]] = {
    "the room": {"peer": {"kind": "group", "id": "-100"}, "sender": {"id": "ana"}},
    "a topic of the room": {"peer": {"kind": "group", "id": "-100"}, "sender": {"id": "ana"}, "thread_id": "7"},
    "another room": {"peer": {"kind": "group", "id": "-101"}, "sender": {"id": "ana"}},
    "a channel of its id": {"peer": {"kind": "channel", "id": "-100"}, "sender": {"id": "ana"}},
    "a person of its id": {"peer": {"kind": "direct", "id": "-100"}},
    "another person": {"peer": {"kind": "direct", "id": "ben"}},
    "another account": {"peer": {"kind": "group", "id": "-100"}, "sender": {"id": "ana"}, "account": "second"},
    "another channel": {"peer": {"kind": "group", "id": "-100"}, "sender": {"id": "ana"}, "channel": "webchat"},
    "the room of a guild": {"peer": {"kind": "group", "id": "-100"}, "sender": {"id": "ana"}, "guild_id": "g"},
    "a person with a role": {"peer": {"kind": "direct", "id": "ben"}, "roles": ["admin"]},
}
#: a room is one in every account of its channel, as a person is
HANDED_IN = {
    "room": {"the room", "a topic of the room", "another account"},
    "account": PLACES.keys() - {"another account", "another channel"},
}


@asynccontextmanager
async def bridges(path: Path) -> AsyncGenerator[Api]:
    room = token("room", ("telegram", "group", "-100"))
    async with chat(path, room, token("account", ("account", "telegram", "default"))) as one:
        add_mailbox(one, "telegram")
        add_mailbox(one, "telegram", "second")
        yield one


@pytest.mark.parametrize("by", HANDED_IN)
async def test_a_bridge_hands_in_what_is_said_in_its_places_alone(tmp_path: Path, by: str) -> None:
    async with bridges(tmp_path / "gateway.db") as one:
        for n, (what, fields) in enumerate(PLACES.items()):
            given = {"channel": "telegram", **fields, "message_id": f"m{n}"}
            answer = await say(one, by, **given)
            expected = 200 if what in HANDED_IN[by] else 403
            assert answer.status_code == expected, (what, answer.text)
            again = await one.http.post("/v1/chat/inbound", json={**said("hello", f"m{n}", "ana", wait=10), **given})
            assert await later(one, by, again) == (200 if what in HANDED_IN[by] or "guild_id" in fields else 404), what


@pytest.mark.parametrize("by", HANDED_IN)
async def test_a_bridge_reads_what_is_said_in_its_places_alone(tmp_path: Path, by: str) -> None:
    async with bridges(tmp_path / "gateway.db") as one:
        for n, fields in enumerate(PLACES.values()):
            await one.http.post(
                "/v1/chat/inbound", json={**said(f"of {n}", f"m{n}", "ana", wait=10), "channel": "telegram", **fields}
            )
        everything = await one.http.get("/v1/chat/outbox?channel=telegram", headers=authorised(f"secret-of-{by}"))
        room = await one.http.get(
            "/v1/chat/outbox?channel=telegram&conversation=-100", headers=authorised(f"secret-of-{by}")
        )
        other = await one.http.get(
            "/v1/chat/outbox?channel=telegram&conversation=ben", headers=authorised(f"secret-of-{by}")
        )
        kinds = {message["address"]["kind"] for message in room.json()["messages"]}
        if by == "account":
            assert (everything.status_code, other.status_code) == (200, 200)
            assert kinds == {"group", "channel", "direct"}
            foreign = "/v1/chat/outbox?channel=telegram&account=second"
            assert refusal(await one.http.get(foreign, headers=authorised("secret-of-account"))) == (403, "bound-token")
        else:
            assert refusal(everything) == refusal(other) == (403, "bound-token")
            assert kinds == {"group"}


@pytest.mark.parametrize("by", HANDED_IN)
async def test_a_bridge_proves_nobody(tmp_path: Path, by: str) -> None:
    async with bridges(tmp_path / "gateway.db") as one:
        caller = one.app.state.tokens.find(f"secret-of-{by}")
        for person in ("ana", "-100"):
            with pytest.raises(Problem) as refused:
                check_proof(caller, "telegram", person)
            assert refused.value.slug == "bound-token"
        sessions = await one.http.get("/v1/sessions", headers=authorised(f"secret-of-{by}"))
        assert refusal(sessions) == (403, "bound-token")

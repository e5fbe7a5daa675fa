"""Messages over HTTP: taken once, durably, and answered with what they caused."""

from pathlib import Path
from urllib.parse import quote

import anyio
import pytest

from tests.support.chat import add_mailbox, say, texts, web_chat
from tests.support.http import closed_after
from tests.support.small_gateway import Echo, TinyPlatform
from trunkline import Turn
from trunkline.core.config.work import TurnsConfig
from trunkline.core.decisions import BOUND_TIER
from trunkline.core.errors import NotSent
from trunkline.core.events.delivery import AttemptEnded, IntentSettled
from trunkline.core.events.gateway import InboundAdmitted, InboundReceived, TurnEnded
from trunkline.core.http.routes.inbound import answer_of
from trunkline.core.reasons import Reason
from trunkline.core.records.inbound import InboundReceipt, InboundStatus, RouteNote

pytestmark = pytest.mark.anyio


async def test_a_message_is_answered_with_what_it_caused(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as one:
        answer = await say(one, "hello", wait=True)
        found = answer.json()
        assert (answer.status_code, texts(answer)) == (200, ["you said hello"])
        assert (found["status"], found["duplicate"], found["complete"], found["rest"]) == (
            "admitted",
            False,
            True,
            None,
        )
        assert (found["agent_id"], found["session_key"]) == ("main", "main:webchat:default:direct:ana")
        assert found["session_id"].startswith("session-")
        assert found["route"] == {
            "matched_by": "default",
            "scope": "per-account-channel-peer",
            "reason": "default-agent",
            "detail": "no route rule matched, so it went to the default agent",
        }
        assert found["turn"] == {"over": True, "outcome": "replied"}
        [payload] = found["outbound_payloads"]
        assert (payload["kind"], payload["state"]) == ("reply", "delivered")
        assert payload["address"] == {
            "channel": "webchat",
            "account": "default",
            "kind": "direct",
            "conversation": "ana",
        }
        assert len(payload["receipts"]) == 1


async def test_without_wait_the_answer_says_where_to_ask_for_the_rest(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as one:
        found = (await say(one, "hello")).json()
        assert (found["complete"], found["outbound_payloads"]) == (False, [])
        rest = await one.http.get(found["rest"], params={"wait": 30})
        assert texts(rest) == ["you said hello"]
        again = rest.json()
        assert (again["complete"], again["rest"]) == (True, None)
        assert [again[name] for name in ("id", "session_id", "session_key", "agent_id", "route")] == [
            found[name] for name in ("id", "session_id", "session_key", "agent_id", "route")
        ]


async def test_a_repeated_message_gets_the_first_answer(tmp_path: Path) -> None:
    agent = Echo()
    async with web_chat(tmp_path / "gateway.db", agent=agent) as one:
        first = (await say(one, "hello", wait=True)).json()
        for wait in (True, False):
            again = (await say(one, "hello", wait=wait)).json()
            assert again == {**first, "status": "duplicate", "duplicate": True}
    async with web_chat(tmp_path / "gateway.db", agent=agent) as one:
        again = (await say(one, "hello", wait=True)).json()
        assert again == {**first, "status": "duplicate", "duplicate": True}
    assert len(agent.turns) == 1


async def test_repeats_at_once_make_one_turn(tmp_path: Path) -> None:
    agent = Echo()
    async with web_chat(tmp_path / "gateway.db", agent=agent) as one:
        answers: list[list[str]] = []

        async def repeat() -> None:
            answers.append(texts(await say(one, "hello", wait=True)))

        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(repeat)
        assert answers == [["you said hello"]] * 20
        assert len(agent.turns) == 1
        assert len(one.running.recorded(InboundAdmitted)) == 1


@pytest.mark.parametrize(
    "other", [{"text": "something else"}, {"sender": {"id": "ben"}}], ids=["another text", "another author"]
)
async def test_a_message_id_is_not_used_for_another_message(tmp_path: Path, other: dict[str, object]) -> None:
    room = {"kind": "group", "id": "room"}
    async with web_chat(tmp_path / "gateway.db") as one:
        first = await say(one, "hello", wait=True, peer=room, sender={"id": "ana"})
        refused = await say(one, **{"text": "hello", "peer": room, "sender": {"id": "ana"}, **other})
        assert (refused.status_code, refused.json()["type"]) == (409, "urn:trunkline:problem:message-id-reused")
        assert first.json()["id"] in refused.json()["detail"]
        assert len(one.running.recorded(InboundAdmitted)) == 1


async def test_message_ids_are_those_of_a_conversation(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as one:
        ana, ben = await say(one, "of ana", by="ana", wait=True), await say(one, "of ben", by="ben", wait=True)
        assert (texts(ana), texts(ben)) == (["you said of ana"], ["you said of ben"])
        assert ana.json()["session_id"] != ben.json()["session_id"]


@pytest.mark.parametrize(
    ("note", "reason", "detail"),
    [
        (
            RouteNote(matched_by="default"),
            Reason.DEFAULT_AGENT,
            "no route rule matched, so it went to the default agent",
        ),
        (
            RouteNote(matched_by="binding.peer", rule="r1"),
            Reason.MATCHED,
            "the route rule r1 matched, in the tier binding.peer",
        ),
        (
            RouteNote(matched_by=BOUND_TIER, rule="b1"),
            Reason.BOUND_SESSION,
            "the conversation is bound to the session by b1",
        ),
    ],
    ids=lambda value: value.value if isinstance(value, Reason) else "",
)
def test_a_route_has_its_reason(note: RouteNote, reason: Reason, detail: str) -> None:
    found = answer_of(InboundReceipt(status=InboundStatus.ADMITTED, route=note), None).route
    assert found is not None
    assert (found.reason, found.detail, found.rule) == (reason, detail, note.rule)


async def test_a_wait_ends_after_its_time_with_what_there_is(tmp_path: Path) -> None:
    release = anyio.Event()

    async def late(turn: Turn) -> str:
        await turn.send("at once")
        await release.wait()
        return "at last"

    async with web_chat(tmp_path / "gateway.db", agent=Echo(late)) as one:
        answer = await say(one, "hello", wait=0.3)
        found = answer.json()
        assert (texts(answer), found["complete"], found["turn"]) == (["at once"], False, {"over": False})
        release.set()
        assert texts(await one.http.get(found["rest"], params={"wait": 30})) == ["at once", "at last"]


async def test_delegated_work_belongs_to_the_outcome(tmp_path: Path) -> None:
    async def delegate(turn: Turn) -> str:
        if turn.callback is not None:
            return f"the clerk: {turn.text}"
        await turn.delegate("clerk", "count")
        return "I ask the clerk"

    async with web_chat(tmp_path / "gateway.db", agent=Echo(delegate)) as one:
        answer = await say(one, "hello", wait=True)
        found = answer.json()
        assert found["complete"]
        assert texts(answer) == ["I ask the clerk", "the clerk: done: count"]
        assert found["delegations"] == []


async def test_an_outcome_is_not_complete_while_a_worker_has_not_answered(tmp_path: Path) -> None:
    async def delegate(turn: Turn) -> str:
        if turn.callback is not None:
            return f"the archive: {turn.text}"
        await turn.delegate("archive", "find the plans")
        return "I ask the archive"

    hands = {"each": {"archive": {"worker": True}}}
    async with web_chat(tmp_path / "gateway.db", agent=Echo(delegate), hands=hands) as one:
        first = (await say(one, "hello")).json()
        await one.running.until(IntentSettled)
        found = (await one.http.get(first["rest"])).json()
        assert (found["turn"], found["complete"], found["rest"]) == (
            {"over": True, "outcome": "replied"},
            False,
            first["rest"],
        )
        [due] = found["delegations"]
        assert (due["hand"], due["state"]) == ("archive", "accepted")
        path = f"/v1/hands/{quote(due['delegation'], safe='')}/answer"
        assert (await one.http.post(path, json={"text": "two plans"})).json()["first"]
        rest = await one.http.get(first["rest"], params={"wait": 30})
        assert texts(rest) == ["I ask the archive", "the archive: two plans"]
        assert (rest.json()["delegations"], rest.json()["complete"]) == ([], True)


async def test_an_outcome_is_not_complete_while_a_message_is_not_sent(tmp_path: Path) -> None:
    async def tell(turn: Turn) -> None:
        await turn.send("hello there", "user:100", channel="discord")

    platform = TinyPlatform()
    platform.errors = [NotSent("not at the moment")]
    config = {
        "delivery": {"backoff": ["3s"]},
        "tools": {"message": {"cross_context": {"allow_across_providers": True}}},
    }
    async with (
        closed_after(platform, ours=True),
        web_chat(tmp_path / "gateway.db", agent=Echo(tell), platform=platform, **config) as one,
    ):
        first = (await say(one, "hello")).json()
        await one.running.until(AttemptEnded)
        await one.running.until(TurnEnded)
        found = (await one.http.get(first["rest"])).json()
        assert (found["turn"]["over"], found["complete"]) == (True, False)
        [payload] = found["outbound_payloads"]
        assert payload["state"] != "delivered"
        rest = (await one.http.get(first["rest"], params={"wait": 30})).json()
        assert (rest["complete"], [one["state"] for one in rest["outbound_payloads"]]) == (True, ["delivered"])


async def test_a_turn_that_fails_says_why(tmp_path: Path) -> None:
    async def fail(turn: Turn) -> str:
        raise ValueError("no idea")

    async with web_chat(tmp_path / "gateway.db", agent=Echo(fail)) as one:
        found = (await say(one, "hello", wait=True)).json()
        assert found["complete"]
        assert [payload["text"] for payload in found["outbound_payloads"]] == [TurnsConfig().error_notice]
        assert found["turn"]["outcome"] == "failed"
        assert found["turn"]["reason"] == "agent-raised"
        assert "no idea" in found["turn"]["detail"]


async def test_a_silent_turn_says_why(tmp_path: Path) -> None:
    async def nothing(turn: Turn) -> None:
        return None

    async with web_chat(tmp_path / "gateway.db", agent=Echo(nothing)) as one:
        found = (await say(one, "hello", wait=True)).json()
        assert (found["complete"], found["turn"]) == (True, {"over": True, "outcome": "silent", "reason": "no-reply"})


async def test_media_are_lines_of_the_text(tmp_path: Path) -> None:
    agent = Echo()
    async with web_chat(tmp_path / "gateway.db", agent=agent) as one:
        await say(one, "look", wait=True, media=["https://example.org/a.png", "https://example.org/b.png"])
        await say(one, "", message="m2", wait=True, media=["https://example.org/c.png"])
    assert [text for text, _ in agent.turns] == [
        "look\nMEDIA:https://example.org/a.png\nMEDIA:https://example.org/b.png",
        "MEDIA:https://example.org/c.png",
    ]


@pytest.mark.parametrize(
    ("body", "status", "slug"),
    [
        ({"channel": "discord", "account": "other"}, 404, "unknown-account"),
        ({"channel": "discord"}, 404, "unknown-account"),
        ({"channel": "carrier-pigeon"}, 404, "unknown-channel"),
        ({"text": " \n"}, 422, "empty-message"),
        ({"message_id": ""}, 422, "invalid-body"),
        ({"peer": {"kind": "crowd", "id": "x"}}, 422, "invalid-body"),
        ({"peer": {"kind": "direct", "id": ""}}, 422, "invalid-body"),
        ({"sender": {"id": "somebody else"}}, 422, "invalid-body"),
        ({"media": ["two\nlines"]}, 422, "invalid-body"),
        ({"wait": -1}, 422, "invalid-body"),
        ({"wait": 1e9}, 422, "invalid-body"),
        ({"wait": "long"}, 422, "invalid-body"),
        ({"colour": "blue"}, 422, "invalid-body"),
    ],
)
async def test_what_is_no_message_is_refused_and_not_stored(
    tmp_path: Path, body: dict[str, object], status: int, slug: str
) -> None:
    async with web_chat(tmp_path / "gateway.db") as one:
        refused = await say(one, **body)  # pyright: ignore[reportArgumentType] -- wrong on purpose
        assert (refused.status_code, refused.json()["type"]) == (status, f"urn:trunkline:problem:{slug}")
        if status == 404:
            assert "webchat:default" in refused.json()["detail"]
        assert one.running.recorded(InboundAdmitted) == []


async def test_half_a_character_in_an_id_is_refused(tmp_path: Path) -> None:
    content = b'{"channel": "webchat", "peer": {"kind": "direct", "id": "a"}, "message_id": "\\ud800", "text": "hi"}'
    async with web_chat(tmp_path / "gateway.db") as one:
        refused = await one.http.post("/v1/chat/inbound", content=content, headers={"Content-Type": "application/json"})
        assert refused.status_code in (400, 422)
        assert one.running.recorded(InboundReceived) == []


async def test_an_unknown_inbound_has_no_outcome(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as one:
        for wait in (0, 30):
            refused = await one.http.get("/v1/chat/inbound/inbound-unknown", params={"wait": wait})
            assert (refused.status_code, refused.json()["type"]) == (404, "urn:trunkline:problem:unknown-inbound")


async def test_any_channel_can_be_a_mailbox_account(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as one:
        add_mailbox(one, "slack", "work")
        peer = {"kind": "channel", "id": "C1"}
        fields = {"channel": "slack", "account": "work", "peer": peer, "sender": {"id": "U1"}, "thread_id": "17.5"}
        answer = await say(one, "hello", wait=True, **fields)
        [payload] = answer.json()["outbound_payloads"]
        assert (payload["state"], payload["address"]["thread"]) == ("delivered", "17.5")
        assert answer.json()["session_key"].startswith("main:slack:work:channel:c1")


async def test_a_wait_ends_when_the_server_stops(tmp_path: Path) -> None:
    async def never(turn: Turn) -> None:
        await anyio.sleep_forever()

    async with web_chat(tmp_path / "gateway.db", agent=Echo(never)) as one:
        answers: list[bool] = []

        async def ask() -> None:
            answers.append((await say(one, "hello", wait=True)).json()["complete"])

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await one.running.until(InboundAdmitted)
            await anyio.sleep(0.05)
            one.served.stopping.set()
        assert answers == [False]
        assert one.running.recorded(TurnEnded) == []

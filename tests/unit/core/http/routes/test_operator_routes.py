"""The routes of operators, on a real gateway: sessions, queue, bindings, hands, explain, agents, messages."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import pytest

from tests.support.factories import group
from tests.support.http import Api, api
from tests.support.small_gateway import BEN, KEY, Echo, TinyPlatform
from trunkline import Turn
from trunkline.core.errors import Refused
from trunkline.core.events.delivery import IntentSettled, OperatorActed
from trunkline.core.events.gateway import TurnEnded
from trunkline.core.events.hands import DelegationAccepted, DelegationFinished

pytestmark = pytest.mark.anyio

WORKERS: dict[str, Any] = {"hands": {"each": {"courier": {"worker": True}}}}


@asynccontextmanager
async def talked(
    path: Path, *, lines: int = 1, errors: int = 0, **more: Any
) -> AsyncGenerator[tuple[Api, TinyPlatform]]:
    """A gateway that has answered some messages; the first answers are refused by the platform."""
    platform = TinyPlatform()
    platform.errors = [Refused("no")] * errors
    quiet = {"delivery": {"failed_notice": ""}}
    async with api(path / "gateway.db", platform=platform, **{**quiet, **more}) as one:
        for n in range(lines):
            platform.say(f"m{n}", text=f"hello {n}")
            await one.running.until(IntentSettled, n + 1)
        yield one, platform
    platform.close()


async def get(one: Api, path: str, status: int = 200, **query: Any) -> Any:
    answer = await one.http.get(path, params=query)
    assert answer.status_code == status, answer.text
    return answer.json()


async def post(one: Api, path: str, status: int = 200, **body: Any) -> Any:
    answer = await one.http.post(path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


async def order(one: Api, path: str, status: int = 200) -> Any:
    """A request without a body."""
    answer = await one.http.post(path)
    assert answer.status_code == status, answer.text
    return answer.json()


# ---------------------------------------------------------------- sessions


async def test_sessions_come_in_pages_and_each_is_found_by_its_key_and_its_id(tmp_path: Path) -> None:
    async with talked(tmp_path) as (one, platform):
        platform.say("n1", BEN, "good day")
        await one.running.until(IntentSettled, 2)
        first = await get(one, "/v1/sessions", limit=1)
        [ana] = first["sessions"]
        assert (ana["session"]["session_key"], ana["lines"]) == (KEY, 2)
        rest = await get(one, "/v1/sessions", cursor=first["next"])
        assert [found["session"]["session_key"] for found in rest["sessions"]] == [KEY.replace("100", "200")]
        assert rest["next"] is None
        for name in (KEY, ana["session"]["session_id"], "agent:main:discord:default:direct:100"):
            assert await get(one, f"/v1/sessions/{quote(name, safe='')}") == ana


async def test_a_transcript_is_read_in_pages_in_both_directions(tmp_path: Path) -> None:
    async with talked(tmp_path, lines=3) as (one, platform):
        path = f"/v1/sessions/{quote(KEY, safe='')}/transcript"
        everything = [line["text"] for line in (await get(one, path))["lines"]]
        assert everything == [text for n in range(3) for text in (f"hello {n}", f"you said hello {n}")]
        for direction in ("newer", "older"):
            found: list[str] = []
            page = await get(one, path, direction=direction, limit=4)
            while True:
                texts = [line["text"] for line in page["lines"]]
                found = [*found, *texts] if direction == "newer" else [*texts, *found]
                if not page["more"]:
                    break
                page = await get(one, path, direction=direction, limit=4, cursor=page[direction])
            assert found == everything
        end = (await get(one, path))["newer"]
        assert (await get(one, path, cursor=end))["lines"] == []
        platform.say("m9", text="one more")
        await one.running.until(IntentSettled, 4)
        assert next(line["text"] for line in (await get(one, path, cursor=end))["lines"]) == "one more"


async def test_a_session_that_is_reset_goes_on_under_its_key_with_another_id(tmp_path: Path) -> None:
    async with talked(tmp_path) as (one, platform):
        path = f"/v1/sessions/{quote(KEY, safe='')}"
        before = (await get(one, path))["session"]
        after = await order(one, f"{path}/reset")
        assert (after["before"], after["session"]["generation"]) == (before["session_id"], 2)
        assert (await get(one, f"{path}/transcript"))["lines"] == []
        old = await get(one, f"/v1/sessions/{before['session_id']}")
        assert (old["session"]["ended"], old["lines"]) == ("reset", 2)
        again = await order(one, f"/v1/sessions/{before['session_id']}/reset", 409)
        assert again["type"].endswith("illegal-transition")
        platform.say("m1", text="again")
        await one.running.until(IntentSettled, 2)
        assert len((await get(one, f"{path}/transcript"))["lines"]) == 2


@pytest.mark.parametrize("name", ["nobody", "a/b", "100%", "%2F", "ä ö", "\x00", "x" * 3000])
async def test_an_unknown_session_of_any_spelling_is_not_found(tmp_path: Path, name: str) -> None:
    async with talked(tmp_path) as (one, _):
        for rest in ("", "/transcript"):
            found = await get(one, f"/v1/sessions/{quote(name, safe='')}{rest}", 404)
            assert found["type"].endswith("unknown-name"), found


async def test_a_session_whose_key_has_every_special_character_is_found(tmp_path: Path) -> None:
    async with talked(tmp_path) as (one, platform):
        odd = group("a/b%2F?#:é", channel="discord")
        platform.say("n1", odd, "hello")
        await one.running.until(IntentSettled, 2)
        keys = [found["session"]["session_key"] for found in (await get(one, "/v1/sessions"))["sessions"]]
        [key] = [key for key in keys if key != KEY]
        page = await get(one, f"/v1/sessions/{quote(key, safe='')}/transcript")
        assert (page["session"]["session_key"], len(page["lines"])) == (key, 2)
        [row] = [
            row for row in (await get(one, "/v1/queue"))["rows"] if row["address"]["conversation"] == odd.conversation
        ]
        assert (await get(one, f"/v1/queue/{quote(row['id'], safe='')}"))["row"]["id"] == row["id"]


@pytest.mark.parametrize("path", ["/v1/sessions", "/v1/queue", f"/v1/sessions/{quote(KEY, safe='')}/transcript"])
@pytest.mark.parametrize("cursor", ["x", "bm8", "e30", "!!!!", "ä", "eyJpbnRlbnQiOiJ4In0"])
async def test_what_is_no_cursor_of_a_list_is_refused(tmp_path: Path, path: str, cursor: str) -> None:
    async with talked(tmp_path) as (one, _):
        assert (await get(one, path, 400, cursor=cursor))["type"].endswith("bad-cursor")


async def test_a_cursor_belongs_to_its_list(tmp_path: Path) -> None:
    async with talked(tmp_path, lines=2) as (one, platform):
        platform.say("n1", BEN, "good day")
        await one.running.until(IntentSettled, 3)
        sessions = (await get(one, "/v1/sessions", limit=1))["next"]
        queue = (await get(one, "/v1/queue", limit=1))["next"]
        lines = (await get(one, f"/v1/sessions/{quote(KEY, safe='')}/transcript", limit=1))["newer"]
        other = f"/v1/sessions/{quote(KEY.replace('100', '200'), safe='')}/transcript"
        for path, cursor in (("/v1/sessions", queue), ("/v1/queue", sessions), (other, lines), (other, queue)):
            assert (await get(one, path, 400, cursor=cursor))["type"].endswith("bad-cursor")


# ---------------------------------------------------------------- queue


async def test_the_queue_is_listed_in_pages_and_filtered(tmp_path: Path) -> None:
    async with talked(tmp_path, lines=3, errors=1) as (one, _):
        first = await get(one, "/v1/queue", limit=2)
        assert (first["counts"], first["more"], len(first["rows"])) == ({"delivered": 2, "failed": 1}, 1, 2)
        second = await get(one, "/v1/queue", limit=2, cursor=first["next"])
        assert (second["more"], second["next"], len(second["rows"])) == (0, None, 1)
        failed = await get(one, "/v1/queue", state=["failed", "dead"], channel="discord")
        assert [row["state"] for row in failed["rows"]] == ["failed"]
        assert first["holder"], "the gateway itself"


async def test_an_intent_that_failed_is_shown_retried_and_purged(tmp_path: Path) -> None:
    async with talked(tmp_path, errors=1) as (one, platform):
        [row] = (await get(one, "/v1/queue"))["rows"]
        shown = await get(one, f"/v1/queue/{quote(row['id'], safe='')}")
        assert (shown["can"], shown["details"]["intent"]["content"]["chunks"]) == (["retry"], ["you said hello 0"])
        done = await post(one, "/v1/queue/retry", intents=[row["id"]])
        assert [(change["before"], change["after"]) for change in done["changes"]] == [("failed", "prepared")]
        await one.running.until(IntentSettled, 2)
        assert [request.text for request in platform.sent] == ["you said hello 0"]
        assert await post(one, "/v1/queue/purge", state=["delivered"], dry_run=True) == {
            "asked": {"delivered": 1},
            "removed": 0,
        }
        assert (await post(one, "/v1/queue/purge", state=["delivered"]))["removed"] == 1
        assert (await get(one, "/v1/queue"))["counts"] == {}


async def test_all_of_a_state_are_retried_and_what_cannot_be_is_refused(tmp_path: Path) -> None:
    async with talked(tmp_path, lines=3, errors=2) as (one, _):
        assert len((await post(one, "/v1/queue/retry", state=["failed"]))["changes"]) == 2
        for body, status in (
            ({"state": ["delivered"]}, 409),
            ({}, 422),
            ({"intents": ["x"], "state": ["failed"]}, 422),
            ({"channel": "discord"}, 422),
            ({"intents": ["nobody"]}, 404),
            ({"state": ["nothing"]}, 422),
        ):
            await post(one, "/v1/queue/retry", status, **body)
        await post(one, "/v1/queue/purge", 409, state=["prepared"])
        await post(one, "/v1/queue/purge", 422)
        [delivered, *_] = (await get(one, "/v1/queue", state="delivered"))["rows"]
        await post(one, f"/v1/queue/{delivered['id']}/resolve", 409, verdict="sent")
        await post(one, f"/v1/queue/{delivered['id']}/resolve", 422, verdict="unsent", message_id="7")
        await post(one, "/v1/queue/nobody/resolve", 404, verdict="sent")


# ---------------------------------------------------------------- hands


async def delegate(turn: Turn) -> str | None:
    if turn.callback is not None:
        return f"it said: {turn.text}"
    await turn.delegate("courier", "fetch the parcel")
    return "on its way"


@asynccontextmanager
async def delegated(path: Path) -> AsyncGenerator[Api]:
    """A gateway whose worker has a task."""
    platform = TinyPlatform()
    async with api(path / "gateway.db", platform=platform, agent=Echo(delegate), **WORKERS) as one:
        platform.say("m1", text="please")
        await one.running.until(DelegationAccepted)
        await one.running.until(TurnEnded)
        yield one
    platform.close()


async def test_a_worker_takes_a_task_reports_progress_and_answers(tmp_path: Path) -> None:
    async with delegated(tmp_path) as one:
        task = (await post(one, "/v1/hands/take", hand="courier", worker="ben"))["task"]
        assert (task["task"], (await post(one, "/v1/hands/take", hand="courier"))["task"]) == ("fetch the parcel", None)
        path, ticket = f"/v1/hands/{quote(task['delegation'], safe='')}", task["ticket"]
        await post(one, f"{path}/progress", text="half way", ticket=ticket)
        wrong = await post(one, f"{path}/answer", 409, text="here", ticket="guess")
        assert wrong["reason"] == "wrong-ticket"
        shown = await get(one, path)
        assert (shown["details"]["row"]["progress"], shown["can"]) == ("half way", ["cancel"])
        listed = (await one.http.get("/v1/hands")).text + (await one.http.get(path)).text
        assert ticket not in listed, "the secret"
        assert (await post(one, f"{path}/answer", text="here it is", ticket=ticket))["first"] is True
        assert (await post(one, f"{path}/answer", text="again", ticket=ticket))["first"] is False
        await one.running.until(TurnEnded, 2)
        assert [line for line in await one.running.transcript(KEY) if "here it is" in line[1]]
        late = await get(one, path)
        assert [result["text"] for result in late["details"]["late"]] == ["again"]
        await post(one, f"{path}/progress", 409, text="more", ticket=ticket)


async def test_a_task_is_given_to_a_hand_once_for_its_key(tmp_path: Path) -> None:
    async with talked(tmp_path) as (one, platform):
        body: dict[str, Any] = {"key": "k1", "hand": "clerk", "task": "count", "to": "user:100", "channel": "discord"}
        first = await post(one, "/v1/hands", 202, **body)
        assert await post(one, "/v1/hands", 202, **body) == first
        await one.running.until(IntentSettled, 2)
        assert "done: count" in platform.sent[-1].text
        assert (await get(one, f"/v1/hands/{quote(first['delegation'], safe='')}"))["result"] == "done: count"
        [acted] = one.running.recorded(OperatorActed)
        assert (acted.verb, acted.detail) == ("delegate", "all: clerk"), "a log shows it, so it has no text"
        assert (await post(one, "/v1/hands", 409, **{**body, "task": "other"}))["reason"] == "call-changed"
        assert (await post(one, "/v1/hands", 409, **{**body, "key": "k2", "hand": "x"}))["reason"] == "unknown-hand"


async def test_operators_cancel_and_are_told_what_is_not_possible(tmp_path: Path) -> None:
    async with delegated(tmp_path) as one:
        [row] = (await get(one, "/v1/hands", hand="courier"))["page"]["rows"]
        path = f"/v1/hands/{row['id']}"
        for verb in ("retry-callback", "discard"):
            assert (await order(one, f"{path}/{verb}", 409))["type"].endswith("illegal-transition")
        assert (await order(one, f"{path}/cancel"))["post"]["verb"] == "cancel"
        await one.running.until(DelegationFinished)
        assert (await order(one, f"{path}/cancel", 409))["reason"] == "already-finished"
        for verb in ("cancel", "discard", "retry-callback"):
            await order(one, f"/v1/hands/nobody/{verb}", 404)
        await get(one, "/v1/hands/nobody", 404)
        await post(one, "/v1/hands/take", 409, hand="nobody")
        assert (await get(one, "/v1/hands", 410, before="gone"))["type"].endswith("expired-cursor")


# ---------------------------------------------------------------- bindings


async def test_a_binding_that_cannot_be_made_or_ended_says_why(tmp_path: Path) -> None:
    async with talked(tmp_path) as (one, _):
        conversation = {"channel": "discord", "account_id": "default", "conversation_id": "user:200"}
        refused = await post(one, "/v1/bindings", 409, target_session_key=KEY, conversation=conversation)
        assert refused["reason"] in ("binding-adapter-unavailable", "binding-capability-unsupported")
        answer = await one.http.delete("/v1/bindings/nobody")
        assert (answer.status_code, answer.json()["type"].rpartition(":")[2]) == (404, "unknown-name")
        assert (await get(one, "/v1/bindings", ended="true"))["rows"] == []


# ---------------------------------------------------------------- messages, agents, explain


async def test_a_message_is_sent_once_for_its_key(tmp_path: Path) -> None:
    async with talked(tmp_path) as (one, platform):
        body: dict[str, Any] = {"to": "user:200", "channel": "discord", "text": "good day", "key": "k1"}
        first = await post(one, "/v1/messages", **body)
        assert (first["status"], first["cached"]) == ("delivered", False)
        assert (await post(one, "/v1/messages", **body))["cached"] is True
        assert [request.text for request in platform.sent].count("good day") == 1
        dry = await post(one, "/v1/messages", **{**body, "key": "k2", "dry_run": True})
        assert (dry["status"], dry["preview"]) == ("dry-run", ["good day"])
        queued = await post(one, "/v1/messages", **{**body, "key": "k3", "wait": False})
        assert queued["status"] == "queued"
        problem = await post(one, "/v1/messages", 422, **{**body, "to": "", "key": "k4"})
        assert problem["type"].endswith("invalid-send")
        await post(one, "/v1/messages", 422, **{**body, "key": "k5", "txt": "typo"})


async def test_a_send_whose_time_is_over_is_queued_and_its_key_still_counts(tmp_path: Path) -> None:
    async with talked(tmp_path) as (one, platform):
        platform.errors = [ConnectionError("not now")]
        body: dict[str, Any] = {"to": "user:200", "channel": "discord", "text": "later", "key": "k1"}
        assert (await post(one, "/v1/messages", **body, wait=0.05))["status"] == "queued"
        with anyio.fail_after(60):
            assert (await post(one, "/v1/messages", **body, wait=60))["status"] == "delivered"
        assert [request.text for request in platform.sent].count("later") == 1


async def test_the_failure_of_one_target_of_a_broadcast_is_in_its_result(tmp_path: Path) -> None:
    async with talked(tmp_path) as (one, _):
        targets = [{"to": "user:200", "channel": "discord"}, {"to": "user:1", "channel": "nowhere"}]
        for wait in (True, False):
            found = await post(one, "/v1/messages/broadcast", text="all", key=f"b{wait}", targets=targets, wait=wait)
            good, bad = found["results"]
            assert good["outcome"]["status"] == ("delivered" if wait else "queued")
            assert (bad["outcome"], "nowhere" in bad["error"]) == (None, True)
        twice = await post(one, "/v1/messages/broadcast", 422, text="x", key="c", targets=targets[:1] * 2)
        assert "named twice" in twice["detail"]


async def test_an_agent_is_woken(tmp_path: Path) -> None:
    async with talked(tmp_path) as (one, _):
        bodies: dict[str, dict[str, Any]] = {"wake": {"text": "x"}, "heartbeat": {}}
        await post(one, "/v1/agents/main/wake", 202, text="the day begins")
        await one.running.until(TurnEnded, 2)
        assert ("user", "the day begins") in await one.running.transcript("main:main")
        assert "no heartbeat" in (await post(one, "/v1/agents/main/heartbeat", 404))["detail"]
        for verb, body in bodies.items():
            assert "there are: main" in (await post(one, f"/v1/agents/nobody/{verb}", 404, **body))["detail"]


async def test_an_agent_is_woken_once_for_its_key(tmp_path: Path) -> None:
    path, body = "/v1/agents/main/wake", {"text": "the day begins", "key": "2026-11-23"}
    async with talked(tmp_path) as (one, _):
        found: list[dict[str, Any]] = []

        async def wake() -> None:
            found.append(await post(one, path, 202, **body))

        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(wake)
        assert sorted(answer["duplicate"] for answer in found) == [False, *[True] * 9]
        [first] = {(answer["inbound"], answer["session_id"], answer["session_key"]) for answer in found}
        await one.running.until(TurnEnded, 2)
        outcome = await get(one, f"/v1/chat/inbound/{quote(first[0], safe='')}", wait=20)
        assert (outcome["complete"], outcome["outbound_payloads"]) == (True, [])
        other = await post(one, path, 409, **{**body, "text": "another day"})
        assert other["type"].endswith("key-reused")
        await post(one, path, 422, **{**body, "key": ""})
        await post(one, path, 422, **{**body, "key": "  "})
    async with talked(tmp_path, lines=0) as (one, _):
        again = await post(one, path, 202, **body)
        assert (again["inbound"], again["duplicate"]) == (first[0], True), "after a restart"
        assert [(await post(one, path, 202, text="hello"))["duplicate"] for _ in range(2)] == [False] * 2
        await one.running.until(TurnEnded, 2)
        said = [text for role, text in await one.running.transcript("main:main") if role == "user"]
        assert said == ["the day begins", "hello", "hello"]


async def test_the_decisions_are_explained_and_nothing_happens(tmp_path: Path) -> None:
    async with talked(tmp_path) as (one, platform):
        before = (len(one.running.log.events), len(platform.sent))
        route = await post(one, "/v1/explain/route", channel="discord", kind="direct", peer="100")
        assert (route["agent"], route["session_key"], route["matched_by"]) == ("main", KEY, "default")
        send = await post(one, "/v1/explain/send", channel="discord", target="user:100")
        assert (send["session_key"], send["place"]["conversation"]) == (KEY, "100")
        asked: dict[str, Any] = {"from": "slack:channel:C1", "to": "telegram:970312941"}
        policy = await post(one, "/v1/explain/policy", **asked)
        assert (policy["allowed"], policy["reason"]) == (False, "cross-context-denied")
        await post(one, "/v1/explain/send", 422, channel="discord", target="   ")
        asked = {"from": "wake", "to": "slack:channel:C1", "agent": "nobody"}
        await post(one, "/v1/explain/policy", 404, **asked)
        assert (len(one.running.log.events), len(platform.sent)) == before

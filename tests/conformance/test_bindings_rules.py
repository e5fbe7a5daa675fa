"""Rules of upstream's bindings and completions that no case of the tables shows, by the runners of those tables."""

from typing import Any

import pytest

from tests.conformance import bindings, delivery_router
from tests.conformance.upstream.discord_bindings import OwnEchoes
from tests.support.for_each import for_each
from trunkline.core.profile_rules import Profile

MARCH, AUGUST = Profile.OPENCLAW, Profile.OPENCLAW_2026_08
CHILD = "agent:main:subagent:child"
Fields = dict[str, Any]


def steps(*given: Fields, profile: Profile = MARCH) -> list[Fields]:
    return bindings.run({"given": {"clock_start": 1000, "steps": list(given)}}, profile)["steps"]


def scripted(channel: str = "discord", account: str = "default", **more: object) -> Fields:
    return {"op": "register", "adapter": "scripted", "channel": channel, "account_id": account, **more}


def discord(**more: object) -> Fields:
    return {
        "op": "register", "adapter": "discord_thread", "channel": "discord", "account_id": "default", "token": "t1",
        **more,
    }  # fmt: skip


def generic(channel: str = "line") -> Fields:
    return {"op": "register", "adapter": "generic_current", "channel": channel, "account_id": "default"}


def ref(conversation: str = "th1", channel: str = "discord", account: str = "default", parent: str = "p1") -> Fields:
    return {
        "channel": channel, "account_id": account, "conversation_id": conversation, "parent_conversation_id": parent
    }  # fmt: skip


def bind(place: Fields | None = None, key: str = CHILD, **more: object) -> Fields:
    return {
        "op": "bind", "target_session_key": key, "target_kind": "subagent", "conversation": place or ref(), **more
    }  # fmt: skip


def unbind(**more: object) -> Fields:
    return {"op": "unbind", **more}


def listing(key: str = CHILD) -> Fields:
    return {"op": "list", "target_session_key": key}


def resolve(place: Fields | None = None) -> Fields:
    return {"op": "resolve", "conversation": place or ref()}


def capabilities(**place: str) -> Fields:
    return {"op": "capabilities", "channel": "discord", "account_id": "default", **place}


def advance(ms: int) -> Fields:
    return {"op": "advance", "ms": ms}


SWEEP = {"op": "sweep", "account_id": "default"}
NOTHING_SWEPT = {"removed_threads": [], "farewell_sent_by": []}

# -------------------------------------------------------------------- the dispatcher


@pytest.mark.parametrize(("profile", "first", "left"), [(MARCH, "A", "B"), (AUGUST, "B", "A")])
def test_who_is_in_charge_of_a_key_differs_per_version(profile: Profile, first: str, left: str) -> None:
    gone = {"op": "unregister", "channel": "DISCORD", "account_id": " Default", "name": first}
    told = steps(
        scripted(name="A", binding_prefix="A"), scripted(name="B", binding_prefix="B"), bind(), gone, bind(), gone,
        bind(), profile=profile,
    )  # fmt: skip
    assert [told[at]["record"]["binding_id"] for at in (2, 4, 6)] == [f"{first}:th1", f"{left}:th1", f"{left}:th1"]


def test_a_blank_conversation_asks_for_a_child() -> None:
    told = steps(scripted(placements=["current"]), bind(ref(" ")), scripted("slack"), bind(ref("", "slack")))
    assert told[1] == {"error": "BINDING_CAPABILITY_UNSUPPORTED", "placement": "child"}
    assert told[3]["record"]["conversation"]["conversation_id"] == "child-1"


def test_current_placement_is_refused_where_only_child_is_offered() -> None:
    told = steps(scripted(placements=["child"]), bind())
    assert told[1] == {"error": "BINDING_CAPABILITY_UNSUPPORTED", "placement": "current"}


@pytest.mark.parametrize(
    ("declared", "offered"),
    [
        (["child", "child", "moon"], ["child"]),
        (["child", "current"], ["child", "current"]),
        ([], ["current", "child"]),
        (["moon"], ["current", "child"]),
        (None, ["current", "child"]),
    ],
)
def test_placements_are_known_words_each_once(declared: list[str] | None, offered: list[str]) -> None:
    told = steps(scripted(placements=declared), capabilities(channel=" Discord", account_id="DEFAULT"))
    assert told[1]["placements"] == offered


def test_a_declared_ability_does_not_make_one() -> None:
    told = steps(scripted(can_bind=False, bind_supported=True), capabilities(), bind())
    assert told[1]["bind_supported"] is True
    assert told[2] == {"error": "BINDING_CAPABILITY_UNSUPPORTED", "placement": None}


def test_ids_collide_across_channels_in_march_only() -> None:
    given = scripted(), scripted("slack"), bind(), bind(ref(channel="slack")), listing()
    both = ["default:th1", "default:th1"]
    assert steps(*given)[4] == {"binding_ids": both[:1]}
    assert steps(*given, profile=AUGUST)[4] == {"binding_ids": both}
    # March: unbinding the one removes the other as well (museum B133). August can say which is meant.
    gone = unbind(binding_id="default:th1", channel="slack", account_id="default")
    assert steps(*given, gone, resolve())[6] == {"binding": None}
    assert steps(*given, gone, resolve(), profile=AUGUST)[6]["binding"]["binding_id"] == "default:th1"


def test_an_account_is_read_as_keys_have_it() -> None:
    told = steps(scripted(account="My Bot"), bind(ref(account=" my-bot ")), resolve(ref(account="MY BOT")))
    assert told[2]["binding"]["binding_id"] == "my-bot:th1"


def test_an_unknown_op_or_adapter_is_no_answer() -> None:
    for wrong in ({"op": "fly"}, {**scripted(), "adapter": "fly"}):
        with pytest.raises(LookupError, match="fly"):
            steps(wrong)


# -------------------------------------------------------------------- Discord


@pytest.mark.parametrize(("age", "after"), [(5999, []), (6000, ["th1"])])
def test_the_sweep_removes_at_the_deadline(age: int, after: list[str]) -> None:
    told = steps(discord(idle_timeout_ms=0, max_age_ms=6000), bind(), advance(age), SWEEP)
    assert told[3]["removed_threads"] == after


@pytest.mark.parametrize(("given", "kept"), [(-1, 86_400_000), (None, 86_400_000), (0, 0), (7, 7)])
def test_a_negative_idle_timeout_is_the_default(given: int | None, kept: int) -> None:
    assert steps(discord(idle_timeout_ms=given))[0]["idle_timeout_ms"] == kept


@pytest.mark.parametrize("state", ["deleted", "forbidden", 403, 404, 10003])
def test_what_is_not_to_be_seen_is_unbound_silently(state: object) -> None:
    told = steps(discord(), bind(), {"op": "thread_state", "thread_id": "th1", "state": state}, SWEEP, listing())
    assert told[3:] == [{"removed_threads": ["th1"], "farewell_sent_by": []}, {"binding_ids": []}]


@pytest.mark.parametrize("state", ["open", "error", 500])
def test_what_is_open_or_unreported_is_kept(state: object) -> None:
    told = steps(discord(), bind(), {"op": "thread_state", "thread_id": "th1", "state": state}, SWEEP, listing())
    assert told[3:] == [NOTHING_SWEPT, {"binding_ids": ["default:th1"]}]


@pytest.mark.parametrize("name", ["user:7", "Channel:7"])
def test_direct_conversations_are_not_probed_and_have_no_webhook(name: str) -> None:
    told = steps(
        discord(), bind(ref(name, parent="")), {"op": "thread_state", "thread_id": name, "state": "deleted"}, SWEEP,
        {"op": "webhook_state", "account_id": "default", "thread_id": name},
    )  # fmt: skip
    assert told[1]["record"]["conversation"]["parent_conversation_id"] == name
    assert told[3:] == [NOTHING_SWEPT, {"webhook_id": None, "webhooks_created": 0}]


def test_a_blank_token_is_not_taken_and_a_stopped_manager_starts_over() -> None:
    stop = {"op": "unregister", "channel": "discord", "account_id": "default"}
    told = steps(
        discord(idle_timeout_ms=5), discord(token="  "), bind(), {"op": "rest_token"}, stop, bind(),
        discord(idle_timeout_ms=9, token="t3"), listing(), bind(ref("th2", parent="p2")), {"op": "rest_token"},
    )  # fmt: skip
    assert told[3] == {"last_token": "t1"}
    assert told[5]["error"] == "BINDING_ADAPTER_UNAVAILABLE"
    # The records of before are there still; the settings are the new ones.
    assert (told[6]["idle_timeout_ms"], told[7], told[9]) == (9, {"binding_ids": ["default:th1"]}, {"last_token": "t3"})


def test_rebinding_clears_the_suppression_of_echoes() -> None:
    echo = {"op": "echo_suppressed", "account_id": "default", "thread_id": "th1", "webhook_id": "wh1"}
    told = steps(discord(), bind(), echo, unbind(binding_id="default:th1"), advance(29_999), echo, bind(), echo)
    assert [told[at]["suppressed"] for at in (2, 5, 7)] == [False, True, False]


def test_where_both_are_given_the_session_counts() -> None:
    told = steps(
        discord(), bind(), bind(ref("th2"), "other"), unbind(binding_id="default:th1", target_session_key="other")
    )
    assert told[3] == {"removed": ["default:th2"]}


def test_a_child_needs_a_channel() -> None:
    told = steps(discord(), bind(ref("", parent="")), bind(ref("room", parent=""), placement="child"))
    assert told[1] == {"error": "BINDING_CREATE_FAILED", "placement": "child"}
    assert told[2]["record"]["conversation"]["parent_conversation_id"] == "room"


# -------------------------------------------------------------------- the generic store


def test_march_has_no_store_for_channels_without_an_adapter() -> None:
    told = steps(generic(), capabilities(channel="line"), bind(ref(channel="line")))
    assert (told[1]["adapter_available"], told[2]["error"]) == (False, "BINDING_ADAPTER_UNAVAILABLE")


def test_the_generic_store_takes_the_current_conversation_only_and_an_adapter_comes_first() -> None:
    told = steps(
        generic(), bind(ref(channel="line"), placement="child"), scripted("line"), bind(ref(channel="line")),
        profile=AUGUST,
    )  # fmt: skip
    assert told[1] == {"error": "BINDING_CAPABILITY_UNSUPPORTED", "placement": "child"}
    assert told[3]["record"]["binding_id"] == "default:th1"


def test_a_touch_does_not_move_a_ttl_and_none_is_below_zero() -> None:
    place = ref(channel="line", parent="")
    told = steps(
        generic(), bind(place, ttl_ms=50), advance(40), {"op": "touch", "binding_id": "generic:line␟default␟␟th1"},
        advance(9), resolve(place), advance(1), resolve(place), bind(place, ttl_ms=-5), listing(), profile=AUGUST,
    )  # fmt: skip
    assert told[5]["binding"]["expires_at"] == 1050
    assert (told[7], told[8]["record"]["expires_at"], told[9]) == ({"binding": None}, 1050, {"binding_ids": []})


def test_generic_bindings_are_unbound_by_id_or_session_and_moved_by_binding_again() -> None:
    place = ref(channel="line", parent="")
    name = "generic:line␟default␟␟th1"
    told = steps(
        generic(), bind(place), bind(place, "other"), listing(), unbind(target_session_key=CHILD), unbind(),
        unbind(binding_id=name), bind(place), unbind(target_session_key=CHILD), bind(place, " "), profile=AUGUST,
    )  # fmt: skip
    assert told[3] == {"binding_ids": []}
    assert [told[at]["removed"] for at in (4, 5, 6, 8)] == [[], [], [name], [name]]
    assert told[9]["error"] == "BINDING_CREATE_FAILED"


# -------------------------------------------------------------------- completions


def completion(origin: Fields | None, *bound: Fields, **more: object) -> Fields:
    given = {"child_session_key": CHILD, "requester_origin": origin, **more}
    case = {"given": {"op": "completion_destination", "bindings": list(bound), "input": given}}
    return delivery_router.run(case, MARCH)


BOUND = {"binding_id": "b1", "channel": "discord", "account_id": "default", "conversation_id": "th1"}


@for_each(
    ("to", "conversation"),
    [
        ("channel: C1 ", "C1"), ("Conversation:C1", "C1"), ("group:g", "g"), ("room:!r:m.example", "!r:m.example"),
        ("dm:7", "7"), ("<#123>", "123"), ("123456", "123456"), ("12345", None), ("telegram:123", None),
        ("user:123456", None), ("channel: ", None), ("-100123456", None), ("", None),
    ],
)  # fmt: skip
def test_a_requesters_conversation_is_read_from_its_target(to: str, conversation: str | None) -> None:
    found = completion({"channel": " Slack ", "account_id": None, "to": to})["requester_conversation"]
    assert (found or {}).get("conversation_id") == conversation
    assert found is None or (found["channel"], found["account_id"]) == ("slack", "default")


def test_a_thread_counts_before_the_target_also_as_a_number() -> None:
    found = completion({"channel": "telegram", "to": "channel:C1", "thread_id": 7})
    assert found["requester_conversation"]["conversation_id"] == "7"
    assert found["destination"]["thread_id"] == 7


def test_an_origin_on_another_channel_fills_nothing() -> None:
    found = completion({"channel": "telegram", "to": "telegram:123", "thread_id": None, "account_id": "bot"}, BOUND)
    assert (found["mode"], found["reason"]) == ("bound", "single-active-binding")
    assert found["destination"] == {
        "channel": "discord",
        "account_id": "default",
        "to": "channel:th1",
        "thread_id": None,
    }


def test_what_a_plugin_answers_counts_before_the_origin_when_nothing_is_bound() -> None:
    hook = {"channel": "discord", "account_id": "work", "to": "channel:th9", "thread_id": "th9"}
    found = completion({"channel": "discord", "to": "channel:main"}, hook_origin=hook)
    assert (found["mode"], found["destination"]) == ("fallback", hook)
    assert completion({"channel": "discord", "to": "channel:main"}, BOUND, hook_origin=hook)["mode"] == "bound"
    assert completion(None)["destination"] is None


@pytest.mark.parametrize(
    ("completes", "queue", "direct", "told"),
    [
        (True, "steered", False, (True, "steered", ["direct-primary", "queue-fallback"])),
        (True, "dropped", False, (False, "direct", ["direct-primary", "queue-fallback"])),
        (False, "steered", True, (True, "steered", ["queue-primary"])),
        (False, "dropped", True, (False, "none", ["queue-primary"])),
        (False, "none", False, (False, "direct", ["queue-primary", "direct-primary"])),
    ],
)
def test_the_order_of_announcements(
    completes: bool, queue: str, direct: bool, told: tuple[bool, str, list[str]]
) -> None:
    given = {
        "op": "announce_dispatch", "expects_completion_message": completes, "queue_outcome": queue,
        "direct_delivered": direct, "aborted": False,
    }  # fmt: skip
    found = delivery_router.run({"given": given}, MARCH)
    assert (found["delivered"], found["path"], found["phases"]) == told
    aborted = delivery_router.run({"given": {**given, "aborted": True}}, MARCH)
    assert aborted == {"delivered": False, "path": "none", "phases": []}


# -------------------------------------------------------------------- answers in bound threads


def reply(*said: object, binding: Fields | None = None, **more: object) -> Fields:
    bound = {
        "target_session_key": CHILD, "thread_id": "th1", "agent_id": "codex", "webhook_id": "wh1",
        "webhook_token": "t1", **(binding or {}),
    }  # fmt: skip
    given = {"replies": list(said), "target": "channel:th1", "session_key": CHILD, "bindings": [bound], **more}
    return delivery_router.run({"given": {"op": "bound_reply", **given}}, MARCH)


def test_media_and_a_webhook_without_its_secret_go_by_the_bot_and_touch_all_the_same() -> None:
    by_bot = {"via": "bot", "to": "channel:th1", "text": "x"}
    assert reply({"text": "x", "media_urls": ["a.png"]}) == {"attempts": [by_bot], "touched": 1}
    assert reply("x", binding={"webhook_token": None}) == {"attempts": [by_bot], "touched": 1}


def test_the_binding_of_another_session_is_not_used() -> None:
    assert reply("x", session_key="other")["touched"] == 0
    assert reply("x", session_key=None, target="th1")["touched"] == 0


def test_a_long_label_is_cut_and_the_agent_stands_in_for_none() -> None:
    long = reply("x", binding={"label": "y" * 200})["attempts"][0]["username"]
    assert len(long.encode("utf-16-le")) // 2 == 80
    assert reply("x")["attempts"][0]["username"] == "\N{ROBOT FACE} codex"


def test_marks_go_with_all_or_none_and_empty_answers_are_not_sent() -> None:
    both = reply("a", " ", "b", reply_to_id="m1", reply_to_mode="all")["attempts"]
    assert [one["reply_to"] for one in both] == ["m1", "m1"]
    assert [one["reply_to"] for one in reply("a", reply_to_id="m1", reply_to_mode="off")["attempts"]] == [None]
    assert reply(" ") == {"attempts": [], "touched": 0}


def test_when_the_bot_fails_too_nothing_is_touched() -> None:
    found = reply("a", "b", webhook_fails=True, bot_fails=True)
    assert ([one["via"] for one in found["attempts"]], found["touched"]) == (["webhook", "bot"], 0)
    assert "error" in found


def test_echoes_of_the_old_webhook_are_known_for_thirty_seconds() -> None:
    echoes = OwnEchoes()
    echoes.unbound("201", "wh1", now=0.0)
    echoes.unbound("202", None, now=0.0)
    assert [echoes.suppresses("201", name, 29.9) for name in ("wh1", "wh2")] == [True, False]
    assert not echoes.suppresses("202", "wh1", 0.0)
    assert not echoes.suppresses("201", "wh1", 30.0)
    echoes.unbound("201", "wh1", now=40.0)
    echoes.bound("201")
    assert not echoes.suppresses("201", "wh1", 41.0)

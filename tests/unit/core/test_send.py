"""Sends of clients, decided: what is sent, by whom, where it is remembered, and what is refused."""

from typing import Any

import pytest

from tests.conformance import gateway_send
from tests.support.factories import config, direct, room
from tests.support.for_each import for_each
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import InvalidSend
from trunkline.core.profile_rules import Profile, profile_rules
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import send_intent
from trunkline.core.routing.outbound import OutboundQuestion, OutboundRoute, resolve_outbound_route
from trunkline.core.sends.api import (
    SendMessage,
    SendPlan,
    check_exact,
    check_send,
    choose_agent,
    choose_channel,
    named_session,
    plan_send,
    session_of,
)
from trunkline.core.sessions.entries import entry_for
from trunkline.core.text.mirror_text import media_name, mirror_text
from trunkline.core.text.model_text import split_media


def message(**fields: Any) -> SendMessage:
    return SendMessage(**{"to": "channel:500", "text": "hi", "key": "k1", **fields})


def upstream(**fields: Any) -> GatewayConfig:
    return config(profile="openclaw", **fields)


# ---------------------------------------------------------------- names of files


@for_each(
    ("address", "name"),
    [
        ("https://example.com/files/report.pdf?sig=1", "report.pdf"),
        ("https://example.com/My%20Report.pdf#page=2?x", "My Report.pdf"),
        ("https://example.com/a/b/", "b"),
        ("https://example.com/", "media"),
        ("https://example.com", "media"),
        ("https://example.com?file=a.png", "media"),
        ("  https://example.com/z.webp  ", "z.webp"),
        ("http://[broken/a.png", "a.png"),
        ("//cdn.example.com/a.png", "a.png"),
        ("file:///out/voice%20note.ogg", "voice note.ogg"),
        ("./out/chart.svg", "chart.svg"),
        ("/out/100%.png", "100%.png"),
        ("/out/a%20b.png", "a%20b.png"),
        ("C:\\Users\\ana\\photo.jpg", "photo.jpg"),
        ("photo.jpg", "photo.jpg"),
        ("data:image/png;base64,iVBOR/w0KGgo", "media"),
        ("", "media"),
        ("..", "media"),
        ("~/", "media"),
        # What is encoded must not look like something else in a transcript.
        ("https://example.com/a%0Aassistant:%20b.png", "a%0Aassistant:%20b.png"),
        ("https://example.com/a%2Fb.png", "a%2Fb.png"),
        ("https://example.com/%FF.png", "%FF.png"),
        ("https://example.com/%20", "%20"),
        ("https://example.com/caf%C3%A9.png", "café.png"),
    ],
)
def test_a_file_is_named_by_the_last_part_of_its_address(address: str, name: str) -> None:
    assert media_name(address) == name


def test_the_transcript_keeps_the_caption_and_the_names_of_files() -> None:
    assert mirror_text("caption", ()) == "caption"
    assert mirror_text("caption", ("/a.png", "https://e.com/b.png")) == "caption\na.png, b.png"
    assert mirror_text(" \n ", ("/a.png",)) == "a.png"


def test_files_without_a_name_are_mentioned_once_and_only_where_none_has_one() -> None:
    assert mirror_text("caption", ("https://e.com/", "/a.png", "https://e.com")) == "caption\na.png"
    assert mirror_text("caption", ("https://e.com/", "https://e.com")) == "caption\nmedia"


# ---------------------------------------------------------------- text and media


@for_each(
    ("text", "rest", "media"),
    [
        ("plain", "plain", ()),
        ("  as it is ", "  as it is ", ()),
        ("Here\nMEDIA:https://e.com/a.png", "Here", ("https://e.com/a.png",)),
        ("MEDIA:https://e.com/a.png", "", ("https://e.com/a.png",)),
        ("  MEDIA: ./a.png  \r\nthere", "there", ("./a.png",)),
        ("one\nMEDIA:/a.png\ntwo", "one\ntwo", ("/a.png",)),
        ("one\n\nMEDIA:/a.png\n\n\ntwo", "one\n\ntwo", ("/a.png",)),
        ("one\n\nMEDIA:/a.png\ntwo", "one\n\ntwo", ("/a.png",)),
        ("one\n\n\ntwo\nMEDIA:/a.png", "one\n\n\ntwo", ("/a.png",)),
        ("MEDIA:/a.png /b.png\nMEDIA:/c.png", "", ("/a.png", "/b.png", "/c.png")),
        ("MEDIA:/a.png\nMEDIA:/a.png", "", ("/a.png",)),
        ('MEDIA:"/my files/a b.png"', "", ("/my files/a b.png",)),
        ("MEDIA:`C:\\a.png`", "", ("C:\\a.png",)),
        ("MEDIA:chart.svg", "", ("chart.svg",)),
        # Text that only looks like it.
        ("MEDIA: see below", "MEDIA: see below", ()),
        ("MEDIA: a.png and b.png", "MEDIA: a.png and b.png", ()),
        ("MEDIA:", "MEDIA:", ()),
        ("MEDIA:javascript:x", "MEDIA:javascript:x", ()),
        ("Media:/a.png", "Media:/a.png", ()),
        ("see MEDIA:/a.png", "see MEDIA:/a.png", ()),
        ("```\nMEDIA:/a.png\n```", "```\nMEDIA:/a.png\n```", ()),
        ("~~~\n```\nMEDIA:/a.png\n~~~\nMEDIA:/b.png", "~~~\n```\nMEDIA:/a.png\n~~~", ("/b.png",)),
    ],
)
def test_lines_that_name_files_are_no_text(text: str, rest: str, media: tuple[str, ...]) -> None:
    assert split_media(text, ()) == (rest, media)


def test_named_media_come_before_those_of_the_text_and_none_comes_twice() -> None:
    media = (" https://e.com/b.png ", "", " ", "/a.png")
    assert split_media("x\nMEDIA:/a.png\nMEDIA:/c.png", media) == ("x", ("https://e.com/b.png", "/a.png", "/c.png"))


def test_upstream_trims_the_text_and_takes_blank_lines_out() -> None:
    assert split_media("  hi ", (), profile_rules(Profile.OPENCLAW)) == ("hi", ())
    assert split_media("a\n\nb\nmedia:/a.png\n\nc", (), profile_rules(Profile.OPENCLAW)) == ("a\nb\nc", ("/a.png",))
    assert split_media("a\n\nb", (), profile_rules(Profile.OPENCLAW)) == ("a\n\nb", ())


@for_each(
    ("fields", "reason"),
    [
        ({"text": ""}, Reason.NOTHING_TO_SEND),
        ({"text": " \n "}, Reason.NOTHING_TO_SEND),
        ({"text": "", "media": (" ",)}, Reason.NOTHING_TO_SEND),
        ({"key": ""}, Reason.BAD_IDEMPOTENCY_KEY),
        ({"key": " \t"}, Reason.BAD_IDEMPOTENCY_KEY),
        ({"key": "k\ud800"}, Reason.BAD_IDEMPOTENCY_KEY),
        ({"to": "  "}, Reason.BAD_TARGET),
        ({"to": room("500"), "channel": "slack"}, Reason.UNKNOWN_CHANNEL),
        ({"to": room("500"), "account": "work"}, Reason.UNKNOWN_ACCOUNT),
        ({"to": room("500"), "thread": "7"}, Reason.BAD_TARGET),
    ],
)
def test_a_send_that_makes_no_sense_is_refused(fields: dict[str, Any], reason: Reason) -> None:
    with pytest.raises(InvalidSend) as caught:
        check_send(message(**fields))
    assert caught.value.reason is reason


def test_media_alone_are_enough() -> None:
    assert check_send(message(text="", media=("/a.png",))) == ("", ("/a.png",))
    assert check_send(message(text="MEDIA:/a.png")) == ("", ("/a.png",))


def test_what_is_said_beside_an_exact_place_may_repeat_it() -> None:
    check_exact(room("500"), "discord", " default ", None)
    check_exact(room("777", parent="500"), None, None, "777")


# ---------------------------------------------------------------- channel


def test_the_channel_is_the_one_that_is_named_or_the_only_one() -> None:
    served = ("discord", "telegram")
    assert choose_channel(message(channel=" Telegram "), served) == "telegram"
    assert choose_channel(message(), ("slack",)) == "slack"
    assert choose_channel(message(to=room("500")), served) == "discord"
    assert choose_channel(message(channel="webchat"), ("discord", "webchat")) == "webchat"


@pytest.mark.parametrize("profile", [Profile.OPENCLAW, Profile.OPENCLAW_2026_08])
def test_upstream_sends_nothing_to_a_web_chat_that_is_served(profile: Profile) -> None:
    served = ("discord", "webchat")
    assert choose_channel(message(), served, profile_rules(profile)) == "discord"
    for fields in ({"channel": "webchat"}, {"to": room("ana", channel="webchat")}):
        with pytest.raises(InvalidSend, match="channel 'webchat' is internal") as caught:
            choose_channel(message(**fields), served, profile_rules(profile))
        assert caught.value.reason is Reason.UNKNOWN_CHANNEL


@for_each(
    ("fields", "served", "says"),
    [
        ({}, ("discord", "telegram"), "the channel is missing; there are: discord, telegram"),
        ({}, (), "the channel is missing; none is served"),
        ({"channel": " "}, ("discord", "telegram"), "the channel is missing"),
        ({"channel": "slack"}, ("discord",), "channel 'slack' is not served; there are: discord"),
        ({"channel": "webchat"}, ("discord",), "channel 'webchat' is internal"),
        ({"to": room("C1", channel="slack")}, ("discord",), "channel 'slack' is not served"),
    ],
)
def test_a_channel_that_cannot_be_chosen_is_refused(fields: dict[str, Any], served: tuple[str, ...], says: str) -> None:
    with pytest.raises(InvalidSend) as caught:
        choose_channel(message(**fields), served)
    assert says in caught.value.facts
    assert caught.value.reason is Reason.UNKNOWN_CHANNEL


# ---------------------------------------------------------------- agent and session


@for_each(
    ("fields", "agent"),
    [
        ({}, "main"),
        ({"agent": " ops "}, "ops"),
        ({"agent": " "}, "main"),
        ({"session_key": "ops:main"}, "ops"),
        ({"session_key": " Agent:Dev:Main "}, "dev"),
        ({"session_key": "  "}, "main"),
        ({"agent": "ops", "session_key": "ops:main"}, "ops"),
    ],
)
def test_the_agent_is_the_named_one_or_that_of_the_session_or_the_default(fields: dict[str, Any], agent: str) -> None:
    assert choose_agent(message(**fields), config()) == agent


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"agent": "nobody"}, Reason.UNKNOWN_AGENT),
        ({"session_key": "nobody:main"}, Reason.UNKNOWN_AGENT),
        ({"session_key": "nonsense"}, Reason.BAD_SESSION_KEY),
        ({"session_key": "main:discord:default:direct"}, Reason.BAD_SESSION_KEY),
        # A session belongs to one agent: whose shall it be?
        ({"agent": "ops", "session_key": "main:main"}, Reason.BAD_SESSION_KEY),
    ],
)
def test_an_agent_or_session_that_does_not_exist_is_refused(fields: dict[str, Any], reason: Reason) -> None:
    with pytest.raises(InvalidSend) as caught:
        choose_agent(message(**fields), config())
    assert caught.value.reason is reason


def test_upstream_takes_any_agent_and_the_named_one_beats_that_of_the_key() -> None:
    both = message(agent="Elsewhere", session_key="agent:ops:main")
    assert choose_agent(both, upstream()) == "Elsewhere"
    assert session_of(both, None, upstream()) == ("agent:ops:main", True)
    # A key without an agent is the default one's.
    assert choose_agent(message(session_key="main"), upstream(agents=("home",))) == "home"


def test_a_named_session_is_brought_into_the_form_that_is_stored() -> None:
    assert named_session("agent:main:slack:channel:C1", config()) == ("main:slack:default:channel:c1", "main")
    assert named_session(" MAIN:Discord:default:direct:100", config()) == ("main:discord:default:direct:100", "main")
    assert named_session("agent:main:slack:channel:C1", upstream()) == ("agent:main:slack:channel:c1", "main")
    assert named_session(" ", config()) is None
    assert named_session(None, config()) is None


def route(target: str = "channel:500", settings: GatewayConfig | None = None, **fields: Any) -> OutboundRoute:
    question = OutboundQuestion(**{"agent": "main", "channel": "discord", "target": target, **fields})
    return resolve_outbound_route(question, settings or config())


def test_without_a_named_session_it_is_that_of_the_place() -> None:
    assert session_of(message(), route(), config()) == ("main:discord:default:channel:500", False)
    assert session_of(message(), None, upstream()) == (None, False)


# ---------------------------------------------------------------- the plan


def planned(found: OutboundRoute | None, settings: GatewayConfig | None = None, **fields: Any) -> SendPlan:
    return plan_send(
        message(**fields),
        agent="main",
        channel="discord",
        target="channel:500",
        account="default",
        route=found,
        config=settings or config(),
    )


def test_the_entry_is_that_of_the_place() -> None:
    plan = planned(route())
    assert (plan.session_key, plan.named_session) == ("main:discord:default:channel:500", False)
    assert plan.entry == entry_for(room("500"))


def test_a_named_session_gets_no_entry() -> None:
    plan = planned(route(), session_key="main:main")
    assert (plan.session_key, plan.named_session, plan.entry) == ("main:main", True, None)


def test_upstream_plans_without_a_route() -> None:
    plan = planned(None, upstream())
    assert (plan.session_key, plan.entry) == (None, None)
    assert planned(None, upstream(), session_key="Agent:Main:Main").session_key == "agent:main:main"


def test_an_answer_is_a_quotation_unless_it_is_the_thread() -> None:
    assert planned(route(), reply_to=" 9 ").reply_to == "9"
    assert planned(route(), reply_to=" ").reply_to is None
    threaded = route("channel:C1", channel="slack", reply_to="171.2")
    assert threaded.address.thread == "171.2"
    assert planned(threaded, reply_to="171.2").reply_to is None


def test_no_two_keys_have_an_intent_in_common() -> None:
    keys = ["a", "a+1", "a+2", "a+2+1", "a+2+2", "a+", "+2", "a/0"]
    ids = [send_intent(key, tries) for key in keys for tries in (1, 2, 3)]
    assert len(set(ids)) == len(ids)
    assert (send_intent("a", 1), send_intent("a", 2)) == ("send:a", "send:a+2")


def test_the_entry_of_a_thread_is_its_own_whether_the_parent_is_known_or_not() -> None:
    inside = room("777", parent="500")
    assert entry_for(inside) == entry_for(room("777"))
    assert entry_for(inside).to == "channel:777"
    assert entry_for(direct("100")).sender == "discord:100"


# ---------------------------------------------------------------- upstream, beyond the tables


def answered(*requests: dict[str, Any], world: dict[str, Any] | None = None, overlap: bool = False) -> dict[str, Any]:
    """What the gateway answers to requests in the form of the tables, under the rules of upstream."""
    asked = [
        {"to": "channel:C1", "message": "hi", "channel": "slack", "idempotency_key": "k", **one} for one in requests
    ]
    given = {"world": world or {}, "requests": asked, "overlap": overlap}
    return gateway_send.run({"given": given}, Profile.OPENCLAW)


def codes(answer: dict[str, Any]) -> list[tuple[str, bool]]:
    return [(one.get("error_code", "ok"), one["cached"]) for one in answer["responses"]]


def test_upstream_fails_before_delivery_where_digits_are_ambiguous_and_keeps_the_failure() -> None:
    bare = {"to": "123", "channel": "discord"}
    answer = answered(bare, {**bare, "to": "channel:123"})
    assert codes(answer) == [("UNAVAILABLE", False), ("UNAVAILABLE", True)]
    assert (answer["deliveries"], answer["session_entries"]) == ([], [])


def test_upstream_asks_for_no_route_where_a_session_is_named() -> None:
    answer = answered({"to": "123", "channel": "discord", "session_key": "agent:main:main"})
    assert codes(answer) == [("ok", False)]
    assert answer["deliveries"][0]["mirror"]["session_key"] == "agent:main:main"
    assert answer["session_entries"] == []


def test_upstream_joins_a_delivery_that_fails_and_keeps_the_failure() -> None:
    answer = answered({}, {}, {}, world={"delivery_error": "boom"}, overlap=True)
    assert codes(answer) == [("UNAVAILABLE", False), ("UNAVAILABLE", True), ("UNAVAILABLE", True)]
    assert len(answer["deliveries"]) == 1


def test_upstream_keeps_an_answer_whatever_is_asked_under_its_key() -> None:
    answer = answered({}, {"message": " ", "to": " ", "channel": "nosuch"})
    assert codes(answer) == [("ok", False), ("ok", True)]


def test_upstream_refuses_a_blank_target_and_trims_what_it_is_given() -> None:
    assert codes(answered({"to": "  "})) == [("INVALID_REQUEST", False)]
    [delivery] = answered({"to": " channel:C1 ", "thread_id": " 1.2 ", "message": " hi "})["deliveries"]
    assert (delivery["to"], delivery["thread_id"], delivery["mirror"]["text"]) == ("channel:C1", "1.2", "hi")


def test_upstream_keeps_a_lone_media_line_as_the_text_of_the_mirror() -> None:
    [delivery] = answered({"message": "MEDIA:https://e.com/a.png"})["deliveries"]
    mirror = delivery["mirror"]
    assert (mirror["media_urls"], mirror["transcript_text"]) == (["https://e.com/a.png"], "a.png")
    assert mirror["text"] == "MEDIA:https://e.com/a.png"

"""From a place to its session: isolation by default, sharing exactly as configured, threads by channel."""

from typing import Any

import pytest

from tests.support.factories import direct, group, room
from tests.support.for_each import for_each
from trunkline.core.config import DmScope, SessionConfig
from trunkline.core.routing import session_key_for
from trunkline.core.values import Address, ChatKind

ANA_HERE = direct("100")
BEN_HERE = direct("200")
ANA_SECOND_BOT = direct("100", account="second")
ANA_TELEGRAM = direct("100", channel="telegram")

#: which of ANA_HERE's neighbours share her session, by scope
SHARES = {
    DmScope.MAIN: {BEN_HERE, ANA_SECOND_BOT, ANA_TELEGRAM},
    DmScope.PER_PEER: {ANA_SECOND_BOT, ANA_TELEGRAM},
    DmScope.PER_CHANNEL_PEER: {ANA_SECOND_BOT},
    DmScope.PER_ACCOUNT_CHANNEL_PEER: set[Address](),
}


def key(place: Address, agent: str = "main", **session: Any) -> str:
    return str(session_key_for(agent, place, SessionConfig.model_validate(session)))


# ---------------------------------------------------------------- scopes


def test_by_default_every_peer_account_and_channel_is_alone() -> None:
    places = [ANA_HERE, BEN_HERE, ANA_SECOND_BOT, ANA_TELEGRAM]
    assert len({key(place) for place in places}) == len(places)


@for_each("scope", DmScope)
@for_each("other", [BEN_HERE, ANA_SECOND_BOT, ANA_TELEGRAM], ids=str)
def test_a_scope_shares_what_it_leaves_out_and_nothing_else(scope: DmScope, other: Address) -> None:
    shared = key(ANA_HERE, dm_scope=scope) == key(other, dm_scope=scope)
    assert shared is (other in SHARES[scope])


@pytest.mark.parametrize(
    ("scope", "text"),
    [
        (DmScope.MAIN, "main:main"),
        (DmScope.PER_PEER, "main:*:*:direct:100"),
        (DmScope.PER_CHANNEL_PEER, "main:discord:*:direct:100"),
        (DmScope.PER_ACCOUNT_CHANNEL_PEER, "main:discord:default:direct:100"),
    ],
)
def test_what_a_scope_leaves_out_is_a_star(scope: DmScope, text: str) -> None:
    assert key(ANA_HERE, dm_scope=scope) == text


@for_each("scope", DmScope)
@for_each("place", [room("500"), group("-1007")], ids=str)
def test_groups_and_channels_have_a_session_of_their_own_in_every_scope(scope: DmScope, place: Address) -> None:
    assert key(place, dm_scope=scope) == key(place)
    assert key(place) == f"main:{place.channel}:default:{place.kind.value}:{place.conversation}"


@pytest.mark.parametrize("scope", DmScope)
def test_agents_never_share_a_session(scope: DmScope) -> None:
    assert key(ANA_HERE, "main", dm_scope=scope) != key(ANA_HERE, "ops", dm_scope=scope)


def test_a_direct_conversation_is_not_the_group_with_the_same_id() -> None:
    assert key(direct("7", channel="telegram")) != key(group("7"))


# ---------------------------------------------------------------- identity links


LINKS = {"ana": ["discord:100", "telegram:900"], "ben": ["200"]}


def linked(place: Address, scope: DmScope = DmScope.PER_PEER, links: dict[str, Any] = LINKS) -> str:
    return key(place, dm_scope=scope, identity_links=links)


def test_one_person_on_two_platforms_shares_a_session() -> None:
    assert linked(direct("100")) == linked(direct("900", channel="telegram")) == "main:*:*:direct:*ana"


def test_a_link_with_a_channel_is_for_that_channel_only() -> None:
    assert linked(direct("900")) == "main:*:*:direct:900"
    assert linked(direct("100", channel="telegram")) == "main:*:*:direct:100"


def test_a_link_without_a_channel_is_for_all_of_them() -> None:
    assert linked(direct("200")) == linked(direct("200", channel="telegram")) == "main:*:*:direct:*ben"


def test_a_person_who_is_not_linked_does_not_meet_one_who_is() -> None:
    assert linked(direct("300")) not in {linked(direct("100")), linked(direct("200"))}


def test_a_peer_whose_id_is_a_linked_name_does_not_meet_that_person() -> None:
    assert linked(direct("ana")) != linked(direct("100"))
    assert linked(direct("*ana")) != linked(direct("100"))


def test_links_do_not_widen_the_scope() -> None:
    scope = DmScope.PER_CHANNEL_PEER
    assert linked(direct("100"), scope) == "main:discord:*:direct:*ana"
    assert linked(direct("900", channel="telegram"), scope) == "main:telegram:*:direct:*ana"


def test_links_do_not_touch_the_main_session() -> None:
    assert linked(direct("100"), DmScope.MAIN) == "main:main"


def test_links_do_not_touch_groups() -> None:
    assert linked(group("200")) == "main:telegram:default:group:200"


def test_the_first_link_that_names_a_peer_counts() -> None:
    assert linked(direct("1"), links={"ana": ["1"], "ben": ["1"]}) == "main:*:*:direct:*ana"


def test_a_blank_name_links_nobody() -> None:
    assert linked(direct("1"), links={" ": ["1"]}) == "main:*:*:direct:1"


def test_names_of_links_are_folded_and_trimmed() -> None:
    assert linked(direct("1"), links={" Ana ": [" DISCORD:1 "]}) == "main:*:*:direct:*ana"


# ---------------------------------------------------------------- threads and ids, by channel


def test_a_discord_thread_is_a_conversation_without_a_suffix() -> None:
    assert key(room("777", parent="500")) == "main:discord:default:channel:777"


def test_a_discord_thread_and_its_channel_have_two_sessions() -> None:
    assert key(room("777", parent="500")) != key(room("500"))


def test_a_telegram_topic_is_a_suffix_of_its_group() -> None:
    assert key(group("-1007", thread="10")) == "main:telegram:default:group:-1007:topic:10"


def test_topics_of_a_group_and_the_group_have_sessions_of_their_own() -> None:
    assert len({key(group("-1007", thread=thread)) for thread in (None, "10", "11")}) == 3


def test_the_same_topic_number_of_two_groups_is_two_sessions() -> None:
    assert key(group("-1007", thread="10")) != key(group("-1008", thread="10"))


def test_another_platform_says_thread() -> None:
    assert key(room("c1", channel="slack", thread="17.5")) == "main:slack:default:channel:c1:thread:17.5"


def test_a_topic_in_a_direct_conversation_is_part_of_the_key() -> None:
    assert key(direct("42", channel="telegram", thread="10")) == "main:telegram:default:direct:42:topic:10"


def test_ids_that_differ_in_case_are_two_where_the_platform_respects_case() -> None:
    assert key(room("!Ab:x.org", channel="matrix")) != key(room("!ab:x.org", channel="matrix"))


@pytest.mark.parametrize("channel", ["discord", "slack", "telegram"])
def test_ids_are_folded_where_the_platform_ignores_case(channel: str) -> None:
    assert key(room("AbC", channel=channel)) == key(room("abc", channel=channel))


def test_a_link_holds_for_every_spelling_of_an_id() -> None:
    session = SessionConfig.model_validate({"identity_links": {"ana": ["+15551234567"]}})
    number = "15551234567"
    spellings = (f"+{number}", f"{number}@s.whatsapp.net", f"{number}:12@s.whatsapp.net", f"{number}@c.us")
    places = [
        Address(channel="whatsapp", account="default", kind=ChatKind.DIRECT, conversation=one) for one in spellings
    ]
    assert {session_key_for("main", place, session).peer for place in places} == {"ana"}


def test_each_device_of_a_hidden_id_is_one_person() -> None:
    places = [direct(id_, channel="whatsapp") for id_ in ("123@lid", "123:4@lid", "123:5@LID")]
    assert len({key(place) for place in places}) == 1
    assert key(places[0]) != key(direct("+123", channel="whatsapp"))

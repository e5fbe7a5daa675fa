"""The index of bindings: made once, right however many there are; and what the profiles of upstream do otherwise."""

import gc
import weakref
from typing import Any

import pytest

from tests.conformance.upstream.inbound_places import IsolatedPlace, decide_message
from tests.support.factories import binding, config, direct, envelope, group, room
from tests.support.profiles import key_text
from trunkline.core.config import GatewayConfig, SessionConfig
from trunkline.core.identity_memo import for_a_few
from trunkline.core.profile_rules import Profile
from trunkline.core.reasons import Reason
from trunkline.core.routing import resolve_route
from trunkline.core.routing.inbound import decide
from trunkline.core.routing.index import index_of
from trunkline.core.routing.match_input import MatchRules, RouteQuery, query_of, read_query
from trunkline.core.routing.scopes import place_key
from trunkline.core.values import Address, ChatKind, Envelope

MARCH, AUGUST = Profile.OPENCLAW, Profile.OPENCLAW_2026_08
UPSTREAM = pytest.mark.parametrize("profile", [MARCH, AUGUST])


# ---------------------------------------------------------------- the index


def test_a_configuration_is_compiled_once_and_forgotten_with_it() -> None:
    declared = config(binding("ops"))
    index = index_of(declared)
    assert index_of(declared) is index
    assert index_of(declared.model_copy()) is not index
    gone = weakref.ref(index)
    del declared, index
    gc.collect()
    assert gone() is None


def test_the_last_few_are_remembered() -> None:
    made: list[dict[str, int]] = []

    def make(given: dict[str, int]) -> int:
        made.append(given)
        return len(made)

    remembered = for_a_few(make)
    first = {"a": 1}
    assert remembered(first) == remembered(first) == 1
    # Equal is not the same.
    assert remembered({"a": 1}) == 2
    for _ in range(20):
        remembered({})
    assert remembered(first) == 23


def test_a_bucket_is_asked_for_every_role_that_the_sender_holds() -> None:
    roles = [binding("ops", guild="acme", roles=[f"r{n}", f"s{n}"]) for n in range(1000)]
    declared = config(*roles)
    said = envelope(room(), guild="acme", roles=("none", "s700", "r900"))
    decision = resolve_route(said, declared)
    assert (decision.binding, decision.matched_by) == ("bindings[700]", "binding.guild+roles")


def test_one_peer_in_many_guilds_and_teams() -> None:
    peer = {"kind": "channel", "id": "5"}
    many = [binding("ops", peer=peer, guild=f"g{n // 30}", team=f"t{n % 30}") for n in range(900)]
    declared = config(*many, binding("dev", peer=peer), *many)
    assert resolve_route(envelope(room("5"), guild="g7", team="t4"), declared).binding == "bindings[214]"
    assert resolve_route(envelope(room("5"), guild="g7", team="no"), declared).binding == "bindings[900]"


def test_what_is_declared_after_a_claim_without_further_demands_never_wins() -> None:
    declared = config(binding("ops"), binding("dev", roles=["r"]), binding("dev"))
    decision = resolve_route(envelope(direct(), roles=("r",)), declared)
    assert decision.binding == "bindings[0]"
    assert [c.reason for c in decision.candidates[1:]] == [Reason.DECLARED_LATER] * 2


def test_tables_of_one_account_and_of_any_are_one_list() -> None:
    peer = {"kind": "direct", "id": "1"}
    first, second = binding("ops", peer=peer, account="*", roles=["r"]), binding("dev", peer=peer)
    said = envelope(direct("1"), roles=("r",))
    assert resolve_route(said, config(first, second)).agent == "ops"
    assert resolve_route(said, config(second, first)).agent == "dev"
    assert resolve_route(envelope(direct("1")), config(first, second)).agent == "dev"


def test_a_message_from_no_conversation_is_claimed_by_what_names_no_peer() -> None:
    query = read_query(MatchRules(), channel="discord", account="b", peer="5", guild=" g ")
    declared = config(binding("ops", peer={"kind": "channel", "id": "*"}), binding("dev", account="*", guild="g"))
    decision = decide(query, None, declared)
    assert (decision.agent, decision.matched_by, str(decision.key)) == ("dev", "binding.guild", "dev:main")
    assert (decision.scope, decision.last_route) == ("main", "main")


def test_a_query_is_in_the_form_in_which_bindings_are_compared() -> None:
    said = envelope(group(" 5 ", thread="7", account=" Biz "), guild=" ", team=" t ", roles=("r",))
    assert query_of(said, MatchRules()) == RouteQuery(
        channel="telegram",
        account="biz",
        kind=ChatKind.GROUP,
        id="5 :7",
        parent_kind=ChatKind.GROUP,
        parent="5",
        team="t",
        roles=("r",),
    )


# ---------------------------------------------------------------- identity links


def links(**names: list[str]) -> dict[str, Any]:
    return {"dm_scope": "per-peer", "identity_links": names}


def test_the_first_declared_of_two_names_wins_in_either_form() -> None:
    twice = links(ana=["discord:1"], ben=["1", "2"])
    assert str(place_key("main", direct("1"), config(session=twice))) == "main:*:*:direct:*ana"
    other = links(ben=["1", "2"], ana=["discord:1"])
    assert str(place_key("main", direct("1"), config(session=other))) == "main:*:*:direct:*ben"


def test_blank_names_and_ids_link_nobody() -> None:
    session = links(ana=[" ", ""], **{" ": ["1"]})
    assert str(place_key("main", direct("1"), config(session=session))) == "main:*:*:direct:1"
    assert str(place_key("main", direct(" "), config(session=session))) == "main:*:*:direct:%20"


# ---------------------------------------------------------------- upstream


def upstream(profile: Profile, *bindings: dict[str, Any], **fields: Any) -> GatewayConfig:
    given = {"agents": [], "session": {"dm_scope": "main"}, **fields}
    return GatewayConfig.model_validate({"profile": profile, "bindings": bindings, **given})


def bound(agent: str, **match: Any) -> dict[str, Any]:
    session = match.pop("session", {})
    return {"agent": agent, "match": {"channel": "discord", **match}, "session": session}


def route(said: Envelope, declared: GatewayConfig) -> tuple[str, str, str]:
    decision = resolve_route(said, declared)
    return decision.agent, decision.matched_by, key_text(decision.key, declared.profile, declared.session.main_key)


@UPSTREAM
@pytest.mark.parametrize(
    ("agents", "wanted", "agent"),
    [
        ([], "Ghost Writer!", "ghost-writer"),
        ([], " ", "main"),
        (["home", "ops"], " OPS ", "ops"),
        (["home", "ops"], "ghost", "home"),
        (["home", "main"], "", "home"),
    ],
)
def test_the_agent_of_a_binding_upstream(profile: Profile, agents: list[str], wanted: str, agent: str) -> None:
    declared = upstream(profile, bound(wanted), agents=[{"id": name} for name in agents])
    assert route(envelope(direct()), declared) == (agent, "binding.account", f"agent:{agent}:main")


@UPSTREAM
def test_no_agents_and_no_bindings_upstream(profile: Profile) -> None:
    assert route(envelope(direct()), upstream(profile)) == ("main", "default", "agent:main:main")


def test_an_unknown_agent_keeps_the_name_of_the_binding_that_led_to_the_default() -> None:
    declared = upstream(MARCH, bound("ghost", account="*"), agents=[{"id": "home"}])
    decision = resolve_route(envelope(direct()), declared)
    assert (decision.agent, decision.binding, decision.candidates[0].reason) == ("home", "bindings[0]", Reason.MATCHED)


def test_a_star_is_an_id_like_any_other_in_march() -> None:
    star = bound("x", peer={"kind": "direct", "id": "*"})
    assert route(envelope(direct("1")), upstream(MARCH, star))[:2] == ("main", "default")
    assert route(envelope(direct("*")), upstream(MARCH, star))[:2] == ("x", "binding.peer")
    assert route(envelope(direct("1")), upstream(AUGUST, star))[:2] == ("x", "binding.peer.wildcard")


@UPSTREAM
@pytest.mark.parametrize(
    ("wanted", "account"), [("Sales Team", "sales-team"), ("BIZ", "biz"), ("__proto__", "default")]
)
def test_accounts_are_compared_as_slugs_upstream(profile: Profile, wanted: str, account: str) -> None:
    declared = upstream(profile, bound("x", account=wanted))
    assert route(envelope(direct(account=account)), declared)[1] == "binding.account"
    assert route(envelope(direct(account=wanted)), declared)[1] == "binding.account"
    assert route(envelope(direct(account="other")), declared)[1] == "default"


@UPSTREAM
def test_a_blank_guild_or_team_is_not_given_upstream(profile: Profile) -> None:
    declared = upstream(profile, bound("x", guild=" ", team=""))
    assert route(envelope(room("1")), declared) == ("x", "binding.account", "agent:x:discord:channel:1")


@UPSTREAM
def test_a_blank_peer_disables_a_binding_upstream_too(profile: Profile) -> None:
    declared = upstream(profile, bound("x", peer={"kind": "channel", "id": " "}))
    assert route(envelope(room("1")), declared)[1] == "default"
    assert route(envelope(room(" ")), declared) == ("main", "default", "agent:main:discord:channel:unknown")


@UPSTREAM
def test_a_topic_is_a_peer_of_its_own_upstream(profile: Profile) -> None:
    said = envelope(group("-100", thread="7"))
    topic = bound("x", channel="telegram", peer={"kind": "group", "id": "-100:topic:7"})
    whole = bound("y", channel="telegram", peer={"kind": "group", "id": "-100"})
    key = "telegram:group:-100:topic:7"
    assert route(said, upstream(profile, whole, topic)) == ("x", "binding.peer", f"agent:x:{key}")
    assert route(said, upstream(profile, whole)) == ("y", "binding.peer.parent", f"agent:y:{key}")


@UPSTREAM
def test_a_thread_is_one_peer_with_its_room_upstream(profile: Profile) -> None:
    said = envelope(room("C1", channel="slack", thread="1.5"))
    declared = upstream(profile, bound("x", channel="slack", peer={"kind": "channel", "id": "C1"}))
    assert route(said, declared) == ("x", "binding.peer", "agent:x:slack:channel:c1:thread:1.5")


def test_march_knows_no_group_scope_no_main_key_and_no_scopes_of_bindings() -> None:
    vip = bound("x", peer={"kind": "direct", "id": "1"}, session={"dm_scope": "per-peer"})
    session = {"dm_scope": "main", "group_scope": "main", "main_key": "work"}
    march, august = upstream(MARCH, vip, session=session), upstream(AUGUST, vip, session=session)
    assert route(envelope(direct("1")), march)[2] == "agent:x:main"
    assert route(envelope(direct("1")), august)[2] == "agent:x:direct:1"
    assert route(envelope(room("1")), march)[2] == "agent:main:discord:channel:1"
    assert route(envelope(room("1")), august)[2] == "agent:main:work"
    assert resolve_route(envelope(room("1")), march).scope == "per-group"


def test_august_takes_the_scopes_of_the_binding_that_matched_whatever_it_demands() -> None:
    guild = bound("x", guild="g", session={"group_scope": "main"})
    assert route(envelope(room("1"), guild="g"), upstream(AUGUST, guild))[2] == "agent:x:main"


def test_a_named_account_that_nobody_claims_isolates_its_people() -> None:
    place = direct("1", channel="telegram", account="work")
    for declared, key in (
        (upstream(MARCH), "agent:main:telegram:work:direct:1"),
        (upstream(MARCH, bound("x", channel="telegram", account="*")), "agent:x:main"),
    ):
        query = query_of(envelope(place), declared.rules[MatchRules])
        decision = decide_message(query, IsolatedPlace(address=place, isolates=True), declared)
        assert key_text(decision.key, MARCH) == key


def test_only_upstream_may_have_no_agents() -> None:
    with pytest.raises(ValueError, match="agents: there are none; the profile trunkline needs at least one"):
        GatewayConfig(agents=())
    assert GatewayConfig(agents=(), profile=MARCH).default_agent == "main"


def test_a_place_has_the_same_key_whatever_made_its_settings() -> None:
    place = Address(channel="discord", account="default", kind=ChatKind.DIRECT, conversation="1")
    assert place_key("main", place, config()) == place_key("main", place, GatewayConfig(session=SessionConfig()))

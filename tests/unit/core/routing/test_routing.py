"""Inbound routes, rule by rule (shared/upstream/routing.md, section 2; seed 001)."""

from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.factories import binding, config, direct, envelope, group, room
from trunkline.core.config import GatewayConfig, RouteRuleConfig
from trunkline.core.keys import SessionKey
from trunkline.core.reasons import Reason
from trunkline.core.routing import resolve_route
from trunkline.core.routing.route_rules import TIERS
from trunkline.core.routing.scopes import place_key
from trunkline.core.values import Address, ChatKind, Envelope

#: a thread of a guild channel, said by somebody with roles: every tier can match it
THREAD = room("777", parent="500")
SAID = envelope(THREAD, guild="acme", team="t1", roles=("admin", "dev"))

#: one binding for each tier that matches SAID
BY_TIER: dict[str, dict[str, Any]] = {
    "binding.peer": {"peer": {"kind": "channel", "id": "777"}},
    "binding.peer.parent": {"peer": {"kind": "channel", "id": "500"}},
    "binding.peer.wildcard": {"peer": {"kind": "channel", "id": "*"}},
    "binding.guild+roles": {"guild": "acme", "roles": ["dev"]},
    "binding.guild": {"guild": "acme"},
    "binding.team": {"team": "t1"},
    "binding.account": {"account": "default"},
    "binding.channel": {"account": "*"},
}


def decide(said: Envelope, *bindings: RouteRuleConfig, **fields: Any) -> tuple[str, str]:
    """Agent and tier of a message."""
    decision = resolve_route(said, config(*bindings, **fields))
    return decision.agent, decision.matched_by


def reasons(said: Envelope, *bindings: RouteRuleConfig) -> list[Reason]:
    return [candidate.reason for candidate in resolve_route(said, config(*bindings)).candidates]


def scoped(agent: str, *, dm: str | None = None, group: str | None = None, **match: Any) -> RouteRuleConfig:
    """A binding with scopes of its own."""
    session = {"dm_scope": dm, "group_scope": group}
    return RouteRuleConfig.model_validate(
        {"agent": agent, "match": {"channel": "discord", **match}, "session": session}
    )


# ---------------------------------------------------------------- tiers


def test_there_is_an_example_for_every_tier() -> None:
    assert tuple(BY_TIER) == TIERS


@pytest.mark.parametrize("tier", TIERS)
def test_a_tier_matches_alone(tier: str) -> None:
    assert decide(SAID, binding("ops", **BY_TIER[tier])) == ("ops", tier)


@pytest.mark.parametrize("number", range(len(TIERS) - 1))
@pytest.mark.parametrize("declared_first", ["higher", "lower"])
def test_a_tier_wins_over_the_next_one_wherever_it_is_declared(number: int, declared_first: str) -> None:
    higher = binding("ops", name="higher", **BY_TIER[TIERS[number]])
    lower = binding("dev", name="lower", **BY_TIER[TIERS[number + 1]])
    pair = [higher, lower] if declared_first == "higher" else [lower, higher]
    decision = resolve_route(SAID, config(*pair))
    assert (decision.agent, decision.matched_by, decision.binding) == ("ops", TIERS[number], "higher")
    lost = next(candidate for candidate in decision.candidates if not candidate.chosen)
    assert (lost.binding, lost.reason) == ("lower", Reason.LESS_SPECIFIC)


def test_no_binding_gives_the_default_agent() -> None:
    decision = resolve_route(SAID, config())
    assert (decision.agent, decision.matched_by, decision.binding) == ("main", "default", None)
    assert decision.candidates == ()


def test_no_match_gives_the_default_agent() -> None:
    assert decide(SAID, binding("ops", guild="other")) == ("main", "default")


def test_the_flagged_agent_is_the_default() -> None:
    flagged = GatewayConfig.model_validate({"agents": [{"id": "one"}, {"id": "two", "default": True}]})
    assert resolve_route(SAID, flagged).agent == "two"


def test_the_first_of_two_equal_bindings_wins() -> None:
    first, second = binding("ops", guild="acme"), binding("dev", guild="acme")
    assert decide(SAID, first, second) == ("ops", "binding.guild")
    assert reasons(SAID, first, second) == [Reason.MATCHED, Reason.DECLARED_LATER]
    assert decide(SAID, second, first) == ("dev", "binding.guild")


def test_within_a_tier_any_account_declared_first_beats_one_account() -> None:
    peer = {"kind": "channel", "id": "777"}
    anyone = binding("ops", account="*", peer=peer)
    named = binding("dev", account="default", peer=peer)
    assert decide(SAID, anyone, named) == ("ops", "binding.peer")


# ---------------------------------------------------------------- all constraints together

CONSTRAINTS = {
    "channel": ({"channel": "discord"}, {"channel": "telegram"}, Reason.OTHER_CHANNEL),
    "account": ({"account": "default"}, {"account": "second"}, Reason.OTHER_ACCOUNT),
    "peer": ({"peer": {"kind": "channel", "id": "777"}}, {"peer": {"kind": "channel", "id": "1"}}, Reason.OTHER_PEER),
    "guild": ({"guild": "acme"}, {"guild": "other"}, Reason.OTHER_GUILD),
    "team": ({"team": "t1"}, {"team": "t2"}, Reason.OTHER_TEAM),
    "roles": ({"roles": ["dev", "qa"]}, {"roles": ["qa"]}, Reason.ROLE_MISSING),
}


def everything(**instead: Any) -> RouteRuleConfig:
    match = {name: value for fits, _, _ in CONSTRAINTS.values() for name, value in fits.items()}
    return binding("ops", **{**match, **instead})


def test_a_binding_with_all_constraints_matches_when_all_hold() -> None:
    assert decide(SAID, everything()) == ("ops", "binding.peer")


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_one_constraint_that_does_not_hold_is_enough_to_lose(name: str) -> None:
    _, misses, reason = CONSTRAINTS[name]
    lost = everything(**misses)
    assert decide(SAID, lost) == ("main", "default")
    assert reasons(SAID, lost) == [reason]


def test_a_binding_whose_peer_misses_does_not_stand_for_its_guild() -> None:
    assert decide(SAID, binding("ops", guild="acme", peer={"kind": "channel", "id": "1"})) == ("main", "default")


def test_a_binding_whose_peer_fits_still_needs_its_guild() -> None:
    assert decide(SAID, binding("ops", guild="other", **BY_TIER["binding.peer"])) == ("main", "default")


def test_a_message_without_guild_misses_a_guild() -> None:
    assert reasons(envelope(THREAD), binding("ops", guild="acme")) == [Reason.OTHER_GUILD]


# ---------------------------------------------------------------- roles


@pytest.mark.parametrize("roles", [["admin"], ["dev"], ["nobody", "dev"]])
def test_one_of_the_roles_is_enough(roles: list[str]) -> None:
    assert decide(SAID, binding("ops", guild="acme", roles=roles)) == ("ops", "binding.guild+roles")


def test_an_empty_list_of_roles_restricts_nothing() -> None:
    assert decide(SAID, binding("ops", guild="acme", roles=[])) == ("ops", "binding.guild")


def test_roles_without_a_guild_restrict_but_do_not_raise_the_tier() -> None:
    assert decide(SAID, binding("ops", roles=["dev"])) == ("ops", "binding.account")
    assert decide(SAID, binding("ops", account="*", roles=["dev"])) == ("ops", "binding.channel")
    assert reasons(SAID, binding("ops", roles=["nobody"])) == [Reason.ROLE_MISSING]


def test_the_order_of_bindings_decides_between_two_roles_not_the_order_of_roles() -> None:
    admin, dev = binding("ops", guild="acme", roles=["admin"]), binding("dev", guild="acme", roles=["dev"])
    said = envelope(THREAD, guild="acme", roles=("dev", "admin"))
    assert decide(said, admin, dev) == ("ops", "binding.guild+roles")
    assert decide(said, dev, admin) == ("dev", "binding.guild+roles")


def test_guild_and_team_together_stand_in_the_tier_of_the_guild() -> None:
    assert decide(SAID, binding("ops", guild="acme", team="t1")) == ("ops", "binding.guild")


# ---------------------------------------------------------------- accounts


@pytest.mark.parametrize(
    ("wanted", "account", "matches"),
    [
        (None, "default", True),
        (None, "second", False),
        ("second", "second", True),
        ("second", "default", False),
        ("default", "default", True),
        ("*", "default", True),
        ("*", "second", True),
        ("", "default", True),
        (" Second ", "second", True),
        ("second", "SECOND", True),
        (None, "Default", True),
        (" * ", "second", True),
    ],
)
def test_no_account_means_the_default_account_and_a_star_any(wanted: str | None, account: str, matches: bool) -> None:
    said = envelope(direct(account=account))
    match = {} if wanted is None else {"account": wanted}
    assert reasons(said, binding("ops", **match)) == [Reason.MATCHED if matches else Reason.OTHER_ACCOUNT]


def test_the_channel_of_a_binding_is_read_without_case() -> None:
    assert decide(envelope(direct()), binding("ops", channel=" Discord ")) == ("ops", "binding.account")


def test_a_blank_channel_is_no_channel() -> None:
    assert reasons(envelope(direct(channel="")), binding("ops", channel=" ")) == [Reason.OTHER_CHANNEL]


# ---------------------------------------------------------------- peers, parents, wildcards


@pytest.mark.parametrize("wanted", ["direct", "group", "channel"])
@pytest.mark.parametrize("place", [direct("7"), group("7", channel="discord"), room("7")], ids=lambda p: p.kind.value)
def test_group_and_channel_are_one_kind_to_a_binding(wanted: str, place: Address) -> None:
    same = (wanted == "direct") is (place.kind.value == "direct")
    expected = [Reason.MATCHED if same else Reason.OTHER_PEER]
    assert reasons(envelope(place), binding("ops", peer={"kind": wanted, "id": "7"})) == expected
    assert reasons(envelope(place), binding("ops", peer={"kind": wanted, "id": "*"})) == expected


def test_a_group_matched_as_a_channel_keeps_its_own_kind_in_the_key() -> None:
    said = envelope(group("7", channel="discord"))
    decision = resolve_route(said, config(binding("ops", peer={"kind": "channel", "id": "7"})))
    assert str(decision.key) == "ops:discord:default:group:7"


def test_a_parent_gives_the_agent_but_not_the_key() -> None:
    decision = resolve_route(SAID, config(binding("ops", **BY_TIER["binding.peer.parent"])))
    assert (decision.agent, str(decision.key)) == ("ops", "ops:discord:default:channel:777")


def test_a_channel_is_not_its_thread() -> None:
    at_parent = envelope(room("500"))
    assert reasons(at_parent, binding("ops", peer={"kind": "channel", "id": "777"})) == [Reason.OTHER_PEER]


def test_peer_ids_are_compared_byte_for_byte() -> None:
    said = envelope(room("abC", channel="slack"))
    assert reasons(said, binding("ops", channel="slack", peer={"kind": "channel", "id": "abc"})) == [Reason.OTHER_PEER]


def test_ids_are_compared_without_the_spaces_around_them() -> None:
    named = binding("ops", peer={"kind": "channel", "id": " 777 "}, guild=" acme ", team=" t1 ")
    assert decide(SAID, named) == ("ops", "binding.peer")


@pytest.mark.parametrize("match", [{"peer": {"kind": "channel", "id": "  "}}, {"guild": " "}, {"team": ""}])
def test_a_blank_id_matches_nothing(match: dict[str, Any]) -> None:
    assert decide(SAID, binding("ops", **match)) == ("main", "default")
    assert decide(envelope(room(" ", parent=" "), guild=" ", team=""), binding("ops", **match)) == ("main", "default")


def test_a_blank_parent_is_no_parent() -> None:
    said = envelope(room("777", parent=" "))
    assert reasons(said, binding("ops", peer={"kind": "channel", "id": " "})) == [Reason.OTHER_PEER]


def test_a_direct_conversation_hangs_under_nothing() -> None:
    said = envelope(direct("100", parent="42"))
    assert reasons(said, binding("ops", peer={"kind": "direct", "id": "42"})) == [Reason.OTHER_PEER]


def test_one_wildcard_is_for_one_kind_and_loses_to_an_id() -> None:
    people = binding("ops", peer={"kind": "direct", "id": "*"})
    rooms = binding("dev", peer={"kind": "group", "id": "*"})
    assert decide(envelope(direct()), people, rooms) == ("ops", "binding.peer.wildcard")
    assert decide(SAID, people, rooms) == ("dev", "binding.peer.wildcard")
    assert decide(SAID, rooms, binding("ops", **BY_TIER["binding.peer.parent"])) == ("ops", "binding.peer.parent")


def test_a_wildcard_may_have_further_constraints() -> None:
    rooms = binding("ops", peer={"kind": "channel", "id": "*"}, guild="acme", roles=["dev"])
    assert decide(SAID, rooms) == ("ops", "binding.peer.wildcard")
    assert reasons(envelope(THREAD, guild="acme"), rooms) == [Reason.ROLE_MISSING]


TOPIC = envelope(group("-1007", thread="10"))


def on_telegram(agent: str, peer: str, **match: Any) -> RouteRuleConfig:
    return binding(agent, channel="telegram", peer={"kind": "group", "id": peer}, **match)


def test_a_topic_is_a_peer_of_its_own() -> None:
    assert decide(TOPIC, on_telegram("ops", "-1007:10")) == ("ops", "binding.peer")


def test_a_topic_inherits_from_its_group() -> None:
    assert decide(TOPIC, on_telegram("ops", "-1007")) == ("ops", "binding.peer.parent")


@pytest.mark.parametrize("group_first", [True, False])
def test_the_binding_of_a_topic_wins_over_that_of_its_group(group_first: bool) -> None:
    both = [on_telegram("ops", "-1007"), on_telegram("dev", "-1007:10")]
    assert decide(TOPIC, *(both if group_first else reversed(both))) == ("dev", "binding.peer")


def test_the_binding_of_another_topic_misses() -> None:
    assert reasons(TOPIC, on_telegram("ops", "-1007:11")) == [Reason.OTHER_PEER]


def test_the_general_area_of_a_group_is_the_group_itself() -> None:
    assert decide(envelope(group("-1007")), on_telegram("ops", "-1007")) == ("ops", "binding.peer")


def test_a_topic_in_a_direct_conversation_belongs_to_the_person() -> None:
    said = envelope(direct("42", channel="telegram", thread="10"))
    person = binding("ops", channel="telegram", peer={"kind": "direct", "id": "42"})
    assert decide(said, person) == ("ops", "binding.peer")


def test_a_blank_peer_is_refused_when_the_configuration_is_read() -> None:
    with pytest.raises(ValidationError, match=r"match\.peer\.id"):
        binding("ops", peer={"kind": "channel", "id": ""})


# ---------------------------------------------------------------- explanations


def test_every_binding_is_listed_once_in_its_order_with_its_tier_and_reason() -> None:
    decision = resolve_route(
        SAID,
        config(
            binding("ops", name="elsewhere", channel="telegram"),
            binding("ops", guild="acme"),
            binding("dev", name="one thread", **BY_TIER["binding.peer"]),
            binding("ops", name="the same", **BY_TIER["binding.peer"]),
        ),
    )
    assert [(c.binding, c.tier, c.chosen, c.reason) for c in decision.candidates] == [
        ("elsewhere", "binding.account", False, Reason.OTHER_CHANNEL),
        ("bindings[1]", "binding.guild", False, Reason.LESS_SPECIFIC),
        ("one thread", "binding.peer", True, Reason.MATCHED),
        ("the same", "binding.peer", False, Reason.DECLARED_LATER),
    ]
    assert decision.binding == "one thread"


def test_the_first_constraint_that_fails_is_the_reason() -> None:
    wrong = {name: value for _, misses, _ in CONSTRAINTS.values() for name, value in misses.items()}
    assert reasons(SAID, binding("ops", **wrong)) == [Reason.OTHER_CHANNEL]


def test_losers_keep_their_reasons_when_nobody_wins() -> None:
    lost = [everything(**misses) for _, misses, _ in CONSTRAINTS.values()]
    assert reasons(SAID, *lost) == [reason for _, _, reason in CONSTRAINTS.values()]


def test_near_tells_of_what_has_to_do_with_the_message_and_counts_the_rest() -> None:
    declared = config(
        binding("ops", name="other room", peer={"kind": "channel", "id": "1"}),
        binding("ops", name="other role", guild="acme", roles=["qa"]),
        binding("ops", name="other guild", guild="other"),
        binding("ops", name="rest"),
        binding("dev", name="won", guild="acme"),
        binding("dev", name="parent, other team", peer={"kind": "channel", "id": "500"}, team="t2"),
        binding("dev", name="other account", account="second"),
    )
    near, everything_told = resolve_route(SAID, declared, "near"), resolve_route(SAID, declared, "all")
    assert [(c.binding, c.reason) for c in near.candidates] == [
        ("other role", Reason.ROLE_MISSING),
        ("rest", Reason.LESS_SPECIFIC),
        ("won", Reason.MATCHED),
        ("parent, other team", Reason.OTHER_TEAM),
    ]
    assert (near.others, everything_told.others) == (3, 0)
    assert set(near.candidates) < set(everything_told.candidates)


def test_none_tells_nothing_and_decides_the_same() -> None:
    declared = config(binding("ops", guild="acme"), binding("dev"))
    told, silent = resolve_route(SAID, declared, "all"), resolve_route(SAID, declared, "none")
    assert (silent.candidates, silent.others) == ((), 2)
    assert (silent.agent, silent.key, silent.matched_by) == (told.agent, told.key, told.matched_by)
    assert silent.binding == told.binding == "bindings[0]"


@pytest.mark.parametrize(("count", "told"), [(100, 100), (101, 1)])
def test_with_many_bindings_only_those_near_are_told_of(count: int, told: int) -> None:
    rooms = [binding("ops", peer={"kind": "channel", "id": f"{number}"}) for number in range(count)]
    decision = resolve_route(envelope(room("7")), config(*rooms))
    assert (len(decision.candidates), decision.others) == (told, count - told)
    assert decision.binding == "bindings[7]"


def test_near_is_bounded_and_never_without_the_winner() -> None:
    roles = [binding("dev", guild="acme", roles=[f"role {number}"]) for number in range(200)]
    said = envelope(THREAD, guild="acme", roles=("role 150",))
    decision = resolve_route(said, config(*roles), "near")
    assert decision.binding == "bindings[150]"
    assert (len(decision.candidates), decision.others) == (32, 168)
    assert [c.binding for c in decision.candidates if c.chosen] == ["bindings[150]"]
    assert [c.binding for c in decision.candidates] == [f"bindings[{n}]" for n in [*range(31), 150]]


# ---------------------------------------------------------------- keys and scopes


def test_the_key_belongs_to_the_agent_that_was_chosen() -> None:
    decision = resolve_route(envelope(direct("100")), config(binding("ops")))
    assert str(decision.key) == "ops:discord:default:direct:100"
    assert decision.main_key == SessionKey(agent="ops")


@pytest.mark.parametrize("scope", ["main", "per-peer", "per-channel-peer", "per-account-channel-peer"])
def test_the_last_route_is_the_main_sessions_only_where_the_message_is_in_it(scope: str) -> None:
    session = {"dm_scope": scope, "group_scope": "main" if scope == "main" else "per-group"}
    in_main = "main" if scope == "main" else "session"
    to_person = resolve_route(envelope(direct()), config(session=session))
    assert (to_person.scope, to_person.last_route) == (scope, in_main)
    to_room = resolve_route(SAID, config(session=session))
    assert (to_room.scope, to_room.last_route) == (session["group_scope"], in_main)


def both_ways(place: Address, declared: GatewayConfig, **said: Any) -> tuple[str, str]:
    """Key and scope of a place; the key must be the same for an inbound and an outbound message."""
    decision = resolve_route(envelope(place, **said), declared)
    assert decision.key == place_key(decision.agent, place, declared)
    return str(decision.key), decision.scope


#: for each tier that may have scopes of its own: what the binding names, and a place that it claims
CLAIMS: dict[str, tuple[dict[str, Any], Address]] = {
    "peer": ({"peer": {"kind": "channel", "id": "777"}}, THREAD),
    "parent": ({"peer": {"kind": "channel", "id": "500"}}, THREAD),
    "wildcard": ({"peer": {"kind": "channel", "id": "*"}}, THREAD),
    "account": ({"account": "Default"}, THREAD),
    "channel": ({"account": "*"}, THREAD),
    "topic": ({"channel": "telegram", "peer": {"kind": "group", "id": "-1007:10"}}, TOPIC.address),
    "group of a topic": ({"channel": "telegram", "peer": {"kind": "group", "id": "-1007"}}, TOPIC.address),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_the_group_scope_of_a_binding_is_that_of_what_it_claims(name: str) -> None:
    match, place = CLAIMS[name]
    assert both_ways(place, config(scoped("ops", group="main", **match))) == ("ops:main", "main")
    shared = config(scoped("ops", group="per-group", **match), session={"group_scope": "main"})
    key, scope = both_ways(place, shared)
    assert (key.startswith("ops:main"), scope) == (False, "per-group")


def test_the_dm_scope_of_a_binding_is_that_of_whom_it_claims() -> None:
    vip = scoped("ops", dm="per-peer", peer={"kind": "direct", "id": "100"})
    declared = config(vip, scoped("ops", dm="main", account="*"), session={"dm_scope": "per-channel-peer"})
    assert both_ways(direct("100"), declared) == ("ops:*:*:direct:100", "per-peer")
    assert both_ways(direct("200"), declared) == ("ops:main", "main")
    assert both_ways(direct("1", channel="slack"), declared) == ("main:slack:*:direct:1", "per-channel-peer")
    assert both_ways(room("5"), declared) == ("ops:discord:default:channel:5", "per-group")


def test_links_work_under_the_scope_of_a_binding() -> None:
    session = {"dm_scope": "main", "identity_links": {"ana": ["100"]}}
    declared = config(scoped("ops", dm="per-peer", account="*"), session=session)
    assert both_ways(direct("100"), declared) == ("ops:*:*:direct:*ana", "per-peer")


def test_the_most_specific_claim_alone_sets_the_scope() -> None:
    plain = binding("ops", peer={"kind": "direct", "id": "100"})
    assert both_ways(direct("100"), config(scoped("ops", dm="main", account="*"), plain)) == (
        "ops:discord:default:direct:100",
        "per-account-channel-peer",
    )


def test_a_scope_holds_only_where_the_agent_of_its_binding_answers() -> None:
    declared = config(scoped("ops", group="main", account="*"), binding("dev", guild="acme"))
    assert both_ways(THREAD, declared) == ("ops:main", "main")
    assert both_ways(THREAD, declared, guild="acme") == ("dev:discord:default:channel:777", "per-group")
    assert str(place_key("main", THREAD, declared)) == "main:discord:default:channel:777"


def test_a_message_that_a_guild_claims_has_the_scope_of_its_place_when_the_agent_is_the_same() -> None:
    # An outbound message has no guild: the key could not be the same for both otherwise.
    declared = config(scoped("ops", group="main", account="*"), binding("ops", guild="acme"))
    assert both_ways(THREAD, declared, guild="acme") == ("ops:main", "main")


@pytest.mark.parametrize("match", [{"guild": "acme"}, {"team": "t1"}, {"roles": ["dev"]}])
def test_scopes_of_a_binding_that_wants_more_than_a_place_are_refused(match: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=r"bindings\[0\]\.session: own scopes"):
        config(scoped("ops", group="main", **match))


def test_a_place_without_bindings_has_the_scopes_of_the_gateway() -> None:
    declared = config(session={"dm_scope": "per-peer", "group_scope": "main"})
    assert both_ways(direct("100"), declared) == ("main:*:*:direct:100", "per-peer")
    assert both_ways(Address(channel="x", account="a", kind=ChatKind.GROUP, conversation="1"), declared) == (
        "main:main",
        "main",
    )

"""The route of a message: tiers, constraints, roles, accounts and peers."""

from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.factories import binding, config, direct, envelope, group, room
from tests.support.for_each import for_each
from tests.support.routing_cases import BY_TIER, CONSTRAINTS, SAID, THREAD, TOPIC, everything, reasons
from trunkline.core.config import GatewayConfig, RouteRuleConfig
from trunkline.core.reasons import Reason
from trunkline.core.routing import resolve_route
from trunkline.core.routing.route_rules import TIERS
from trunkline.core.values import Address, Envelope


def decide(said: Envelope, *bindings: RouteRuleConfig, **fields: Any) -> tuple[str, str]:
    """Agent and tier of a message."""
    decision = resolve_route(said, config(*bindings, **fields))
    return decision.agent, decision.matched_by


# ---------------------------------------------------------------- tiers


def test_there_is_an_example_for_every_tier() -> None:
    assert tuple(BY_TIER) == TIERS


@for_each("tier", TIERS)
def test_a_tier_matches_alone(tier: str) -> None:
    assert decide(SAID, binding("ops", **BY_TIER[tier])) == ("ops", tier)


@for_each("number", range(len(TIERS) - 1))
@for_each("declared_first", ["higher", "lower"])
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


def test_a_binding_with_all_constraints_matches_when_all_hold() -> None:
    assert decide(SAID, everything()) == ("ops", "binding.peer")


@for_each("name", CONSTRAINTS)
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


@for_each(
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


@for_each("wanted", ["direct", "group", "channel"])
@for_each("place", [direct("7"), group("7", channel="discord"), room("7")], ids=lambda p: p.kind.value)
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

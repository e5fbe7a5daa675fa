"""Why a route was chosen, and the session key it leads to."""

from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.factories import binding, config, direct, envelope, room
from tests.support.for_each import for_each
from tests.support.routing_cases import BY_TIER, CONSTRAINTS, SAID, THREAD, TOPIC, everything, reasons
from trunkline.core.config import GatewayConfig, RouteRuleConfig
from trunkline.core.keys import SessionKey
from trunkline.core.reasons import Reason
from trunkline.core.routing import resolve_route
from trunkline.core.routing.scopes import place_key
from trunkline.core.values import Address, ChatKind


def scoped(agent: str, *, dm: str | None = None, group: str | None = None, **match: Any) -> RouteRuleConfig:
    """A binding with scopes of its own."""
    session = {"dm_scope": dm, "group_scope": group}
    return RouteRuleConfig.model_validate(
        {"agent": agent, "match": {"channel": "discord", **match}, "session": session}
    )


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


def test_near_lists_what_concerns_the_message_and_counts_the_rest() -> None:
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


def test_none_explains_nothing_and_decides_the_same() -> None:
    declared = config(binding("ops", guild="acme"), binding("dev"))
    told, silent = resolve_route(SAID, declared, "all"), resolve_route(SAID, declared, "none")
    assert (silent.candidates, silent.others) == ((), 2)
    assert (silent.agent, silent.key, silent.matched_by) == (told.agent, told.key, told.matched_by)
    assert silent.binding == told.binding == "bindings[0]"


@pytest.mark.parametrize(("count", "told"), [(100, 100), (101, 1)])
def test_with_many_bindings_only_those_near_are_listed(count: int, told: int) -> None:
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


@for_each("name", CLAIMS)
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

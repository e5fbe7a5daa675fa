"""`resolve_route` against a reference written from the rules alone, over a small world in which everything collides."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core.config import DmScope, RouteBinding, SessionConfig
from core.reasons import Reason
from core.routing import resolve_route, session_key_for
from core.values import Address, ChatKind, Envelope
from tests.factories import config, envelope

few_ids = st.sampled_from(["1", "2", "9"])


@st.composite
def places(draw: st.DrawFn) -> Address:
    kind = draw(st.sampled_from(ChatKind))
    thread = draw(st.none() | st.sampled_from(["1", "9"]))
    return Address(
        channel=draw(st.sampled_from(["discord", "telegram"])),
        account=draw(st.sampled_from(["default", "second"])),
        kind=kind,
        conversation=draw(few_ids),
        thread=thread,
        parent=draw(st.none() | few_ids) if kind is not ChatKind.DIRECT and thread is None else None,
    )


@st.composite
def envelopes(draw: st.DrawFn) -> Envelope:
    return envelope(
        draw(places()),
        guild=draw(st.none() | st.sampled_from(["g", "h"])),
        team=draw(st.none() | st.sampled_from(["t", "u"])),
        roles=tuple(draw(st.lists(st.sampled_from(["r", "s"]), max_size=2, unique=True))),
    )


@st.composite
def bindings(draw: st.DrawFn) -> RouteBinding:
    match: dict[str, Any] = {"channel": draw(st.sampled_from(["discord", "telegram"]))}
    match["account"] = draw(st.sampled_from([None, None, "*", "default", "second"]))
    if draw(st.booleans()):
        peer = draw(st.sampled_from(["1", "2", "9", "*", "1:9", "1:1"]))
        match["peer"] = {"kind": draw(st.sampled_from(["direct", "group", "channel"])), "id": peer}
    match["guild"] = draw(st.sampled_from([None, None, "g", "h"]))
    match["team"] = draw(st.sampled_from([None, None, "t", "u"]))
    match["roles"] = draw(st.lists(st.sampled_from(["r", "s"]), max_size=2, unique=True))
    return RouteBinding.model_validate({"agent": draw(st.sampled_from(["ops", "dev"])), "match": match})


def reference(said: Envelope, declared: list[RouteBinding]) -> tuple[int, str] | None:
    """Index and tier of the binding that wins: one pass for each tier, as the rules are told."""
    place = said.address
    topic = f"{place.conversation}:{place.thread}"
    in_topic = place.thread is not None and place.kind is not ChatKind.DIRECT

    def holds(binding: RouteBinding) -> bool:
        match = binding.match
        return (
            match.channel == place.channel
            and (match.account == "*" or (match.account or "default") == place.account)
            and (match.guild is None or match.guild == said.guild)
            and (match.team is None or match.team == said.team)
            and (not match.roles or bool(set(match.roles) & set(said.roles)))
        )

    def kind_fits(binding: RouteBinding) -> bool:
        peer = binding.match.peer
        return peer is not None and (peer.kind is ChatKind.DIRECT) is (place.kind is ChatKind.DIRECT)

    def peer_id(binding: RouteBinding) -> str | None:
        return binding.match.peer.id if binding.match.peer and kind_fits(binding) else None

    own = topic if in_topic else place.conversation
    above = place.conversation if in_topic else place.parent
    tests = {
        "binding.peer": lambda b: peer_id(b) == own,
        "binding.peer.parent": lambda b: above is not None and peer_id(b) == above,
        "binding.peer.wildcard": lambda b: peer_id(b) == "*",
        "binding.guild+roles": lambda b: b.match.peer is None and b.match.guild and b.match.roles,
        "binding.guild": lambda b: b.match.peer is None and b.match.guild and not b.match.roles,
        "binding.team": lambda b: b.match.peer is None and not b.match.guild and b.match.team,
        "binding.account": lambda b: not (b.match.peer or b.match.guild or b.match.team) and b.match.account != "*",
        "binding.channel": lambda b: not (b.match.peer or b.match.guild or b.match.team) and b.match.account == "*",
    }
    for tier, test in tests.items():
        for index, binding in enumerate(declared):
            if holds(binding) and test(binding):
                return index, tier
    return None


@given(envelopes(), st.lists(bindings(), max_size=6))
def test_the_route_is_what_the_rules_say(said: Envelope, declared: list[RouteBinding]) -> None:
    found = reference(said, declared)
    decision = resolve_route(said, config(*declared))
    if found is None:
        assert (decision.agent, decision.matched_by, decision.binding) == ("main", "default", None)
    else:
        index, tier = found
        expected = (declared[index].agent, tier, f"bindings[{index}]")
        assert (decision.agent, decision.matched_by, decision.binding) == expected


@given(envelopes(), st.lists(bindings(), max_size=6))
def test_every_binding_is_a_candidate_with_one_reason(said: Envelope, declared: list[RouteBinding]) -> None:
    decision = resolve_route(said, config(*declared))
    assert [c.binding for c in decision.candidates] == [f"bindings[{index}]" for index in range(len(declared))]
    assert [c.binding for c in decision.candidates if c.chosen] == ([decision.binding] if decision.binding else [])
    for candidate in decision.candidates:
        assert candidate.chosen is (candidate.reason is Reason.MATCHED)
        # Somebody is more specific, or was declared before, only where somebody won.
        beaten = candidate.reason in (Reason.LESS_SPECIFIC, Reason.DECLARED_LATER)
        assert decision.binding is not None or not beaten


@given(envelopes(), st.lists(bindings(), max_size=6))
def test_a_binding_that_lost_changes_nothing_when_it_goes(said: Envelope, declared: list[RouteBinding]) -> None:
    whole = resolve_route(said, config(*declared))
    kept = [b for b, candidate in zip(declared, whole.candidates, strict=True) if candidate.chosen]
    alone = resolve_route(said, config(*kept))
    assert (alone.agent, alone.key, alone.matched_by) == (whole.agent, whole.key, whole.matched_by)


@given(places(), places(), st.sampled_from(DmScope))
def test_two_places_share_a_session_only_where_the_scope_says_so(one: Address, other: Address, scope: DmScope) -> None:
    session = SessionConfig(dm_scope=scope)
    same = session_key_for("main", one, session) == session_key_for("main", other, session)

    def what_counts(place: Address) -> tuple[object, ...]:
        person = (place.kind, place.conversation, place.thread and (place.channel == "telegram", place.thread))
        whole = (place.channel, place.account, *person)
        if place.kind is not ChatKind.DIRECT:
            return whole
        return {
            DmScope.MAIN: ("main",),
            DmScope.PER_PEER: person,
            DmScope.PER_CHANNEL_PEER: (place.channel, *person),
            DmScope.PER_ACCOUNT_CHANNEL_PEER: whole,
        }[scope]

    assert same is (what_counts(one) == what_counts(other))

"""`resolve_route` against a reference written from the rules alone, over a small world in which everything collides."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.support.factories import config, envelope
from trunkline.core.config import DmScope, GatewayConfig, GroupScope, RouteRuleConfig, RuleSessionConfig, SessionConfig
from trunkline.core.profile_rules import Profile
from trunkline.core.reasons import Reason
from trunkline.core.routing import resolve_route, session_key_for
from trunkline.core.routing.scopes import place_key
from trunkline.core.values import Address, ChatKind, Envelope

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


def mostly_none(*values: str) -> st.SearchStrategy[str | None]:
    return st.sampled_from([None, None, *values])


@st.composite
def bindings(draw: st.DrawFn) -> RouteRuleConfig:
    match: dict[str, Any] = {
        "channel": draw(st.sampled_from(["discord", "telegram", " Discord "])),
        "account": draw(mostly_none("*", "default", "second", " Second ", "")),
        "guild": draw(mostly_none("g", "h", " g ", " ")),
        "team": draw(mostly_none("t", "u")),
        "roles": draw(st.lists(st.sampled_from(["r", "s"]), max_size=2, unique=True)),
    }
    if draw(st.booleans()):
        peer = draw(st.sampled_from(["1", "2", "9", " 9 ", "*", "1:9", "1:1", " "]))
        match["peer"] = {"kind": draw(st.sampled_from(["direct", "group", "channel"])), "id": peer}
    session: dict[str, Any] = {}
    if not (match["guild"] or match["team"] or match["roles"]):
        session["dm_scope"] = draw(st.none() | st.sampled_from(DmScope))
        session["group_scope"] = draw(st.none() | st.sampled_from(GroupScope))
    return RouteRuleConfig.model_validate(
        {"agent": draw(st.sampled_from(["ops", "dev"])), "match": match, "session": session}
    )


#: a list that is long enough for any two kinds of bindings to meet
lists = st.lists(bindings(), max_size=12)
sessions = st.builds(SessionConfig, dm_scope=st.sampled_from(DmScope), group_scope=st.sampled_from(GroupScope))


def plain(text: str | None) -> str | None:
    return None if text is None else text.strip()


def reference(said: Envelope, declared: list[RouteRuleConfig]) -> tuple[int, str] | None:
    """Index and tier of the binding that wins: one pass for each tier, as the rules are told."""
    place = said.address
    topic = f"{place.conversation}:{place.thread}"
    in_topic = place.thread is not None and place.kind is not ChatKind.DIRECT

    def account(binding: RouteRuleConfig) -> str:
        return (plain(binding.match.account) or "default").lower()

    def holds(binding: RouteRuleConfig) -> bool:
        match = binding.match
        return (
            match.channel.strip().lower() == place.channel
            and account(binding) in ("*", place.account)
            and (match.guild is None or plain(match.guild) == said.guild)
            and (match.team is None or match.team == said.team)
            and (not match.roles or bool(set(match.roles) & set(said.roles)))
        )

    def peer_id(binding: RouteRuleConfig) -> str | None:
        peer = binding.match.peer
        fits = peer is not None and (peer.kind is ChatKind.DIRECT) is (place.kind is ChatKind.DIRECT)
        return peer.id.strip() or None if peer is not None and fits else None

    def rest(binding: RouteRuleConfig) -> bool:
        return binding.match.peer is None and binding.match.guild is None and binding.match.team is None

    own = topic if in_topic else place.conversation
    above = place.conversation if in_topic else place.parent
    tests = {
        "binding.peer": lambda b: peer_id(b) == own,
        "binding.peer.parent": lambda b: above is not None and peer_id(b) == above,
        "binding.peer.wildcard": lambda b: peer_id(b) == "*",
        "binding.guild+roles": lambda b: b.match.peer is None and b.match.guild is not None and b.match.roles,
        "binding.guild": lambda b: b.match.peer is None and b.match.guild is not None and not b.match.roles,
        "binding.team": lambda b: b.match.peer is None and b.match.guild is None and b.match.team is not None,
        "binding.account": lambda b: rest(b) and account(b) != "*",
        "binding.channel": lambda b: rest(b) and account(b) == "*",
    }
    for tier, test in tests.items():
        for index, binding in enumerate(declared):
            if holds(binding) and test(binding):
                return index, tier
    return None


@given(envelopes(), lists)
def test_the_route_is_what_the_rules_say(said: Envelope, declared: list[RouteRuleConfig]) -> None:
    found = reference(said, declared)
    decision = resolve_route(said, config(*declared))
    if found is None:
        assert (decision.agent, decision.matched_by, decision.binding) == ("main", "default", None)
    else:
        index, tier = found
        expected = (declared[index].agent, tier, f"bindings[{index}]")
        assert (decision.agent, decision.matched_by, decision.binding) == expected


@given(envelopes(), lists)
def test_every_binding_is_a_candidate_with_one_reason(said: Envelope, declared: list[RouteRuleConfig]) -> None:
    decision = resolve_route(said, config(*declared))
    assert [c.binding for c in decision.candidates] == [f"bindings[{index}]" for index in range(len(declared))]
    assert [c.binding for c in decision.candidates if c.chosen] == ([decision.binding] if decision.binding else [])
    for number, candidate in enumerate(decision.candidates):
        assert candidate.chosen is (candidate.reason is Reason.MATCHED)
        # Somebody is more specific, or was declared before, only where somebody won; alone, the loser would win.
        beaten = candidate.reason in (Reason.LESS_SPECIFIC, Reason.DECLARED_LATER)
        assert decision.binding is not None or not beaten
        alone = reference(said, [declared[number]])
        assert (alone is not None) is (candidate.chosen or beaten)
        assert alone is None or alone[1] == candidate.tier


@given(envelopes(), lists)
def test_the_level_of_detail_changes_no_decision(said: Envelope, declared: list[RouteRuleConfig]) -> None:
    whole, near, none = (resolve_route(said, config(*declared), explain) for explain in ("all", "near", "none"))
    for told in (near, none):
        assert (told.agent, told.key, told.matched_by, told.binding, told.scope) == (
            whole.agent,
            whole.key,
            whole.matched_by,
            whole.binding,
            whole.scope,
        )
        assert len(told.candidates) + told.others == len(declared)
    assert none.candidates == ()
    assert [c for c in whole.candidates if c in near.candidates] == list(near.candidates)
    # What holds is always near.
    holding = (Reason.MATCHED, Reason.LESS_SPECIFIC, Reason.DECLARED_LATER)
    assert {c for c in whole.candidates if c.reason in holding} <= set(near.candidates)


@given(envelopes(), lists)
def test_a_binding_that_lost_changes_nothing_when_it_goes(said: Envelope, declared: list[RouteRuleConfig]) -> None:
    # The binding that won need not be the one whose scopes count.
    plainly = [binding.model_copy(update={"session": RuleSessionConfig()}) for binding in declared]
    whole = resolve_route(said, config(*plainly))
    kept = [b for b, candidate in zip(plainly, whole.candidates, strict=True) if candidate.chosen]
    alone = resolve_route(said, config(*kept))
    assert (alone.agent, alone.key, alone.matched_by) == (whole.agent, whole.key, whole.matched_by)


@given(envelopes(), lists, sessions)
def test_a_place_has_one_key_in_both_directions(
    said: Envelope, declared: list[RouteRuleConfig], session: SessionConfig
) -> None:
    whole = config(*declared, session=session)
    decision = resolve_route(said, whole)
    assert decision.key == place_key(decision.agent, said.address, whole)


@given(envelopes(), lists, sessions, st.sampled_from(["main", "ops", "dev"]))
def test_the_key_of_a_place_has_the_scopes_of_the_binding_that_claims_it(
    said: Envelope, declared: list[RouteRuleConfig], session: SessionConfig, agent: str
) -> None:
    place = said.address
    found = reference(envelope(place), declared)
    if found is not None and declared[found[0]].agent == agent:
        own = declared[found[0]].session.model_dump(exclude_none=True)
        expected = session.model_copy(update=own)
    else:
        expected = session
    assert place_key(agent, place, config(*declared, session=session)) == session_key_for(agent, place, expected)


def alike(binding: RouteRuleConfig) -> bool:
    """Upstream reads it as we do: blank guilds and stars have tests of their own."""
    peer, guild = binding.match.peer, binding.match.guild
    return (peer is None or peer.id != "*") and (guild is None or guild.strip() != "")


@given(envelopes(), lists.map(lambda declared: [b for b in declared if alike(b)]), st.sampled_from(Profile))
def test_every_profile_has_the_same_tiers(said: Envelope, declared: list[RouteRuleConfig], profile: Profile) -> None:
    # Topics have other names upstream.
    flat = msgspec.structs.replace(said, address=msgspec.structs.replace(said.address, thread=None))
    whole = GatewayConfig.model_validate({**config(*declared).model_dump(), "profile": profile})
    assert resolve_route(flat, whole).matched_by == (reference(flat, declared) or (0, "default"))[1]


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

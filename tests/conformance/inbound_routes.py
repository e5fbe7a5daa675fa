"""The area of inbound routes: the resolver by itself, and behind what the monitors of three platforms add to it."""

from collections.abc import Callable
from typing import Any

import msgspec

from tests.conformance.upstream.inbound_places import decide_message, read_discord, read_slack, read_telegram
from tests.conformance.upstream.key_text import agent_of
from tests.support.profiles import key_text
from trunkline.core.channels.platforms import discord, slack, telegram
from trunkline.core.channels.rules import InboundPlace
from trunkline.core.config import GatewayConfig
from trunkline.core.keys import SessionKey
from trunkline.core.profile_rules import Profile
from trunkline.core.profiles.openclaw.keys import KIND_TOKENS, account_id, agent_id, fold
from trunkline.core.routing import RouteDecision
from trunkline.core.routing.inbound import decide
from trunkline.core.routing.match_input import MatchRules, query_of, read_query
from trunkline.core.routing.route_rules import CHANNEL
from trunkline.core.values import Address, ChatKind, Envelope, Peer

Fields = dict[str, Any]


def run(case: Fields, profile: Profile) -> Fields:
    """What our code answers. Raises `LookupError` for a monitor that is not known."""
    given = case["given"]
    config, asked = _config(given.get("config") or {}, profile), given["input"]
    name = asked.get("monitor")
    if name is None:
        return _resolved(asked, config)
    if name not in _MONITORS:
        raise LookupError(f"unknown monitor {name!r}; known: {', '.join(_MONITORS)}")
    return _monitored(_MONITORS[name](asked, profile), asked, config)


# -------------------------------------------------------------------- what is given


def _text(value: object) -> str:
    """Ids may be given as numbers; what else is no text is blank."""
    usable = isinstance(value, str | int | float) and not isinstance(value, bool)
    return str(value) if usable else ""


def _kind(value: object) -> ChatKind | None:
    return KIND_TOKENS.get(fold(_text(value)))


def _config(given: Fields, profile: Profile) -> GatewayConfig:
    session: Fields = {
        # Upstream's default, where ours isolates peers.
        "dm_scope": given.get("dm_scope") or "main",
        "identity_links": {
            name: [entry for entry in ids if isinstance(entry, str)]
            for name, ids in (given.get("identity_links") or {}).items()
            if isinstance(ids, list)
        },
    }
    session |= {name: given[name] for name in ("group_scope", "main_key") if given.get(name)}
    agents: dict[str, Fields] = {}
    for agent in given.get("agents") or ():
        name = agent_id(_text(agent.get("id")))
        agents.setdefault(name, {"id": name, "default": agent.get("default") is True})
    return GatewayConfig.model_validate(
        {
            "profile": profile,
            "agents": list(agents.values()),
            "bindings": [_binding(binding) for binding in given.get("bindings") or ()],
            "session": session,
        }
    )


def _binding(given: Fields) -> Fields:
    match = given.get("match") or {}
    roles = match.get("roles")
    fields: Fields = {
        "channel": _text(match.get("channel")),
        "account": _text(match.get("account_id")),
        "guild": _text(match.get("guild_id")),
        "team": _text(match.get("team_id")),
        "roles": [_text(role) for role in roles] if isinstance(roles, list) else [],
    }
    if match.get("peer") is not None:
        fields["peer"] = _constraint(match["peer"])
    session = {name: scope for name, scope in (given.get("session") or {}).items() if scope}
    return {"agent": _text(given.get("agent_id")), "match": fields, "session": session}


def _constraint(given: object) -> Fields:
    """A peer that a binding names. Our configuration has no kinds but the three, so an unusable one gets a blank id."""
    fields = given if isinstance(given, dict) else {}
    kind = _kind(fields.get("kind"))
    return {"kind": kind or ChatKind.CHANNEL, "id": (_text(fields.get("id")) if kind else "") or " "}


# -------------------------------------------------------------------- the resolver


def _resolved(asked: Fields, config: GatewayConfig) -> Fields:
    """The answer to a question that a monitor would put."""
    peer, parent = asked.get("peer") or {}, asked.get("parent_peer") or {}
    query = read_query(
        config.rules[MatchRules],
        channel=_text(asked.get("channel")),
        account=_text(asked.get("account_id")),
        kind=_kind(peer.get("kind")),
        peer=_text(peer.get("id")),
        parent_kind=_kind(parent.get("kind")),
        parent=_text(parent.get("id")),
        guild=_text(asked.get("guild_id")),
        team=_text(asked.get("team_id")),
        roles=_roles(asked),
    )
    place = None
    if query.kind is not None:
        place = Address(channel=query.channel, account=query.account, kind=query.kind, conversation=query.id or "")
    route = decide(query, place, config)
    return {"channel": query.channel, "account_id": query.account, **_answer(route, config)}


def _roles(asked: Fields) -> tuple[str, ...]:
    return tuple(_text(role) for role in asked.get("member_role_ids") or ())


def _answer(route: RouteDecision, config: GatewayConfig) -> Fields:
    return {
        "agent_id": route.agent,
        "session_key": _key(route.key, config),
        "main_session_key": _key(route.main_key, config),
        "matched_by": route.matched_by,
        "last_route_policy": route.last_route,
    }


def _key(key: SessionKey, config: GatewayConfig) -> str:
    return key_text(key, config.profile, config.session.main_key)


# -------------------------------------------------------------------- monitors


def _monitored(place: InboundPlace, asked: Fields, config: GatewayConfig) -> Fields:
    """The answer to a message that a monitor was given."""
    message = Envelope(
        address=place.address,
        peer=Peer(id=place.address.conversation),
        message_id="m1",
        text="hello",
        sent_at=0.0,
        guild=_text(asked.get("guild_id")) or None,
        team=_text(asked.get("team_id")) or None,
        roles=_roles(asked),
    )
    route = decide_message(query_of(message, config.rules[MatchRules]), place, config)
    # A topic is a part of its group's key, a thread is a suffix.
    suffix = route.key.thread is not None and _key(route.key, config).rfind(":thread:") > 0
    base = _key(msgspec.structs.replace(route.key, thread=None) if suffix else route.key, config)
    return {
        "channel": place.address.channel,
        "account_id": account_id(place.address.account),
        **_answer(route, config),
        "base_session_key": base,
        "parent_session_key": base if place.inherits_parent else None,
        "is_thread_reply": place.is_thread_reply,
        "reply_to_id": place.reply_to,
        "message_thread_id": place.message_thread,
        **_bound(asked, route, config),
    }


def _bound(asked: Fields, route: RouteDecision, config: GatewayConfig) -> Fields:
    """What a thread binding made at run time replaces. Its session need not be a conversation's."""
    key = _text(asked.get("bound_session_key")).strip()
    if not key:
        return {}
    return {
        "agent_id": agent_of(key, config.profile, config.default_agent),
        "session_key": key,
        "matched_by": CHANNEL,
        "last_route_policy": "main" if key == _key(route.main_key, config) else "session",
    }


def _account(asked: Fields) -> str:
    return _text(asked.get("account_id")) or "default"


def _slack(asked: Fields, profile: Profile) -> InboundPlace:
    message = slack.SlackMessage(
        conversation=asked["conversation"],
        channel_id=_text(asked.get("channel_id")),
        user=_text(asked.get("user")),
        ts=_text(asked.get("ts")),
        thread_ts=_text(asked.get("thread_ts")) or None,
        parent_user_id=_text(asked.get("parent_user_id")) or None,
    )
    mode, inherits = asked.get("reply_to_mode") or "off", asked.get("inherit_parent") is True
    return read_slack(message, _account(asked), mode, inherits)


def _telegram(asked: Fields, profile: Profile) -> InboundPlace:
    message = telegram.TelegramMessage(
        chat_id=asked["chat_id"],
        chat_type=asked["chat_type"],
        sender_id=asked.get("sender_id"),
        message_id=asked.get("message_id"),
        thread_id=asked.get("thread_id"),
        is_forum=asked.get("is_forum") is True,
    )
    return read_telegram(message, _account(asked))


def _discord(asked: Fields, profile: Profile) -> InboundPlace:
    message = discord.DiscordMessage(
        kind=asked["kind"],
        conversation_id=_text(asked.get("conversation_id")),
        user_id=_text(asked.get("user_id")) or None,
        parent_id=_text(asked.get("parent_id")) or None,
        guild_id=_text(asked.get("guild_id")) or None,
    )
    return read_discord(message, _account(asked))


_MONITORS: dict[str, Callable[[Fields, Profile], InboundPlace]] = {
    "slack": _slack,
    "telegram": _telegram,
    "discord": _discord,
}

"""Outbound routes: the cases of `outbound_routes.json`, through the code that decides live sends."""

from typing import Any

from tests.support.profiles import key_text
from trunkline.core.channels import CurrentConversation
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import AmbiguousTarget, TargetError
from trunkline.core.profile_rules import Profile
from trunkline.core.routing.outbound import OutboundQuestion, OutboundRoute, resolve_outbound_route
from trunkline.core.values import ChatKind

#: what upstream's directories call the kinds
_KINDS = {"user": ChatKind.DIRECT, "group": ChatKind.GROUP, "channel": ChatKind.CHANNEL}


def run(case: dict[str, Any], profile: Profile) -> dict[str, Any]:
    """What the case gives now, in the shape of its `expect`."""
    given = case["given"]
    try:
        route = resolve_outbound_route(_question(given), _config(given, profile))
    except AmbiguousTarget:
        return {"error": "ambiguous_target"}
    except TargetError:
        return {"route": None}
    return _told(route, profile)


def _config(given: dict[str, Any], profile: Profile) -> GatewayConfig:
    """The configuration of a case: upstream's default scope, unless it says otherwise."""
    settings = given["config"]
    return GatewayConfig.model_validate(
        {
            "profile": profile,
            "agents": [{"id": given["agent_id"]}],
            "session": {
                "dm_scope": settings.get("dm_scope", "main"),
                "identity_links": settings.get("identity_links", {}),
            },
            "channels": {
                "slack": {
                    "group_dms": settings.get("slack_group_dm_channels", ()),
                    "rooms": settings.get("slack_channels", ()),
                }
            },
        }
    )


def _question(given: dict[str, Any]) -> OutboundQuestion:
    """The send of a case. Numbers may stand for ids."""
    context, kind = given.get("tool_context"), given["resolved_kind"]
    return OutboundQuestion(
        agent=given["agent_id"],
        channel=given["channel"],
        target=given["target"],
        account=given["account_id"],
        kind=None if kind is None else _KINDS[kind],
        thread=_id(given["thread_id"]),
        reply_to=_id(given["reply_to_id"]),
        current=None if context is None else _current(context),
    )


def _current(context: dict[str, Any]) -> CurrentConversation:
    return CurrentConversation(
        conversation=context.get("current_channel_id"),
        thread=_id(context.get("current_thread_id")),
        reply_mode=context.get("reply_to_mode") or "off",
        has_replied=bool(context.get("has_replied")),
    )


def _id(value: str | float | None) -> str | None:
    return str(int(value)) if isinstance(value, int | float) else value


def _told(route: OutboundRoute, profile: Profile) -> dict[str, Any]:
    return {
        "agent_id": route.agent,
        "channel": route.channel,
        "account_id": route.account,
        "peer_kind": route.kind.value,
        "peer_id": route.peer,
        "chat_type": route.chat_type.value,
        "from": route.sender,
        "to": route.to,
        "thread_id": route.thread_id,
        "base_session_key": key_text(route.base, profile),
        "session_key": key_text(route.key, profile),
    }

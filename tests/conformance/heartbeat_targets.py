"""The area of heartbeat targets: where a heartbeat delivers, and for which person it runs."""

from typing import Any

from trunkline.core.channels import known_channels
from trunkline.core.heartbeat.targets import Route, TargetQuestion, resolve_heartbeat_target
from trunkline.core.profile_rules import Profile, profile_rules
from trunkline.core.reasons import Reason
from trunkline.core.values import ChatKind

Fields = dict[str, Any]

#: channels of upstream for which we have the generic rules only
MORE_CHANNELS = ("googlechat", "irc", "line", "twitch")
#: reasons that upstream writes in another way
WORDS = {Reason.UNKNOWN_HEARTBEAT_ACCOUNT: "unknown-account", Reason.ALLOW_FROM_FALLBACK: "allowFrom-fallback"}


def run(case: Fields, profile: Profile) -> Fields:
    """What our code answers."""
    given = case["given"]
    heartbeat, session = given.get("heartbeat") or {}, given.get("session") or {}
    channels = given.get("channels") or {}
    found = resolve_heartbeat_target(
        TargetQuestion(
            target=heartbeat.get("target"),
            default=given.get("default_target") or "last",
            to=heartbeat.get("to"),
            account=heartbeat.get("account_id"),
            direct_policy=heartbeat.get("direct_policy") or "allow",
            last=Route(
                channel=session.get("last_channel"),
                to=session.get("last_to"),
                account=session.get("last_account_id"),
                kind=ChatKind(session["chat_type"]) if session.get("chat_type") else None,
            ),
            recipients={name: _texts(settings.get("allow_from")) for name, settings in channels.items()},
            accounts={name: _texts(accounts) for name, accounts in (given.get("accounts") or {}).items()},
            owners=_texts(given.get("owners")),
            channels=(*known_channels(), *MORE_CHANNELS),
            by=profile_rules(profile),
        )
    )
    return {
        "channel": found.channel or "none",
        "to": found.to,
        "reason": None if found.reason is None else WORDS.get(found.reason, found.reason.value),
        "account_id": found.account,
        "sender": found.sender,
    }


def _texts(values: list[Any] | None) -> tuple[str, ...]:
    """Ids may be numbers."""
    return tuple(str(value) for value in values or ())

"""The area of action requirements: declarations, target rules, planned calls, and what each channel requires.

``spec`` cases ask for a declaration, ``has_target`` whether parameters name a target, ``invoke`` plans a call as a turn
does, and ``handler`` asks a channel about a call that was planned.
"""

from typing import Any

from tests.support.profiles import MARCH, rules_under
from trunkline.core.action_catalogue import Action, TargetMode
from trunkline.core.channels import known_channels
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import InvalidAction
from trunkline.core.message_tool.calls import CallContext, TargetSource
from trunkline.core.message_tool.parsing.parse import parse_call
from trunkline.core.message_tool.planning.plan import check_call, plan_call
from trunkline.core.message_tool.planning.requirements import CORE_NEEDS, check_core, check_needs, supported
from trunkline.core.message_tool.planning.target_rules import has_target
from trunkline.core.profile_rules import Profile, profile_rules
from trunkline.core.profiles.openclaw.message_tool import MARCH_GUARDED

Fields = dict[str, Any]


def run(case: Fields, profile: Profile) -> Fields:
    """What our code answers."""
    given = case["given"]
    action = Action(given["action"])
    if given["kind"] == "spec":
        return _spec(action)
    if given["kind"] == "has_target":
        return {"has_target": has_target(action, given.get("params") or {})}
    try:
        if given["kind"] == "invoke":
            return _invoke(given, profile)
        if given["kind"] == "handler":
            return _handle(given, profile)
    except InvalidAction as error:
        return {"ok": False, "error": error.sentence}
    raise ValueError(f"unknown kind {given['kind']!r}")


def _spec(action: Action) -> Fields:
    spec = action.spec
    return {
        "target_mode": spec.target.value,
        "requires_target": spec.requires_target,
        "target_aliases": list(spec.aliases),
        "cross_context_guarded": action in MARCH_GUARDED,
        "required_params": _required(action),
    }


def _required(action: Action) -> Fields:
    """The required parameters by channel; those of the core are required on every channel."""
    if action in CORE_NEEDS:
        return {"*": [*(["to"] if action.spec.target is TargetMode.TO else []), *CORE_NEEDS[action]]}
    tables = {channel: rules_under(MARCH, channel) for channel in known_channels()}
    entries = {channel: rules.action(action) for channel, rules in tables.items() if not rules.without_table}
    return {channel: list(entry.needs) for channel, entry in entries.items() if entry is not None}


def _invoke(given: Fields, profile: Profile) -> Fields:
    params = {**(given.get("params") or {}), "action": given["action"]}
    if given.get("dry_run"):
        params["dryRun"] = True
    current = given.get("tool_context") or {}
    context = CallContext(target=current.get("current_channel_id"), channel=current.get("current_channel_provider"))
    planned = plan_call(params, context, _config(given, profile), given.get("configured_channels") or [])
    check_call(planned, _config(given, profile))
    by_alias = planned.target.source is TargetSource.ALIAS
    return {
        "ok": True,
        "channel": planned.channel,
        "raw_target": None if by_alias else planned.target.text,
        "dry_run": planned.dry_run,
    }


def _handle(given: Fields, profile: Profile) -> Fields:
    params = given.get("params") or {}
    call = parse_call({**params, "action": given["action"]}, profile_rules(profile))
    check_core(call, profile_rules(profile))
    entry = supported(call.action, given["channel"], profile_rules(profile))
    check_needs(call, entry, profile_rules(profile), target=has_target(call.action, params))
    return {"ok": True}


def _config(given: Fields, profile: Profile) -> GatewayConfig:
    settings = given.get("config") or {}
    enabled = settings.get("broadcast_enabled") is not False
    return GatewayConfig.model_validate({"profile": profile, "tools": {"message": {"broadcast": {"enabled": enabled}}}})

"""The area of the cross-context policy: whether a message may leave its conversation, and how it is marked."""

import re
from collections.abc import Mapping
from typing import Any, cast

from tests.conformance.upstream.marks import mark_of
from tests.support.profiles import MARCH, rules_under
from trunkline.core.action_catalogue import Action
from trunkline.core.config import MessageToolConfig
from trunkline.core.profile_rules import Profile
from trunkline.core.profiles.openclaw.channels.base import OpenClawRules
from trunkline.core.profiles.openclaw.message_tool import AUGUST_GUARDED, MARCH_GUARDED, TextQuestion, judge
from trunkline.core.reasons import Reason

Fields = dict[str, Any]
#: the actions whose target is first looked for in the channel id
_CHANNEL_FIRST = (Action.THREAD_REPLY, Action.THREAD_CREATE)
#: sources of cases about the rules since June 2026
_SINCE_JUNE = re.compile(r"2026-(0[6-9]|1[0-2])|#93358")
_TOP = ("allow_cross_context_send", "broadcast")


def run(case: Fields, profile: Profile) -> Fields:
    """What our code answers."""
    given = case["given"]
    if given["kind"] not in ("enforce", "decorate"):
        raise ValueError(f"unknown kind {given['kind']!r}")
    since_june = profile is Profile.OPENCLAW_2026_08 or _SINCE_JUNE.search(str(case.get("source") or ""))
    guarded = AUGUST_GUARDED if since_june else MARCH_GUARDED
    tool = _config(given.get("config") or {})
    question = _question(given)
    answer = judge(question, tool, guarded)
    result: Fields = {"allowed": answer.reason is not Reason.CROSS_CONTEXT_DENIED, "error": answer.error or None}
    if given["kind"] == "enforce":
        return result
    comparable = cast("OpenClawRules", rules_under(MARCH, question.channel)).comparable
    names = {comparable(str(known)): name for known, name in (given.get("directory_names") or {}).items()}
    mark, text = None, given.get("message") or ""
    if result["allowed"] and not (given.get("tool_context") or {}).get("skip_cross_context_decoration"):
        key = comparable(question.current)
        mark = mark_of(question, tool, guarded, names.get(key, ""))
    return {
        **result,
        "decorated": mark is not None,
        "message": text if mark is None else mark.around(text),
        "embeds": None if mark is None or mark.embed is None else [{"description": mark.embed}],
    }


def _config(given: Mapping[str, Any]) -> MessageToolConfig:
    """The settings of a case: those of crossings, beside the two that are not. A null is a missing setting."""
    named = {name: value for name, value in given.items() if value is not None}
    top = {name: named.pop(name) for name in _TOP if name in named}
    return MessageToolConfig.model_validate({**top, "cross_context": named})


def _question(given: Fields) -> TextQuestion:
    action, context, args = Action(given["action"]), given.get("tool_context") or {}, given.get("args") or {}
    to, channel = _word(args, "to"), _word(args, "channel_id") or _word(args, "channelId")
    return TextQuestion(
        action=action,
        channel=given["channel"],
        target=(channel or to) if action in _CHANNEL_FIRST else (to or channel),
        current=_word(context, "current_channel_id"),
        provider=_word(context, "current_channel_provider"),
    )


def _word(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return "" if value is None else str(value).strip()

"""Parses a call of the message tool: from the parameters as a model wrote them to an `ActionCall`."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TypeVar, cast

import msgspec

from trunkline.core.action_names import Action
from trunkline.core.actions.catalogue import SPECS
from trunkline.core.actions.spec import ActionKind
from trunkline.core.errors import InvalidAction
from trunkline.core.message_tool.parsing.message_fields import message_of, parts_of, poll_of, split_data_url
from trunkline.core.message_tool.parsing.param_values import read_value
from trunkline.core.message_tool.parsing.params import PARAMS, TARGET_PARAMS, Param, ParamType
from trunkline.core.message_tool.planning.calls import ActionCall
from trunkline.core.profiles import Profile
from trunkline.core.well_formed import plain_text

_V = TypeVar("_V")
#: the parameters that become fields of every `ActionCall`; the others of an action are its `fields`
_TYPED = frozenset(
    {
        *("channel", "target", "targets", "accountId", "dryRun", "to", "chatGuid", "chatIdentifier", "chatId"),
        *("message", "text", "newText", "content", "messageId", "emoji", "remove"),
    }
)
#: those that become fields of a message only: a change or a query has no files, buttons or polls
_OF_MESSAGES = frozenset(
    {
        *("caption", "media", "path", "filePath", "buffer", "filename", "contentType", "mimeType", "asVoice"),
        *("gifPlayback", "replyTo", "threadId", "silent", "bestEffort", "effectId", "effect", "buttons", "card"),
        *("components", "pollQuestion", "pollOption", "pollMulti", "pollDurationHours", "pollDurationSeconds"),
        *("pollAnonymous", "stickerId"),
    }
)
#: spelled without its signs, an action's name is the same in kebab-case, camelCase and snake_case
_BY_LETTERS = {action.value.replace("-", "").lower(): action for action in Action}
_MOST_PARAMETERS = 200


class Given:
    """The parameters of a call, read by their types. A blank one is not there."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def get(self, name: str, type: type[_V]) -> _V | None:  # noqa: A002 -- the word
        """The value of a parameter, if it is of a type."""
        value = self._values.get(name)
        return value if isinstance(value, type) else None

    def text(self, *names: str) -> str | None:
        """The first text among some parameters."""
        return next((text for name in names if (text := self.get(name, str)) is not None), None)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; a missing one is empty."""
        return cast("tuple[str, ...]", self.get(name, tuple) or ())

    def flag(self, name: str) -> bool:
        """A flag; a missing one is not set."""
        return self.get(name, bool) or False

    @property
    def names(self) -> frozenset[str]:
        """The parameters that are there. A flag that is not set is as good as missing."""
        return frozenset(name for name, value in self._values.items() if value is not False)

    def rest(self, action: Action) -> str | None:
        """The parameters that no field of `ActionCall` has, as a JSON object."""
        spec = SPECS[action]
        gone = _TYPED | _OF_MESSAGES if spec.kind is ActionKind.MESSAGE else _TYPED
        if spec.requires_target:
            gone |= {"channelId"}
        left = {name: value for name, value in self._values.items() if name not in gone}
        try:
            return msgspec.json.encode(left, order="sorted").decode() if left else None
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidAction("A parameter is no JSON value.") from error


def parse_call(params: Mapping[str, object], profile: Profile = Profile.TRUNKLINE) -> ActionCall:
    """Parse the parameters of a call. Raises `InvalidAction`; the target is not looked at (`target_rules`)."""
    values = _read(params, profile)
    action = parse_action(params.get("action"))
    given = Given(values)
    if not profile.upstream:
        _check_taken(action, given)
    message, media, replied = message_of(given, profile)
    buffer, mime_type = split_data_url(given.get("buffer", str), given.text("contentType", "mimeType"))
    return ActionCall(
        action=action,
        channel=_id(given, "channel"),
        account=_id(given, "accountId"),
        targets=given.texts("targets"),
        message=message,
        media=media,
        buffer=buffer,
        reply_to=_answered(given, action, replied),
        thread=given.text("threadId"),
        poll=poll_of(given) if action is Action.POLL else None,
        parts=parts_of(given, action, mime_type),
        message_id=given.text("messageId"),
        emoji=_id(given, "emoji"),
        remove=given.flag("remove"),
        dry_run=given.flag("dryRun"),
        best_effort=given.flag("bestEffort"),
        fields=given.rest(action),
        given=given.names,
        options=len(given.texts("pollOption")),
    )


def parse_action(value: object) -> Action:
    """An action by its name, in any case and with any signs between its words. Raises `InvalidAction`."""
    name = (plain_text(value) or "").strip()
    if not name:
        raise InvalidAction("action required", remedy=f"Give one of: {', '.join(Action)}.")
    letters = name.lower().replace("-", "").replace("_", "").replace(" ", "")
    if (found := _BY_LETTERS.get(letters)) is not None:
        return found
    near = get_close_matches(letters[:60], _BY_LETTERS, n=1)
    remedy = f"Did you mean {_BY_LETTERS[near[0]]}?" if near else f"There are: {', '.join(Action)}."
    raise InvalidAction(f"Unknown action: {name[:60]}", remedy=remedy)


def _read(params: Mapping[str, object], profile: Profile) -> dict[str, object]:
    """The values of all parameters that are not blank, by their types."""
    if len(params) > _MOST_PARAMETERS:
        raise InvalidAction(f"The call has {len(params)} parameters.", remedy=f"Give at most {_MOST_PARAMETERS}.")
    values: dict[str, object] = {}
    # Upstream parses these first.
    names = sorted(params, key=lambda name: name not in ("buttons", "card"))
    for name in names:
        if name == "action":
            continue
        param = PARAMS.get(name)
        if param is None:
            if not profile.upstream and params[name] is not None:
                raise _unknown(name)
            continue
        value = _value(param, params[name], profile)
        if value is not None:
            values[name] = value
    return values


def _value(param: Param, value: object, profile: Profile) -> object:
    """A value; in the upstream profiles one of a wrong type counts as missing, unless it is JSON."""
    try:
        return read_value(param, value)
    except InvalidAction:
        if profile.upstream and param.type is not ParamType.JSON:
            return None
        raise


def _unknown(name: object) -> InvalidAction:
    shown = (plain_text(name) or type(name).__name__)[:60]
    near = get_close_matches(shown, [one.name for one in PARAMS.values() if not one.hidden], n=1)
    remedy = f"Did you mean `{near[0]}`?" if near else "The tool's schema lists the parameters."
    return InvalidAction(f"Unknown parameter: `{shown}`.", remedy=remedy)


def _check_taken(action: Action, given: Given) -> None:
    """Raise `InvalidAction` for a parameter that belongs to other actions: what it asks for would not be done."""
    for name in sorted(given.names):
        actions = PARAMS[name].actions
        if name in TARGET_PARAMS and (name != "channelId" or SPECS[action].requires_target):
            continue
        if actions and action not in actions:
            instead = ", ".join(one for one in Action if one in actions)
            raise InvalidAction(f"Action {action} does not take `{name}`.", remedy=f"It is for: {instead}.")


def _answered(given: Given, action: Action, by_tag: str | None) -> str | None:
    """The message that a call answers: a parameter names it, or a tag in the text."""
    named = given.text("replyTo") or (given.text("messageId") if action is Action.REPLY else None)
    return by_tag if named is None else named


def _id(given: Given, name: str) -> str | None:
    """A text without the blanks around it."""
    text = given.get(name, str)
    return None if text is None else text.strip()

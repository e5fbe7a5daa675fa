"""Parses a call of the message tool: from the parameters as a model wrote them to an `ActionCall`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TypeVar, cast

import msgspec

from trunkline.core.action_catalogue import Action, ActionKind
from trunkline.core.errors import InvalidAction
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.message_tool.calls import ActionCall
from trunkline.core.message_tool.parsing.param_values import read_value
from trunkline.core.message_tool.parsing.params import PARAMS, TARGET_PARAMS, Param
from trunkline.core.profile_rules import OURS, ProfileRules
from trunkline.core.reasons import Reason
from trunkline.core.text.model_text import ModelText, read_model_text
from trunkline.core.values import Poll
from trunkline.core.well_formed import is_well_formed, plain_text

_TEXTS = ("message", "text", "newText", "content", "caption")
_DATA_URL = re.compile(r"\s*data:([^;,\s]+)(?:;[^;,]*)*;base64,(.*)", re.IGNORECASE | re.DOTALL)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_MOST_BUTTONS = 100
_LABELS, _VALUES = ("text", "label"), ("callback_data", "callbackData", "value")


class ParameterRules:
    """Refusals of a profile in the parameters of a call. Each check raises `InvalidAction`."""

    def check_known(self, name: str) -> None:
        raise _unknown(name)

    def check_read(self, param: Param, error: InvalidAction) -> None:
        """Check a value that could not be read; one that passes counts as missing."""
        raise error

    def check_texts(self, texts: Mapping[str, str]) -> None:
        if len(set(texts.values())) > 1:
            both = " and ".join(f"`{name}`" for name in texts)
            raise InvalidAction(f"{both} are different texts.", Reason.BAD_TEXT, remedy="Give only `message`.")

    def check_taken(self, action: Action, names: Iterable[str]) -> None:
        """Check for parameters that belong to other actions: what they ask for would not be done."""
        for name in sorted(names):
            actions = PARAMS[name].actions
            if name in TARGET_PARAMS and (name != "channelId" or action.spec.requires_target):
                continue
            if actions and action not in actions:
                instead = ", ".join(one for one in Action if one in actions)
                raise InvalidAction(f"Action {action} does not take `{name}`.", remedy=f"It is for: {instead}.")


def message_of(given: "Given", by: ProfileRules) -> ModelText:
    """The text of a call, read, with the files of the call."""
    texts = {name: text for name in _TEXTS if (text := given.text(name)) is not None}
    by[ParameterRules].check_texts(texts)
    named = (given.get(name, str) for name in ("media", "path", "filePath"))
    return read_model_text(next(iter(texts.values()), ""), by, tuple(file.strip() for file in named if file))


def split_data_url(text: str | None, mime_type: str | None) -> tuple[str | None, str | None]:
    """The base64 of a file and its MIME type, from base64 or from a data URL. Raises `InvalidAction`."""
    if text is None:
        return None, mime_type
    found = _DATA_URL.fullmatch(text)
    base64 = "".join((found[2] if found else text).split())
    if not _BASE64.fullmatch(base64):
        raise InvalidAction("`buffer` is not base64.", remedy="Give base64, or a data: URL.")
    return base64, mime_type or (found[1] if found else None)


def poll_of(given: "Given") -> Poll | None:
    """The poll; None while question or options are missing, which `core.actions.planning.requirements` reports."""
    question, options = given.get("pollQuestion", str), given.texts("pollOption")
    if question is None or not options:
        return None
    return Poll(
        question=question.strip(),
        options=options,
        max_selections=max(2, len(options)) if given.flag("pollMulti") else 1,
        duration_hours=given.get("pollDurationHours", int),
        duration_seconds=given.get("pollDurationSeconds", int),
        anonymous=given.get("pollAnonymous", bool),
    )


def parts_of(given: "Given", action: Action, mime_type: str | None) -> MessageParts | None:
    """Buttons, card and the other parts beside text and files; None: none of them. Raises `InvalidAction`."""
    stickers = given.texts("stickerId")
    parts = MessageParts(
        silent=given.flag("silent"),
        buttons=_buttons(given.get("buttons", object)),
        card=_object("card", given.get("card", object)),
        components=_json_text("components", given.get("components", object)),
        effect=_stripped(given.text("effectId", "effect")),
        sticker=(stickers[0] if stickers else given.text("fileId")) if action is Action.STICKER else None,
        file_name=_stripped(given.text("filename")),
        mime_type=_stripped(mime_type),
        as_voice=given.flag("asVoice"),
        gif=given.flag("gifPlayback"),
    )
    return None if parts == _NO_PARTS else parts


def _stripped(text: str | None) -> str | None:
    return None if text is None else text.strip()


def _object(name: str, value: object) -> str | None:
    if value is not None and not isinstance(value, dict):
        raise InvalidAction(f"`{name}` is not an object.", remedy="Give the card as a JSON object.")
    return _json_text(name, cast("object", value))


def _json_text(name: str, value: object) -> str | None:
    if value is None:
        return None
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidAction(f"--{name} must be valid JSON") from error


def _buttons(value: object) -> tuple[tuple[Button, ...], ...]:
    if value is None:
        return ()
    rows = _members(value)
    if all(isinstance(one, dict) for one in rows):
        rows = (rows,)
    made = tuple(tuple(_button(one) for one in _members(row)) for row in rows)
    if sum(map(len, made)) > _MOST_BUTTONS:
        raise InvalidAction(f"A message has at most {_MOST_BUTTONS} buttons.")
    return tuple(row for row in made if row)


def _members(value: object) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise _not_rows()
    return cast("Sequence[object]", value)


def _button(value: object) -> Button:
    if not isinstance(value, dict):
        raise _not_rows()
    fields = cast("Mapping[str, object]", value)
    text, data, url = _first(fields, _LABELS), _first(fields, _VALUES), _first(fields, ("url",))
    if not all(map(is_well_formed, (text, data, url))):
        raise InvalidAction("`buttons` is not valid Unicode.", Reason.BAD_TEXT)
    if not text or not (data or url):
        raise InvalidAction("A button needs `text`, and `callback_data` or `url`.")
    return Button(text=text, value=data, url=url or None)


def _first(fields: Mapping[str, object], names: tuple[str, ...]) -> str:
    return next((value for name in names if isinstance(value := fields.get(name), str) and value.strip()), "")


def _not_rows() -> InvalidAction:
    remedy = 'For example [[{"text": "Yes", "callback_data": "yes"}]].'
    return InvalidAction("`buttons` is not a list of rows of buttons.", remedy=remedy)


_NO_PARTS = MessageParts()


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
        value = self._values.get(name)
        return value if isinstance(value, type) else None

    def text(self, *names: str) -> str | None:
        """The first text among some parameters."""
        return next((text for name in names if (text := self.get(name, str)) is not None), None)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; a missing one is empty."""
        return cast("tuple[str, ...]", self.get(name, tuple) or ())

    def flag(self, name: str) -> bool:
        return self.get(name, bool) or False

    @property
    def names(self) -> frozenset[str]:
        """The parameters that are there. A flag that is not set is as good as missing."""
        return frozenset(name for name, value in self._values.items() if value is not False)

    def rest(self, action: Action) -> str | None:
        """The parameters that no field of `ActionCall` has, as a JSON object."""
        spec = action.spec
        gone = _TYPED | _OF_MESSAGES if spec.kind is ActionKind.MESSAGE else _TYPED
        if spec.requires_target:
            gone |= {"channelId"}
        left = {name: value for name, value in self._values.items() if name not in gone}
        try:
            return msgspec.json.encode(left, order="sorted").decode() if left else None
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidAction("A parameter is no JSON value.") from error


def parse_call(params: Mapping[str, object], by: ProfileRules = OURS) -> ActionCall:
    """Parse the parameters of a call. Raises `InvalidAction`; the target is not looked at (`target_rules`)."""
    values = _read(params, by[ParameterRules])
    action = parse_action(params.get("action"))
    given = Given(values)
    by[ParameterRules].check_taken(action, given.names)
    said = message_of(given, by)
    buffer, mime_type = split_data_url(given.get("buffer", str), given.text("contentType", "mimeType"))
    return ActionCall(
        action=action,
        channel=_id(given, "channel"),
        account=_id(given, "accountId"),
        targets=given.texts("targets"),
        message=said.text,
        media=said.media,
        buffer=buffer,
        reply_to=_answered(given, action, said.reply_to),
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


def _read(params: Mapping[str, object], rules: ParameterRules) -> dict[str, object]:
    """The values of all parameters except blank ones, by type."""
    if len(params) > _MOST_PARAMETERS:
        raise InvalidAction(f"The call has {len(params)} parameters.", remedy=f"Give at most {_MOST_PARAMETERS}.")
    values: dict[str, object] = {}
    # What is wrong in these is said first.
    names = sorted(params, key=lambda name: name not in ("buttons", "card"))
    for name in names:
        if name == "action":
            continue
        param = PARAMS.get(name)
        if param is None:
            if params[name] is not None:
                rules.check_known(name)
            continue
        value = _value(param, params[name], rules)
        if value is not None:
            values[name] = value
    return values


def _value(param: Param, value: object, rules: ParameterRules) -> object:
    try:
        return read_value(param, value)
    except InvalidAction as error:
        return rules.check_read(param, error)


def _unknown(name: object) -> InvalidAction:
    shown = (plain_text(name) or type(name).__name__)[:60]
    near = get_close_matches(shown, [one.name for one in PARAMS.values() if not one.hidden], n=1)
    remedy = f"Did you mean `{near[0]}`?" if near else "The tool's schema lists the parameters."
    return InvalidAction(f"Unknown parameter: `{shown}`.", remedy=remedy)


def _answered(given: Given, action: Action, by_tag: str | None) -> str | None:
    """The message that a call answers: a parameter names it, or a tag in the text."""
    named = given.text("replyTo") or (given.text("messageId") if action is Action.REPLY else None)
    return by_tag if named is None else named


def _id(given: Given, name: str) -> str | None:
    """A text without the blanks around it."""
    text = given.get(name, str)
    return None if text is None else text.strip()

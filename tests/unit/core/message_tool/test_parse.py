"""What a model writes becomes a typed call, or an error that names what is wrong and what to do."""

import json
from typing import Any

import pytest

from tests.support.for_each import for_each
from trunkline.core.action_catalogue import Action
from trunkline.core.errors import InvalidAction
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.message_tool.calls import ActionCall
from trunkline.core.message_tool.parsing.param_values import MOST_TEXTS
from trunkline.core.message_tool.parsing.params import PARAMS, ParamType
from trunkline.core.message_tool.parsing.parse import parse_action, parse_call
from trunkline.core.profile_rules import Profile, profile_rules
from trunkline.core.reasons import Reason
from trunkline.core.values import Poll


def call(action: str = "send", **params: Any) -> ActionCall:
    return parse_call({"action": action, **params})


def error(params: dict[str, Any]) -> InvalidAction:
    with pytest.raises(InvalidAction) as raised:
        parse_call(params)
    return raised.value


# -------------------------------------------------------------------- actions


@for_each("action", list(Action))
def test_every_action_is_known_by_its_name_and_its_other_spellings(action: Action) -> None:
    words = action.value.replace("-", "_")
    camel = "".join(part[:1].upper() + part[1:] for part in words.split("_"))
    spellings = (action.value, action.value.upper(), words, camel, camel[:1].lower() + camel[1:], f" {action.value} ")
    assert {parse_action(one) for one in spellings} == {action}


@for_each(
    ("value", "sentence", "remedy"),
    [
        ("sned", "Unknown action: sned", "Did you mean send?"),
        ("set-presense", "Unknown action: set-presense", "Did you mean set-presence?"),
        ("qqqqqqqqqqqqqqqqqqqq", "Unknown action: qqqqqqqqqqqqqqqqqqqq", "There are: send, broadcast, poll"),
        ("", "action required", "Give one of: send"),
        (None, "action required", "Give one of: send"),
        (7, "action required", "Give one of: send"),
    ],
)
def test_an_unknown_action_is_refused_with_the_nearest(value: object, sentence: str, remedy: str) -> None:
    with pytest.raises(InvalidAction) as raised:
        parse_action(value)
    assert raised.value.sentence == sentence
    assert raised.value.reason is Reason.BAD_ACTION
    assert remedy in str(raised.value)


# -------------------------------------------------------------------- parameters


def test_an_unknown_parameter_is_refused_with_the_nearest() -> None:
    found = error({"action": "send", "mesage": "x"})
    assert found.sentence == "Unknown parameter: `mesage`."
    assert "Did you mean `message`?" in found.facts
    assert "schema lists" in error({"action": "send", "zzzzzzzzz": 1}).facts
    # Models fill in what they do not use.
    assert call(message="x", zzzzzzzzz=None).message == "x"


def test_a_parameter_of_other_actions_is_refused() -> None:
    found = error({"action": "send", "message": "x", "pollOption": ["a", "b"]})
    assert found.sentence == "Action send does not take `pollOption`."
    assert "It is for: poll, poll-vote." in found.facts
    blank = call(message="x", pollOption=[], pollQuestion=" ", pollMulti=False, guildId=None)
    assert blank.given == {"message"}
    assert error({"action": "kick", "channelId": "5"}).sentence == "Action kick does not take `channelId`."


def test_upstream_ignores_parameters_that_it_does_not_know_or_use() -> None:
    params = {"action": "send", "message": "x", "mesage": 1, "pollOption": ["a"], "silent": "perhaps", "replyTo": {}}
    parsed = parse_call(params, profile_rules(Profile.OPENCLAW))
    assert (parsed.message, parsed.parts, parsed.reply_to) == ("x", None, None)


@pytest.mark.parametrize(("value", "flag"), [(True, True), (False, False), ("TRUE", True), (" false ", False)])
def test_flags_may_be_text(value: object, flag: bool) -> None:
    assert call(dryRun=value).dry_run is flag


@pytest.mark.parametrize(
    ("value", "text"), [(17, "17"), (" 17 ", "17"), (17.0, "17"), (-1001234567890, "-1001234567890")]
)
def test_ids_may_be_numbers(value: object, text: str) -> None:
    assert call("delete", messageId=value).message_id == text


@for_each(
    ("name", "value", "remedy"),
    [
        ("dryRun", "perhaps", "true or false"),
        ("dryRun", 1, "true or false"),
        ("message", ["a"], "a text"),
        ("message", True, "a text"),
        ("replyTo", {"id": 1}, "an id as text"),
        ("replyTo", float("nan"), "an id as text"),
        ("replyTo", 10**30, "an id as text"),
        ("card", 5, "an object or a list"),
        ("targets", {"a": 1}, "a list of texts"),
        ("targets", ["a", {}], "a list of texts"),
    ],
)
def test_a_value_of_a_wrong_type_is_refused(name: str, value: object, remedy: str) -> None:
    found = error({"action": "broadcast", name: value})
    assert found.sentence.startswith(f"`{name}` cannot be ")
    assert remedy in found.facts


@pytest.mark.parametrize(("value", "hours"), [(3, 3), ("3", 3), (3.0, 3)])
def test_whole_numbers_may_be_text(value: object, hours: int) -> None:
    poll = call("poll", pollQuestion="q", pollOption=["a", "b"], pollDurationHours=value).poll
    assert poll is not None and poll.duration_hours == hours


@pytest.mark.parametrize("value", ["x", 1.5, "1e400", float("inf")])
def test_a_number_that_is_not_whole_is_refused(value: object) -> None:
    assert "`pollDurationHours` cannot be" in error({"action": "poll", "pollDurationHours": value}).sentence


def test_half_a_character_is_refused() -> None:
    found = error({"action": "send", "message": "x\ud800"})
    assert found.reason is Reason.BAD_TEXT
    assert error({"action": "broadcast", "targets": ["\udfff"]}).reason is Reason.BAD_TEXT
    str(error({"action": "\ud800"})).encode()
    str(error({"action": "send", "\ud800": 1})).encode()


def test_lists_drop_what_is_blank_and_have_a_limit() -> None:
    assert call("broadcast", targets=["a", " ", None, 5, " b "]).targets == ("a", "5", "b")
    assert call("broadcast", targets="a").targets == ("a",)
    assert "has 1001 members" in error({"action": "broadcast", "targets": ["a"] * (MOST_TEXTS + 1)}).sentence
    assert "has 300 parameters" in error({str(number): 1 for number in range(300)}).sentence


# -------------------------------------------------------------------- texts and files


def test_text_and_files_are_read_as_other_sends_read_them() -> None:
    parsed = call(message="look\nMEDIA:./b.png", media="https://x.org/a.png", path="./c.png", filePath="./c.png")
    assert (parsed.message, parsed.media) == ("look", ("https://x.org/a.png", "./c.png", "./b.png"))


def test_text_has_other_names() -> None:
    assert call(content="x").message == "x"
    assert call("edit", newText="x", messageId=1).message == "x"
    assert call(media="./a.png", caption="x").message == "x"
    assert call(message="x", text="x").message == "x"
    found = error({"action": "send", "message": "x", "caption": "y"})
    assert found.sentence == "`message` and `caption` are different texts."


def test_reasoning_does_not_reach_people() -> None:
    assert call(message="<think>secret</think>Hello").message == "Hello"
    assert call(caption="a <thinking>b</thinking>c", media="./x.png").message == "a c"


def test_a_reply_tag_names_the_answered_message_unless_a_parameter_does() -> None:
    assert (call(message="[[reply_to: 5]] hi").message, call(message="[[reply_to: 5]] hi").reply_to) == ("hi", "5")
    assert call(message="[[reply_to: 5]] hi", replyTo=6).reply_to == "6"
    assert call("reply", message="hi", messageId=7).reply_to == "7"


def test_a_buffer_is_base64_or_a_data_url() -> None:
    plain = call("sendAttachment", buffer="aGk=", filename=" a.txt ", contentType="text/plain")
    assert (plain.buffer, plain.parts) == ("aGk=", MessageParts(file_name="a.txt", mime_type="text/plain"))
    url = call("sendAttachment", buffer="data:image/png;name=x;base64,aG k=")
    assert (url.buffer, url.parts) == ("aGk=", MessageParts(mime_type="image/png"))
    assert error({"action": "sendAttachment", "buffer": "not base64!"}).sentence == "`buffer` is not base64."
    assert error({"action": "sendAttachment", "buffer": "data:,x"}).sentence == "`buffer` is not base64."


# -------------------------------------------------------------------- parts


def test_buttons_are_rows_as_values_or_as_json() -> None:
    rows = [
        [{"text": "Yes", "callback_data": "y"}, {"text": "Docs", "url": "https://x.org"}],
        [{"label": "No", "value": "n"}],
    ]
    yes, docs, no = (
        Button(text="Yes", value="y"),
        Button(text="Docs", url="https://x.org"),
        Button(text="No", value="n"),
    )
    for given in (rows, json.dumps(rows)):
        parts = call(message="x", buttons=given).parts
        assert parts is not None and parts.buttons == ((yes, docs), (no,))
    one_row = call(message="x", buttons=rows[0]).parts
    assert one_row is not None and one_row.buttons == ((yes, docs),)
    assert call(message="x", buttons=" ").parts is None
    assert call(message="x", buttons=[]).parts is None


@for_each(
    ("name", "value", "sentence"),
    [
        ("buttons", "{not json", "--buttons must be valid JSON"),
        ("card", "{not json", "--card must be valid JSON"),
        ("components", "[" * 100_000, "--components must be valid JSON"),
        ("buttons", {"text": "x"}, "`buttons` is not a list of rows of buttons."),
        ("buttons", ["x"], "`buttons` is not a list of rows of buttons."),
        ("buttons", [["x"]], "`buttons` is not a list of rows of buttons."),
        ("buttons", [[{"text": "x"}]], "A button needs `text`, and `callback_data` or `url`."),
        ("buttons", [[{"url": "x"}]], "A button needs `text`, and `callback_data` or `url`."),
        ("buttons", [[{"text": "x", "value": "y"}] * 101], "A message has at most 100 buttons."),
        ("card", [1], "`card` is not an object."),
        ("buttons", [[{"text": "\udfff", "value": "y"}]], "`buttons` is not valid Unicode."),
        ("card", {"a": "\udfff"}, "--card must be valid JSON"),
        ("card", {"a": object()}, "--card must be valid JSON"),
    ],
)
def test_parts_of_a_wrong_form_are_refused(name: str, value: object, sentence: str) -> None:
    assert error({"action": "send", "message": "x", name: value}).sentence == sentence


def test_bad_json_is_found_before_anything_else_that_is_wrong() -> None:
    assert error({"nonsense": 1, "action": "nonsense", "buttons": "{"}).sentence == "--buttons must be valid JSON"


def test_the_other_parts() -> None:
    parts = call("sendWithEffect", message="x", effectId="slam", silent="true", asVoice=True, gifPlayback=True).parts
    assert parts == MessageParts(effect="slam", silent=True, as_voice=True, gif=True)
    assert call("sendWithEffect", message="x", effect="slam").parts == MessageParts(effect="slam")
    assert call("sticker", stickerId=["s1", "s2"]).parts == MessageParts(sticker="s1")
    assert call("sticker", fileId="f1").parts == MessageParts(sticker="f1")
    assert call(message="x", card='{"b": 1}', components=[{"type": 1}]).parts == MessageParts(
        card='{"b":1}', components='[{"type":1}]'
    )


def test_a_poll() -> None:
    parsed = call("poll", pollQuestion=" q ", pollOption=["a", " ", "b", "c"], pollMulti="true", pollAnonymous=False)
    assert parsed.poll == Poll(question="q", options=("a", "b", "c"), max_selections=3, anonymous=False)
    assert parsed.options == 3
    single = call("poll", pollQuestion="q", pollOption=["a", "b"], pollDurationSeconds=60).poll
    assert single == Poll(question="q", options=("a", "b"), max_selections=1, duration_seconds=60)


def test_what_has_no_field_of_its_own_is_kept_as_json() -> None:
    parsed = call("search", query="x", guildId=5, limit="10", authorIds=["a"])
    assert json.loads(parsed.fields or "") == {"query": "x", "guildId": "5", "limit": 10, "authorIds": ["a"]}
    assert call(message="x", target="a", channel="slack").fields is None


def test_a_change_or_a_query_keeps_files_buttons_and_options_there() -> None:
    icon = call("setGroupIcon", target="g", media="./a.png", filename="a.png", contentType="image/png")
    assert json.loads(icon.fields or "") == {"media": "./a.png", "filename": "a.png", "contentType": "image/png"}
    edit = call("edit", messageId=5, message="x", buttons=[[{"text": "Yes", "value": "y"}]])
    assert json.loads(edit.fields or "") == {"buttons": [[{"text": "Yes", "value": "y"}]]}
    assert json.loads(call("topic-edit", threadId=7, name="x").fields or "") == {"threadId": "7", "name": "x"}
    assert json.loads(call("poll-vote", messageId=5, pollOption="a").fields or "") == {"pollOption": ["a"]}
    assert call("channel-info", channelId="C1").fields is None
    assert call("edit", messageId=5, message="x", target="C1", emoji=None).fields is None


@for_each("param", PARAMS.values(), ids=PARAMS)
def test_no_parameter_is_lost(param: Any) -> None:
    """Whatever an action takes is in a field of the call, or in its `fields`."""
    values: dict[ParamType, object] = {
        **dict.fromkeys((ParamType.TEXT, ParamType.ID), "aGk="),
        ParamType.FLAG: True,
        **dict.fromkeys((ParamType.NUMBER, ParamType.INTEGER), 7),
        ParamType.TEXTS: ["one", "two"],
        ParamType.JSON: [[{"text": "x", "value": "y"}]] if param.name == "buttons" else {"a": 1},
    }
    if param.name in ("target", "to", "channelId", "chatGuid", "chatIdentifier", "chatId"):
        return  # `choose_target` reads them
    for action in param.actions or (Action.READ,):
        others = {"pollQuestion": "q", "pollOption": ["a", "b"]} if action is Action.POLL else {}
        without = parse_call({"action": action, **{name: v for name, v in others.items() if name != param.name}})
        with_it = parse_call({"action": action, **others, param.name: values[param.type]})
        assert with_it.given == without.given | {param.name}
        changed = {name for name in ActionCall.__struct_fields__ if getattr(with_it, name) != getattr(without, name)}
        assert changed - {"given"}, f"{action} ignores {param.name}"

"""Commands of peers: how they are read, who may do what, and what is said to whom."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.factories import direct
from tests.support.for_each import for_each
from trunkline.core.chat_commands import permissions as decide
from trunkline.core.chat_commands.parse import Command, CommandName, is_command, read_command
from trunkline.core.config import ControlConfig
from trunkline.core.errors import BindingError
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import SessionBindingRecord, TargetKind
from trunkline.core.states.binding import BindingStatus
from trunkline.core.values import Peer

PLACE = direct("100", channel="telegram")
ELSEWHERE = direct("200", channel="telegram")
CONFIG = ControlConfig(enabled=True, owners=("telegram:1",))
OWNER, BINDER, STRANGER = "telegram:1", "telegram:2", "telegram:3"


def bound(name: str = "b1", key: str = "main:subagent:d1", by: str = BINDER, **more: Any) -> SessionBindingRecord:
    fields: dict[str, Any] = {"conversation": PLACE, "bound_at": 0.0, "last_activity_at": 0.0, **more}
    return SessionBindingRecord(
        binding_id=name, target_session_key=key, target_kind=TargetKind.SUBAGENT, bound_by=by, **fields
    )


def refused(call: Callable[..., object], *what: Any, **more: Any) -> Reason:
    with pytest.raises(BindingError) as caught:
        call(*what, **more)
    return caught.value.reason


# ---------------------------------------------------------------- reading


@for_each(
    ("text", "name", "argument"),
    [
        ("/focus main", CommandName.FOCUS, "main"),
        ("  /focus   main:subagent:m1.hand1 ", CommandName.FOCUS, "main:subagent:m1.hand1"),
        ("/focus the  long\tname", CommandName.FOCUS, "the long name"),
        ("/focus", CommandName.FOCUS, ""),
        ("/FOCUS x", CommandName.FOCUS, "x"),
        ("/focus@trunkline_bot x", CommandName.FOCUS, "x"),
        ("/unfocus", CommandName.UNFOCUS, ""),
        ("/unfocus now", CommandName.UNFOCUS, "now"),
        ("/agents", CommandName.AGENTS, ""),
    ],
)
def test_a_command_is_read_with_what_stands_behind_it(text: str, name: CommandName, argument: str) -> None:
    assert read_command(text) == Command(name=name, argument=argument)
    assert is_command(text)


@for_each(
    "text",
    ["", "/", "focus main", "please /focus main", "/focussed", "/focus: main", "//focus", "/ focus", "/help", "@focus"],
)
def test_anything_else_is_a_message(text: str) -> None:
    assert read_command(text) is None
    assert not is_command(text)


# ---------------------------------------------------------------- who may


def test_people_are_named_by_channel_and_id_never_by_the_name_they_chose() -> None:
    assert decide.person(PLACE, Peer(id="1", name="telegram:9")) == OWNER
    assert decide.is_owner(OWNER, CONFIG, claimed=False)
    assert not decide.is_owner("discord:1", CONFIG, claimed=False)
    assert not decide.is_owner(OWNER, ControlConfig(enabled=True), claimed=False)


def test_only_owners_focus() -> None:
    decide.check_focus(OWNER, CONFIG, claimed=False)
    assert refused(decide.check_focus, BINDER, CONFIG, claimed=False) is Reason.NOT_PERMITTED
    assert refused(decide.check_focus, STRANGER, CONFIG, claimed=False) is Reason.NOT_PERMITTED


def test_an_owner_and_the_one_who_bound_it_unfocus() -> None:
    decide.check_unfocus(OWNER, bound(), CONFIG, claimed=False)
    for claimed in (False, True):
        decide.check_unfocus(BINDER, bound(), CONFIG, claimed=claimed)
        assert refused(decide.check_unfocus, STRANGER, bound(), CONFIG, claimed=claimed) is Reason.NOT_PERMITTED
    assert refused(decide.check_unfocus, BINDER, bound(by="spawn"), CONFIG, claimed=False) is Reason.NOT_PERMITTED


def test_an_owner_whom_only_a_client_names_is_none_and_is_told_the_line_to_add() -> None:
    assert not decide.is_owner(OWNER, CONFIG, claimed=True)
    for refusal in (
        lambda: decide.check_focus(OWNER, CONFIG, claimed=True),
        lambda: decide.check_unfocus(OWNER, bound(by=OWNER), CONFIG, claimed=True),
    ):
        with pytest.raises(BindingError, match=r"people: \[telegram:1\]"):
            refusal()
    with pytest.raises(BindingError) as stranger:
        decide.check_focus(STRANGER, CONFIG, claimed=True)
    assert "people" not in str(stranger.value), "who is no owner learns nothing of owners"


# ---------------------------------------------------------------- which session

KNOWN = (
    bound("b1", "main:subagent:d1", label="codex", delegation="d1"),
    bound("b2", "main:subagent:d2", label="codex", delegation="d2"),
    bound("b3", "main:subagent:d3", label="clerk", delegation="d3"),
    bound("b4", "main:subagent:d3", label="clerk", delegation="d3", conversation=ELSEWHERE),
)


@for_each(
    ("argument", "key"),
    [
        ("main", "main:main"),
        ("Main", "main:main"),
        ("d2", "main:subagent:d2"),
        ("b1", "main:subagent:d1"),
        ("clerk", "main:subagent:d3"),
        ("main:subagent:d9", "main:subagent:d9"),
    ],
)
def test_a_session_is_named_by_its_key_or_by_what_people_call_its_work(argument: str, key: str) -> None:
    assert decide.choose_target(argument, "main:main", KNOWN) == key


@pytest.mark.parametrize("argument", ["", "codex"])
def test_nothing_is_guessed_where_nothing_or_several_things_are_named(argument: str) -> None:
    assert refused(decide.choose_target, argument, "main:main", KNOWN) is Reason.UNKNOWN_SESSION


def test_a_binding_without_a_label_has_no_name() -> None:
    assert decide.choose_target("x", "main:main", [bound()]) == "x"


# ---------------------------------------------------------------- what is said


def test_an_owner_sees_everything_and_anybody_else_what_is_bound_here() -> None:
    here, there = bound("b1", label="codex"), bound("b2", "main:main", conversation=ELSEWHERE)
    ending = bound("b3", "main:x", status=BindingStatus.ENDING)
    lines = decide.bindings_reply([here, there, ending], here, all_of_them=True).splitlines()
    assert lines == [
        f"* codex: main:subagent:d1 in {PLACE} (active)",
        f"- subagent: main:main in {ELSEWHERE} (active)",
        f"- subagent: main:x in {PLACE} (ending)",
    ]
    assert decide.bindings_reply([here, there, ending], here, all_of_them=False).splitlines() == lines[:1]
    assert decide.bindings_reply([there], None, all_of_them=False) == "Nothing is bound here."
    assert decide.bindings_reply([], None, all_of_them=True) == "No conversation is bound to a session."


def test_answers_name_the_session() -> None:
    assert "main:subagent:d1" in decide.focus_reply(bound())
    assert decide.unfocus_reply([bound()]) == "The session main:subagent:d1 is left."
    assert decide.unfocus_reply(()) == "This conversation is bound to no session."
    error = BindingError("only an owner of this gateway may do that", Reason.NOT_PERMITTED)
    assert decide.refusal_reply(error) == "Not done: only an owner of this gateway may do that."

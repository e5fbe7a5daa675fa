"""Explanations of bindings, routes by bindings, and completions."""

import pytest

from tests.support.app.author import AUDIT, BO, RELEASE
from tests.support.app.binding_views import seq_of, small, texts
from tests.support.app.bound_runs import CHILD, HOOK, NIGHT, bind, heard, touch
from trunkline.app.view.explain.binding_facts import record_facts
from trunkline.app.view.explain.explanation import explain
from trunkline.app.view.explain.resolver import answer, resolve
from trunkline.app.view.kinds.registry import describe
from trunkline.core.events.bindings import RouterDecided
from trunkline.core.reasons import Reason


def test_the_record_shows_fields_resolution_and_story(view):
    row = view.bindings.row("b1", view.last)
    assert row is not None
    facts = list(record_facts(view, row, view.last))
    labels = [
        "status",
        "place",
        "session",
        "by",
        "identity",
        "bound",
        "touched",
        "ends",
        "because",
        "resolves",
        "story",
    ]
    assert [fact.label for fact in facts if fact.label] == labels
    assert texts(facts, "status") == ["b1 ended"]
    assert texts(facts, "resolves") == [answer(view, resolve(view, RELEASE, view.last))]
    numbers = [int(line.split()[0].removeprefix("#")) for line in texts(facts, "story")]
    assert numbers == [21, 28, 44, 46, 47, 49, 57, 59]
    assert texts(facts, "touched") == ["3 times, last at 6.360"]


def test_the_record_of_a_binding_that_is_made_later_says_so(view):
    row = view.bindings.row("b5", 0)
    assert row is not None
    facts = list(record_facts(view, row, 0))
    assert texts(facts, "status") == [f"b5 is bound later, at #{row.since}"]
    assert texts(facts, "resolves") == []


def test_a_touch_of_an_operator_is_part_of_the_story_and_one_by_a_message_is_not():
    view = small(
        lambda author: bind(author, "b1", AUDIT, NIGHT),
        lambda author: touch(author, "b1"),
        lambda author: touch(author, "b1", by="operator"),
    )
    row = view.bindings.row("b1", view.last)
    assert row is not None
    assert row.touches == 2
    assert len(texts(record_facts(view, row, view.last), "story")) == 2


def test_long_ids_are_numbered_and_reported_once():
    long = "binding-discord/main/602"
    view = small(
        lambda author: bind(author, long, AUDIT, NIGHT),
        lambda author: heard(author, AUDIT, BO, "hello", NIGHT, long),
        lambda author: bind(author, "another", AUDIT, NIGHT, instead_of=long),
    )
    row = view.bindings.row(long, view.last)
    assert row is not None
    facts = list(record_facts(view, row, view.last))
    assert texts(facts, "status") == ["b1 active"]
    assert texts(facts, "id") == [long]
    assert describe(view, view.event(view.last)).endswith("by operator, instead of b1")
    assert texts(explain(view, seq_of(view, "route.decided")).lines, "route")[0].endswith(
        "by binding b1 (binding.session)"
    )
    assert view.bindings.name("nobody knows it") == "nobody knows it"


def test_a_decision_of_the_router_shows_input_candidates_and_result(view):
    lines = explain(view, seq_of(view, "router.decided")).lines
    assert texts(lines, "router") == [f"#44 task_completion of session {CHILD}"]
    assert texts(lines, "asked by") == ["discord/#ops  (fail closed: no guess)"]
    assert [line.split("  ")[0] for line in texts(lines, "tried")] == [
        "✓ b1 active discord/#ops/release 41",
        "✗ b3 active telegram/@bo",
    ]
    assert [line.startswith("bound → discord/#ops/release 41  requester-match") for line in texts(lines, "chosen")] == [
        True
    ]


@pytest.mark.parametrize("kind", ["completion.planned", "intent.prepared", "wire.accepted"])
def test_a_completion_shows_what_the_router_said(view, kind):
    lines = explain(view, seq_of(view, kind)).lines
    assert texts(lines, "router") == [f"#44 task_completion of session {CHILD}"]


def test_a_message_that_went_out_as_the_bot_says_so(view):
    lines = explain(view, seq_of(view, "wire.accepted")).lines
    assert texts(lines, "identity") == [f"#49 chunk 1 goes out as the bot instead of {HOOK}: identity-gone"]
    assert texts(lines, "reopened") == ["#47 the gateway unarchives discord/#ops/release 41 to post there"]


def test_what_was_denied_is_reported_with_the_decision_before_it(view):
    lines = explain(view, seq_of(view, "fallback.denied")).lines
    assert [line.label for line in lines if line.label][:5] == ["denied", "because", "router", "asked by", "tried"]
    notice = explain(view, seq_of(view, "wire.accepted", 1)).lines
    assert len(texts(notice, "denied")) == 1


def test_an_event_of_a_binding_shows_its_story(view):
    lines = explain(view, seq_of(view, "binding.ended")).lines
    assert [line.label for line in lines if line.label][:6] == [
        "what",
        "because",
        "status",
        "ends",
        "resolves",
        "story",
    ]
    assert [line.split()[0] for line in texts(lines, "story")] == ["#24", "#33", "#34"]


def test_a_refused_binding_and_a_command_show_who_and_why(view):
    lines = explain(view, seq_of(view, "binding.refused")).lines
    assert texts(lines, "refused") == ["bind of discord/#random"]
    assert texts(lines, "by") == ["discord:9001"]
    assert texts(explain(view, seq_of(view, "control.called")).lines, "command") == ["/focus nobody"]
    ended = explain(view, seq_of(view, "control.ended")).lines
    assert texts(ended, "command") == ["/focus: refused"]
    assert texts(ended, "because") == ["unknown-session: There is no such session."]


def test_a_router_that_looked_at_nothing_says_so():
    body = RouterDecided(
        event_kind="task_completion",
        target_session_key=CHILD,
        requester=None,
        fail_closed=False,
        mode="fallback",
        reason=Reason.NO_ACTIVE_BINDING,
    )
    view = small(lambda author: author.gateway.record(body))
    lines = explain(view, view.last).lines
    assert texts(lines, "asked by") == ["an unknown requester  (fail open: a guess is allowed)"]
    assert texts(lines, "tried") == ["that session had no binding"]

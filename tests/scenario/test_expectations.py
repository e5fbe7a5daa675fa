"""Expectations of a scenario: each kind can be missed, and says where it was stated and what was found."""

import pytest

from trunkline.sim import run_scenario
from trunkline.sim.scenario import load_text

BASE = """\
scenario: 1
title: one answer
world: {people: [ana, bo], telegram: {}}
cast:
  agents:
    main: [{do: [{reply: "re: {text}"}]}]
script:
  - {at: 0s, as: ana, in: "@ana", say: "hi"}
expect:
"""


def unmet(expect):
    return run_scenario(load_text(BASE + expect, "one.yaml")).unmet


@pytest.mark.parametrize(
    "expect",
    [
        '  accepted: [{in: "@ana", text: "re: hi"}]',
        '  accepted: [{in: "@ana", text: "re: *"}]',
        '  accepted: [{in: "@ana", text: "*"}]\n  transcripts: [{in: "@ana", lines: ["user: hi", "assistant: *"]}]',
        '  accepted: [{in: "@ana", text: "re: hi"}]\n  events: [{kind: wire.accepted, text: "re: hi", times: 1}]',
        '  accepted: [{in: "@ana", text: "re: hi"}]\n  events: [{kind: inbound.dropped, times: 0}]',
        '  accepted: [{in: "@ana", text: "re: hi"}]\n  exercised: [D1, R1]',
    ],
)
def test_what_is_true_is_met(expect):
    assert unmet(expect) == ()


MISSED = {
    "text": ('  accepted: [{in: "@ana", text: "re: ho"}]', 2, "“re: ho” was not seen at @ana"),
    "place": ('  accepted: [{in: "@bo", text: "re: hi"}]', 2, "“re: hi” was not seen at @bo"),
    "times": ('  accepted: [{in: "@ana", text: "re: hi", times: 2}]', 1, "as often as expected"),
    "nothing expected": ("  accepted: []", 1, "unexpectedly"),
    "transcript": (
        '  accepted: [{in: "@ana", text: "re: hi"}]\n  transcripts: [{in: "@ana", lines: ["user: hi"]}]',
        1,
        "the transcript of @ana differs",
    ),
    "event": ('  accepted: [{in: "@ana", text: "re: hi"}]\n  events: [{kind: process.crashed}]', 1, "happened 0×"),
    "event reason": (
        '  accepted: [{in: "@ana", text: "re: hi"}]\n  events: [{kind: intent.settled, reason: refused}]',
        1,
        "happened 0×",
    ),
    "event times": ('  accepted: [{in: "@ana", text: "re: hi"}]\n  events: [{kind: turn.started, times: 2}]', 1, "1×"),
    "event place": (
        '  accepted: [{in: "@ana", text: "re: hi"}]\n  events: [{kind: wire.accepted, in: "@bo"}]',
        1,
        "happened 0×",
    ),
    "exercised": ('  accepted: [{in: "@ana", text: "re: hi"}]\n  exercised: [D2]', 1, "D2 was not exercised"),
}


@pytest.mark.parametrize(("expect", "count", "summary"), MISSED.values(), ids=MISSED)
def test_what_is_not_true_is_missed(expect, count, summary):
    found = unmet(expect)
    assert len(found) == count
    assert any(summary in missed.summary for missed in found)
    assert all(missed.expected and missed.actual for missed in found)


def test_a_missed_expectation_names_its_line():
    (missed,) = unmet('  accepted:\n    - {in: "@ana", text: "re: hi"}\n  events:\n    - {kind: process.crashed}')
    assert missed.line == 13


def test_a_thread_that_was_never_opened_is_a_missed_expectation_not_an_error():
    text = BASE.replace("telegram: {}", "discord: {rooms: [ops]}").replace(
        "cast:", "gateway: {channels: {discord: {auto_thread: true}}}\ncast:"
    )
    text = text.replace('in: "@ana", say', "in: ops, id: m1, say").replace(
        '[{reply: "re: {text}"}]', "[{silent: true}]"
    )
    result = run_scenario(load_text(text + '  accepted: [{in: ops/m1, text: "x"}]', "one.yaml"))
    assert [missed.summary for missed in result.unmet] == ["“x” was not seen at ops/m1 as often as expected"]


SENT = BASE.replace(
    "expect:\n",
    '  - {at: 9s, send: {to: "@bo", text: "the plan", media: ["./plan.png", "b.pdf"], dry_run: DRY}}\nexpect:\n',
)
HI = '  accepted:\n    - {in: "@ana", text: "re: hi"}\n'


@pytest.mark.parametrize(
    ("media", "met"),
    [("", True), (', media: ["./plan.png", "b.pdf"]', True), (", media: []", False), (', media: ["b.pdf"]', False)],
)
def test_the_files_of_a_message_are_compared_where_they_are_given(media, met):
    expect = f'{HI}    - {{in: "@bo", text: "the plan"{media}}}\n'
    found = run_scenario(load_text(SENT.replace("DRY", "false") + expect, "one.yaml")).unmet
    assert (found == ()) is met
    if not met:
        assert "“the plan” with ./plan.png, b.pdf at telegram/@bo" in found[0].actual


@pytest.mark.parametrize(("dry_run", "status"), [("true", "dry-run"), ("false", "delivered")])
def test_the_answer_to_a_client_can_be_expected(dry_run, status):
    expect = "".join(
        f"    - {{kind: client.told, status: {one}, times: {int(one == status)}}}\n" for one in ("dry-run", "delivered")
    )
    seen = "" if dry_run == "true" else '    - {in: "@bo", text: "the plan"}\n'
    file = load_text(SENT.replace("DRY", dry_run) + f"{HI}{seen}  events:\n{expect}", "one.yaml")
    assert run_scenario(file).unmet == ()
    assert len(run_scenario(file).trace.events) > 10


def test_a_line_that_grew_is_one_line():
    text = (
        BASE.replace("cast:", "gateway: {channels: {telegram: {text_limit: 10}}}\ncast:")
        .replace("script:\n", "script:\n  - {at: 0s, fault: {on: send, do: refuse, nth: 3}}\n")
        .replace("expect:\n", '  - {at: 5s, send: {to: "@bo", text: "one two three"}}\n')
    )
    part = '{in: "@bo", lines: ["assistant: one two"]}'
    whole = '{in: "@bo", lines: ["assistant: one two*three"]}'
    retry = "  - {at: 60s, queue: {do: retry, state: partial}}\n"
    for steps, lines in (("", part), (retry, whole)):
        assert run_scenario(load_text(f"{text}{steps}expect:\n  transcripts: [{lines}]\n", "one.yaml")).unmet == ()


FACTS = """\
scenario: 2
title: a question, buttons, and an answer
world: {people: [ana], discord: {guild: acme, rooms: {ops: {threads: [deploy]}}}}
gateway: {channels: {discord: {threadBindings: {identity: webhook}}}}
cast:
  agents:
    main:
      - when: {text: "first"}
        do: [{send: {text: "one", buttons: ["Yes", "No"]}}, {reply: "two [[reply_to_current]]"}]
      - do: [{reply: "three [[reply_to_current]]"}]
script:
  - {at: 1s, id: question, as: ana, in: ops, say: first}
  - {at: 9s, bind: {in: ops/deploy, session: ops, label: clerk}}
  - {at: 20s, as: ana, in: ops/deploy, say: second}
expect:
  in_order: true
  accepted:
    - {in: ops, text: one, BUTTONS}
    - {in: ops, text: two, QUOTE}
    - {in: ops/deploy, text: three, IDENTITY}
"""
TRUE = {
    "BUTTONS": 'buttons: ["Yes", "No"], reply_to: "", identity: ""',
    "QUOTE": "reply_to: question, buttons: [], session: ops",
    "IDENTITY": "identity: '** clerk', session: ops",
}
#: field -> what is not so, and what the run shows instead
FALSE = {
    "BUTTONS": [
        ('buttons: ["Yes"]', "buttons: Yes | No"),
        ("reply_to: question", "quotes “”"),
        ("identity: clerk", "as “”"),
    ],
    "QUOTE": [('reply_to: ""', "quotes “question”"), ("session: ops/deploy", "in the session main:discord:default:")],
    "IDENTITY": [('identity: ""', "as “"), ("session: ops/deploy", "in the session main:discord:default:")],
}


def facts_with(**given):
    text = FACTS
    for name, value in {**TRUE, **given}.items():
        text = text.replace(name, value)
    return run_scenario(load_text(text, "one.yaml")).unmet


def test_quotes_identities_buttons_sessions_and_order_can_be_expected():
    assert facts_with() == ()


@pytest.mark.parametrize(
    ("name", "value", "shown"), [(name, value, shown) for name, pairs in FALSE.items() for value, shown in pairs]
)
def test_a_fact_of_a_message_that_is_not_so_is_missed(name, value, shown):
    missed, *_ = facts_with(**{name: value})
    assert any(shown in line for line in missed.actual)


def test_messages_of_a_place_that_come_in_another_order_are_missed():
    lines = FACTS.splitlines()
    one = next(number for number, line in enumerate(lines) if "text: one" in line)
    lines[one], lines[one + 1] = lines[one + 1], lines[one]
    text = "\n".join(lines)
    for name, value in TRUE.items():
        text = text.replace(name, value)
    (missed,) = run_scenario(load_text(text, "one.yaml")).unmet
    assert (missed.summary, missed.line) == ("“two” was seen at discord/ops after “one”", 18)
    assert run_scenario(load_text(text.replace("in_order: true\n", "in_order: false\n"), "one.yaml")).unmet == ()

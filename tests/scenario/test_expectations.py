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

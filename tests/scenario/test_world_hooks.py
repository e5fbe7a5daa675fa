"""Hooks of a scenario: which messages they see, in which order, what they make of them, and what the gateway tells."""

from typing import Any

import pytest

from trunkline.core.events.base import RunEnded
from trunkline.core.events.delivery import HookFailed, HookSending, HookSent, IntentSettled, MirrorAppended
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState
from trunkline.sim import RunResult, Status, run_scenario
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.scenario import load_text

#: agents may write to other platforms
ACROSS = "tools: {message: {cross_context: {allow_across_providers: true, marker: {enabled: false}}}}"
RULES = """
  agents:
    main:
      - {when: {text: tell}, do: [{send: {to: discord/ops, text: news}}, {reply: told}]}
      - {do: [{reply: "re: {text}"}]}
"""


def run(hooks: list[str], *steps: str, gateway: str = f"{{{ACROSS}}}", seed: int = 1) -> RunResult:
    """A run in which people are answered and the hooks see it."""
    lines = ["scenario: 1", "title: made for a test", f"gateway: {gateway}", "world:", "  people: [ana]"]
    lines += [
        "  discord: {rooms: [ops]}",
        "  telegram: {}",
        f"cast:{RULES}  hooks:",
        *(f"    {hook}" for hook in hooks),
    ]
    said = [*steps] or ["at: 1s, as: ana, in: telegram/@ana, say: hi"]
    text = "\n".join([*lines, "script:", *(f"  - {{{step}}}" for step in said)])
    return run_scenario(load_text(text, "made.yaml"), seed=seed)


def bodies(result: RunResult, kind: type[Any]) -> list[Any]:
    return [event.body for event in result.trace.events if isinstance(event.body, kind)]


def seen(result: RunResult) -> list[str]:
    return [body.text for body in bodies(result, WireAccepted)]


def holds(result: RunResult) -> bool:
    broken = [verdict.id for verdict in result.verdicts if verdict.status is Status.VIOLATED]
    return not broken and bodies(result, RunEnded)[-1].at_rest


def test_each_hook_sees_what_those_of_higher_priority_have_left() -> None:
    hooks = ['a: {change: "{text}a"}', 'b: {priority: 9, change: "{text}b"}', 'c: {change: "{text}c ({original})"}']
    result = run(hooks)
    assert seen(result) == ["re: hibac (re: hi)"]
    assert [(body.verdict, body.by) for body in bodies(result, HookSending)] == [("modified", ("b", "a", "c"))]
    assert [body.text for body in bodies(result, MirrorAppended)] == seen(result)
    assert holds(result)


@pytest.mark.parametrize(
    ("when", "changed"),
    [
        ("{text: 're: h*'}", ["re: hi"]),
        ("{text: 'news'}", ["news"]),
        ("{in: discord/ops}", ["news"]),
        ("{in: telegram/@ana}", ["re: hi", "told"]),
        ("{kind: tool}", ["news"]),
        ("{kind: reply, text: 't*'}", ["told"]),
        ("{kind: send}", []),
        ("{}", ["re: hi", "news", "told"]),
    ],
)
def test_a_hook_is_for_the_messages_that_fit(when: str, changed: list[str]) -> None:
    says = [f"at: {n}s, as: ana, in: telegram/@ana, say: {text}" for n, text in enumerate(("hi", "tell"), 1)]
    result = run([f'mark: {{when: {when}, change: "{{text}}!"}}'], *says)
    assert sorted(seen(result)) == sorted(f"{one}!" if one in changed else one for one in ("re: hi", "news", "told"))
    verdicts = [body.verdict for body in bodies(result, HookSending)]
    assert (verdicts.count("modified"), verdicts.count("kept")) == (len(changed), 3 - len(changed))


def test_a_cancel_is_final_and_nothing_of_the_text_is_kept() -> None:
    result = run(['late: {change: "{text} again"}', "no: {priority: 1, cancel: not today}"])
    assert seen(result) == []
    assert [(body.verdict, body.by) for body in bodies(result, HookSending)] == [("cancelled", ("no",))]
    ended = [(body.state, body.reason) for body in bodies(result, IntentSettled)]
    assert ended == [(IntentState.CANCELLED, Reason.CANCELLED_BY_HOOK)]
    assert [body.state for body in bodies(result, HookSent)] == [IntentState.CANCELLED]
    assert not bodies(result, MirrorAppended)
    assert holds(result)


@pytest.mark.parametrize(
    ("does", "reason", "detail"),
    [
        ("fail: no oil", Reason.HOOK_RAISED, "ScriptFailure: no oil"),
        ("nonsense: true", Reason.BAD_HOOK_ANSWER, "odd answered 42: expected Change(text), Cancel(why) or None"),
        ("takes: 6s", Reason.HOOK_RAISED, "TimeoutError: no answer in time"),
    ],
)
@pytest.mark.parametrize("required", [False, True])
def test_a_hook_that_fails_is_recorded_and_left_out_or_cancels(
    does: str, reason: str, detail: str, required: bool
) -> None:
    result = run([f"odd: {{required: {str(required).lower()}, {does}}}", 'sign: {change: "{text}!"}'])
    assert [(body.hook, body.phase, body.reason, body.detail) for body in bodies(result, HookFailed)] == [
        ("odd", "sending", reason, detail)
    ]
    assert seen(result) == ([] if required else ["re: hi!"])
    assert [body.reason for body in bodies(result, HookSending)] == [reason if required else Reason.MODIFIED_BY_HOOK]
    assert holds(result)


def test_a_hook_may_take_its_time() -> None:
    result = run(['slow: {takes: 3s, change: "{text}!"}'])
    [accepted] = [event.at for event in result.trace.events if isinstance(event.body, WireAccepted)]
    assert 4.0 < accepted < 4.5
    assert seen(result) == ["re: hi!"]


def test_nothing_left_by_the_hooks_is_nothing_to_send() -> None:
    result = run(['empty: {change: " "}'])
    assert seen(result) == []
    assert [body.reason for body in bodies(result, IntentSettled)] == [Reason.EMPTY_AFTER_HOOK]
    assert holds(result)


def test_a_watching_hook_may_fail_and_is_notified_of_what_fits() -> None:
    says = [f"at: {n}s, as: ana, in: telegram/@ana, say: {text}" for n, text in enumerate(("hi", "tell"), 1)]
    result = run(["log: {on: sent, when: {in: discord/ops}, fail: full}"], *says)
    assert [(body.hook, body.phase, body.detail) for body in bodies(result, HookFailed)] == [
        ("log", "sent", "ScriptFailure: full")
    ]
    assert [body.state for body in bodies(result, HookSent)] == [IntentState.DELIVERED] * 3
    assert holds(result)


def test_a_run_waits_until_the_hooks_were_notified() -> None:
    result = run(["slow: {on: sent, takes: 40s}"], gateway="{delivery: {hook_timeout: 60s}}")
    kinds = [event.kind for event in result.trace.events]
    assert kinds.count("hook.sent") == 1
    assert kinds.index("hook.sent") < kinds.index("run.ended")
    assert result.virtual_seconds > 41


def test_hooks_are_notified_after_a_restart_of_what_they_had_missed() -> None:
    steps = ["at: 0s, crash: {when: {event: intent.settled}, restart_after: 2s}"]
    result = run(["slow: {on: sent, takes: 1s}"], *steps, "at: 1s, as: ana, in: telegram/@ana, say: hi")
    told = [event.generation for event in result.trace.events if isinstance(event.body, HookSent)]
    assert told == [2]
    assert seen(result) == ["re: hi"]
    assert holds(result)

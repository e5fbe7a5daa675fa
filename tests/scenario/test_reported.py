"""Every reported defect stays mended: its scenario holds, or ends as the table here says."""

from pathlib import Path

import pytest

from tests.support.paths import FIXTURES
from trunkline.sim import ScenarioError, load_scenario, run_scenario
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.plugins import OURS
from trunkline.sim.run.crash_at import CrashAt

FOLDER = FIXTURES / "reported"
FILES = sorted(FOLDER.rglob("*.yaml"))
#: file -> the invariants that it still violates, rightly, with the reason
VIOLATED: dict[str, tuple[frozenset[str], str]] = {}
#: file -> how many of its own expectations it misses, on purpose, with the reason
MISSED: dict[str, tuple[int, str]] = {
    "simulator/evil.yaml": (2, "what is printed of a missed expectation is part of what it shows"),
    "simulator/repost-into-a-deleted-thread.yaml": (1, "the thread of the repost is deleted, and the report says so"),
}
#: file -> the crash that showed the defect; the file must hold without it too
CRASHES: dict[str, CrashAt] = {
    "verdict/L5-refusal-of-a-dead-process.explore.yaml": CrashAt(what="step", n=120),
    "verdict/V1-broken-row-hooks.explore.yaml": CrashAt(what="commit", n=9, kind="stop"),
}
#: file -> words of the error with which it is refused when it is read
REFUSED: dict[str, str] = {
    "simulator/slow-beyond-in-flight.yaml": "script[0].fault.for: a send to telegram:default would arrive after 60s"
}
#: file -> everything that people see of it, in order
SEEN: dict[str, tuple[str, ...]] = {
    "seeds/agent-fails-and-nobody-is-told.yaml": (
        *("from ops", "sent"),
        "Sorry, something went wrong, and I cannot answer this message.",
    ),
    "seeds/answer-directives-reach-people.yaml": (
        *("Here it is", "Hello", "Hello", "Nothing to say. NO_REPLY", "one answer", "one answer.", "One answer"),
    ),
    "seeds/answer-directives-reach-people-2.yaml": ("On it.", "It is fine", "disk full"),
    "seeds/bound-result-after-unbind.yaml": (
        "started: review",
        "codex is done, and its result is not posted here. The session has no active binding.",
    ),
    "seeds/heartbeat-says-it-twice.yaml": ("ok", "The disk is full"),
    "seeds/tool-send-and-reply-are-one-text.yaml": ("The answer is forty-two.", "[from schedule] Report: all fine"),
}


def name_of(path: Path) -> str:
    return path.relative_to(FOLDER).as_posix()


@pytest.mark.parametrize("path", [path for path in FILES if name_of(path) not in REFUSED], ids=name_of)
def test_it_holds_or_is_violated_as_declared(path):
    file = load_scenario(path, names=OURS)
    result = run_scenario(file)
    violated = {violation.invariant for violation in result.violations}
    assert violated == VIOLATED.get(name_of(path), (frozenset(), ""))[0], [v.summary for v in result.violations]
    assert len(result.unmet) == MISSED.get(name_of(path), (0, ""))[0], result.unmet


@pytest.mark.parametrize("name", SEEN)
def test_people_see_this_and_nothing_else(name):
    result = run_scenario(load_scenario(FOLDER / name, names=OURS))
    assert tuple(event.body.text for event in result.trace.events if isinstance(event.body, WireAccepted)) == SEEN[name]


@pytest.mark.parametrize("name", CRASHES)
def test_it_holds_with_the_crash_that_showed_it(name):
    file = load_scenario(FOLDER / name, names=OURS)
    assert run_scenario(file, crash=CRASHES[name]).violations == ()


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_when_it_is_read(name):
    with pytest.raises(ScenarioError) as caught:
        load_scenario(FOLDER / name, names=OURS)
    assert REFUSED[name] in str(caught.value)

"""Whether a heartbeat runs: guards that are asked in order, before the agent is."""

import re
from collections.abc import Callable, Sequence

import msgspec

from trunkline.core.events.heartbeat import GuardResult
from trunkline.core.heartbeat.visibility import Visibility
from trunkline.core.heartbeat.wake import BUSY_RETRY, CoolDown, WakeKind, cool_down
from trunkline.core.reasons import Reason

# The instructions of a heartbeat, usually the file HEARTBEAT.md: whether they hold anything to do.

#: an ATX heading: ``#`` and a blank or the end; ``#TODO`` is text
_HEADING = re.compile(r"#+(\s|$)")
#: a list item without text, perhaps with a check box
_EMPTY_ITEM = re.compile(r"[-*+]\s*(\[[\sXx]?\]\s*)?")
_COMMENT = re.compile(r"<!--.*?(-->|\Z)", re.DOTALL)
_FRONT_MATTER = re.compile(r"\A\ufeff?\s*---[ \t]*\r?\n(?:.*?\n)??---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
#: a list of tasks without tasks
_NO_TASKS = "tasks:"


def is_effectively_empty(text: str | None) -> bool:
    """Whether instructions hold nothing to do. None, a missing file, does not count as empty.

    Blank lines, headings, empty list items, HTML comments, YAML front matter and a bare ``tasks:`` are nothing.
    """
    if text is None:
        return False
    rest = _COMMENT.sub("", _FRONT_MATTER.sub("", text, count=1))
    return all(_is_nothing(line.strip()) for line in rest.splitlines())


def _is_nothing(line: str) -> bool:
    return not line or line == _NO_TASKS or bool(_HEADING.match(line)) or bool(_EMPTY_ITEM.fullmatch(line))


class GuardFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that the guards look at. Times are seconds, all on one clock."""

    kind: WakeKind
    now: float
    #: whether the agent has a heartbeat at all
    enabled: bool = True
    #: seconds between two runs; 0: none
    every: float
    next_due: float | None = None
    #: when the agent's last runs began
    starts: Sequence[float] = ()
    #: whether it is within the active hours
    active: bool = True
    #: the session of the heartbeat has work
    session_busy: bool = False
    #: a turn of the schedule runs for the agent
    schedule_busy: bool = False
    #: another session of the agent has work
    agent_busy: bool = False
    skip_when_busy: bool = False
    #: the instructions; None: there is no file
    instructions: str | None = None
    #: number of system events that wait for the agent
    events: int = 0
    #: tasks of the instructions that are due; None: they list no tasks
    tasks_due: int | None = None
    visibility: Visibility = Visibility()
    #: why the answer could be delivered nowhere; None: it can
    undeliverable: Reason | None = None


class RunDecision(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a heartbeat runs now."""

    #: what the guards said, in order; the last one of a run that does not take place names its reason
    guards: tuple[GuardResult, ...]
    #: why it does not run; None: it runs
    reason: Reason | None = None
    #: when it is tried again; None: with the schedule
    retry_at: float | None = None

    @property
    def runs(self) -> bool:
        return self.reason is None

    @property
    def advances(self) -> bool:
        """Whether the schedule goes on to its next time: not for what is only tried later."""
        return self.retry_at is None


#: reasons that pass: the run is tried again after a second
BUSY = frozenset({Reason.REQUESTS_IN_FLIGHT, Reason.CRON_IN_PROGRESS, Reason.LANES_BUSY})


def _enabled(facts: GuardFacts) -> Reason | None:
    return None if facts.enabled and facts.every > 0 else Reason.DISABLED


def _wait(facts: GuardFacts) -> CoolDown | None:
    return cool_down(facts.kind, facts.now, next_due=facts.next_due, starts=facts.starts)


def _cool_down(facts: GuardFacts) -> Reason | None:
    wait = _wait(facts)
    return None if wait is None else wait.reason


def _instructions(facts: GuardFacts) -> Reason | None:
    # Something happened that the agent should know, whatever the instructions hold.
    if facts.kind.by_event or facts.events:
        return None
    return Reason.EMPTY_HEARTBEAT_FILE if is_effectively_empty(facts.instructions) else None


def _tasks(facts: GuardFacts) -> Reason | None:
    if facts.kind.by_event or facts.events:
        return None
    return Reason.NO_TASKS_DUE if facts.tasks_due == 0 else None


#: the guards in the order in which they are asked
GUARDS: tuple[tuple[str, Callable[[GuardFacts], Reason | None]], ...] = (
    ("enabled", _enabled),
    ("cool-down", _cool_down),
    ("active-hours", lambda facts: None if facts.active else Reason.QUIET_HOURS),
    ("session-idle", lambda facts: Reason.REQUESTS_IN_FLIGHT if facts.session_busy else None),
    ("schedule-idle", lambda facts: Reason.CRON_IN_PROGRESS if facts.schedule_busy else None),
    ("agent-idle", lambda facts: Reason.LANES_BUSY if facts.agent_busy and facts.skip_when_busy else None),
    # Before the instructions, which hold nothing else if none of their tasks is due.
    ("tasks", _tasks),
    ("instructions", _instructions),
    ("visibility", lambda facts: Reason.ALERTS_DISABLED if facts.visibility.nothing else None),
    # Other targets that are missing are reported after the run: the agent may act by itself.
    ("route", lambda facts: Reason.NO_ROUTE if facts.undeliverable is Reason.NO_ROUTE else None),
)


def decide_run(facts: GuardFacts) -> RunDecision:
    """Ask the guards in order; the first that says no decides."""
    asked: list[GuardResult] = []
    for name, guard in GUARDS:
        reason = guard(facts)
        asked.append(GuardResult(guard=name, reason=reason))
        if reason is not None:
            return RunDecision(guards=tuple(asked), reason=reason, retry_at=_retry_at(facts, reason))
    return RunDecision(guards=tuple(asked))


def _retry_at(facts: GuardFacts, reason: Reason) -> float | None:
    if reason in BUSY:
        return facts.now + BUSY_RETRY
    wait = _wait(facts) if reason in (Reason.NOT_DUE, Reason.MIN_SPACING, Reason.FLOOD) else None
    return None if wait is None else wait.until

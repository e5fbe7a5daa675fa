"""The catalog of faults: for each line of the palette a function that gives its moments, or why there are none here."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from trunkline.app.text.cells import cut, quoted, seconds
from trunkline.app.view.faults.upcoming import GRAIN, CursorContext, Upcoming, UpcomingEvent
from trunkline.sim.run.runner import LINGER
from trunkline.sim.scenario import ScenarioFile
from trunkline.sim.scenario.edit import step_text, with_step

# The fault palette: faults that can be placed at the cursor, as steps of the scenario, each with a preview.
#
# Nothing runs here: an option is a step of a script and a sentence. `sim.scenario.edit` adds the step to the scenario.
# The options are listed in `trunkline.app.view.faults.catalog`.

#: delay of a step after the events that it follows: the resolution of the clock
AFTER = GRAIN


class PlacedFault(msgspec.Struct, frozen=True, kw_only=True):
    word: str
    at: float
    #: none: it changes the bug switches of the gateway, not the script
    step: dict[str, Any] | None = None
    #: the bug switches that were on before it was placed
    before: tuple[str, ...] | None = None


class FaultTime(msgspec.Struct, frozen=True):
    """A time at which a fault can happen, and what exactly will happen."""

    #: ``now``, ``next``, ``after 2``
    label: str
    #: the preview
    sentence: str
    #: the preview without its subject
    brief: str
    at: float
    step: dict[str, Any] | None = None
    #: the bug switches from this time on; none: unchanged
    bugs: tuple[str, ...] | None = None

    @property
    def written(self) -> str:
        """The step as a scenario file has it."""
        return "" if self.step is None else step_text(self.step, self.at)


class FaultOption(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the palette. Without moments it cannot be placed here, and `why` says why."""

    id: str
    word: str
    moments: tuple[FaultTime, ...] = ()
    why: str = ""

    def moment(self, number: int) -> FaultTime | None:
        """The Nth moment from 0, or the last one; none if the fault cannot be placed here."""
        return self.moments[min(number, len(self.moments) - 1)] if self.moments else None

    def placed(self, number: int = 0) -> PlacedFault:
        moment = self.moment(number)
        assert moment is not None
        return PlacedFault(word=self.word, at=moment.at, step=moment.step)


def with_faults(file: ScenarioFile, faults: Sequence[PlacedFault]) -> ScenarioFile:
    """The scenario with all placed faults, in the order of placement. Raises `ScenarioError`."""
    for fault in faults:
        if fault.step is not None:
            file = with_step(file, fault.step, fault.at)
    return file


def fault_label(fault: PlacedFault) -> str:
    """A placed fault in a few words."""
    return fault.word if fault.step is None else f"{fault.word} at {seconds(fault.at)} s"


# The inputs of each line of the fault palette: the cursor with its context, and the moments to place a fault at.

#: durations of placed faults, seconds
DOWN = 1.0
WAIT = 5.0
FROZEN = 90.0
TOKEN_NOTICE = 2.0
SHORT = 0.1


class PaletteContext(msgspec.Struct, frozen=True, kw_only=True):
    """The context of the palette: the cursor, what comes after it, the scenario, and its bug switches."""

    cursor: CursorContext
    upcoming: Upcoming
    file: ScenarioFile
    #: the bug switches that are on
    active: tuple[str, ...] = ()
    #: the bug switches that the scenario declares
    declared: tuple[str, ...] = ()

    @property
    def at(self) -> float:
        """The time of a step placed now: after all events at the instant of the cursor."""
        return round(self.cursor.at + AFTER, 6) if self.cursor.seq else 0.0

    @property
    def armed(self) -> float:
        """The time from which a fault waits for its trigger, which may come in the same instant as the cursor."""
        return round(self.cursor.at - AFTER, 6) if self.cursor.early else self.at

    @property
    def until(self) -> float:
        """When a waiting fault expires: a while after the last step of the script."""
        return max(self.file.times[-1], self.at) + LINGER

    @property
    def destination(self) -> str:
        """The destination of the sends in question, as part of a sentence."""
        return f" to {self.cursor.place}" if self.cursor.place else ""


#: moments, or the reason why there are none
FaultTimes = tuple[FaultTime, ...] | str
Maker = Callable[[PaletteContext], FaultTimes]
NO_PROCESS = "not here: no gateway process runs at this moment"
STANDS_BY = "not here: operators reach the first process, but the second one holds the store"
NOWHERE = "not here: the cursor is in no conversation; put it on a message"


def fault_times(context: PaletteContext, what: str, step: dict[str, Any]) -> tuple[FaultTime, ...]:
    """Moments for a step: now, or right after one of the next messages."""
    found = [FaultTime("now", what, what, context.at, step)]
    for number, message in enumerate(context.upcoming.messages, 1):
        sentence = f"after {message.text} ({message.where}): {what}"
        found.append(FaultTime(f"after {number}", sentence, what, round(message.at + AFTER, 6), step))
    return tuple(found)


def named(process: str) -> str:
    """A process as the subject of a sentence."""
    return "the gateway" if process == "gateway" else f"the process {process}"


def which(process: str) -> dict[str, Any]:
    """The field of a step that names a process; the first process needs none."""
    return {} if process == "gateway" else {"process": process}


def ordered(fault: dict[str, Any]) -> dict[str, Any]:
    """The fields in the order of scenario files."""
    return {name: fault[name] for name in ("on", "do", "in", "nth", "for") if name in fault}


# Faults that wait for the next event of a kind, or a later one: a send, a message, a hand, a receipt.


def _at_next(
    context: PaletteContext,
    coming: Sequence[UpcomingEvent],
    words: Callable[[UpcomingEvent], tuple[str, str]],
    step: Callable[[UpcomingEvent, dict[str, Any]], dict[str, Any]],
) -> FaultTimes:
    """Moments at the next event of a kind, or a later one. `words`: sentence and preview. `step` is given its `nth`."""
    found: list[FaultTime] = []
    for number, event in enumerate(coming):
        at, nth = _waits(context, event)
        found.append(FaultTime(f"after {number}" if number else "next", *words(event), at, step(event, nth)))
    return tuple(found)


def _struck(
    context: PaletteContext, coming: Sequence[UpcomingEvent], fault: dict[str, Any], what: str, name: str
) -> FaultTimes:
    """A fault that strikes the next event of a kind, or a later one. `name` has a slot for its text."""
    return _at_next(
        context,
        coming,
        lambda event: (f"{name.replace('{}', event.text, 1)} ({event.where}): {what}", what),
        lambda _, nth: {"fault": ordered({**fault, **nth})},
    )


def sending(kind: str, what: str, *, lasts: float | None = None) -> Maker:
    """A fault that strikes a send into the conversation of the cursor; without one, any send."""

    def make(context: PaletteContext) -> FaultTimes:
        if not context.upcoming.sends:
            last = context.upcoming.sent
            where = f"; the last is {last.where}: place it before that" if last else ""
            return f"not here: nothing is sent{context.destination} after this{where}"
        fault: dict[str, Any] = {"on": "send", "do": kind}
        if context.cursor.place is not None:
            fault["in"] = context.cursor.place
        if lasts is not None:
            fault["for"] = lasts
        return _struck(context, context.upcoming.sends, fault, what, f"the send of {{}}{context.destination}")

    return make


def pushing(context: PaletteContext) -> FaultTimes:
    """Deliver a person's message late."""
    if context.cursor.place is None:
        return NOWHERE
    if not context.upcoming.said:
        return f"not here: no message is posted in {context.cursor.place} after this"
    fault = {"on": "push", "do": "slow", "in": context.cursor.place, "for": WAIT}
    what = f"reaches the gateway {WAIT:g} s late, and later messages overtake it"
    return _struck(context, context.upcoming.said, fault, what, "{}")


def hand(kind: str, what: Callable[[PaletteContext], str]) -> Maker:
    """A fault that strikes a hand that has not started yet."""

    def make(context: PaletteContext) -> FaultTimes:
        if not context.upcoming.tasks:
            last = context.upcoming.started
            where = f": the last one starts at {last.where}; place it before that" if last else ""
            return f"not here: no hand starts after this{where}"
        return _struck(
            context, context.upcoming.tasks, {"on": "hand", "do": kind}, what(context), "the hand that works on {}"
        )

    return make


def dying(event: str, coming: Callable[[Upcoming], Sequence[UpcomingEvent]], what: str) -> Maker:
    """A crash at the next event of a kind."""

    def make(context: PaletteContext) -> FaultTimes:
        found = coming(context.upcoming)
        if not found:
            return f"not here: no later send{context.destination} gets this far"
        trigger = {"event": event} if context.cursor.place is None else {"event": event, "in": context.cursor.place}

        def words(struck: UpcomingEvent) -> tuple[str, str]:
            brief = f"{named(struck.process)} {what}"
            where = f"{struck.text}{context.destination} ({struck.where})"
            return f"{where}: {brief}, and the next process starts {DOWN:g} s later", brief

        def step(struck: UpcomingEvent, nth: dict[str, Any]) -> dict[str, Any]:
            return {"crash": {**which(struck.process), "when": {**trigger, **nth}, "restart_after": DOWN}}

        return _at_next(context, found, words, step)

    return make


def _waits(context: PaletteContext, event: UpcomingEvent) -> tuple[float, dict[str, Any]]:
    """When a fault starts to wait, and how many events it lets pass: now, unless it would expire before."""
    if event.at > context.until:
        return round(event.at - AFTER, 6), {}
    return context.armed, {"nth": event.nth} if event.nth > 1 else {}


def store(context: PaletteContext) -> FaultTimes:
    """Fail the next commit; a trace does not record which one that is."""
    what = "the next write to the store fails with an I/O error and is rolled back"
    return (FaultTime("next", what, what, context.at, {"fault": {"on": "store", "do": "write-error"}}),)


def deadline(context: PaletteContext) -> str:
    """The deadline of hands, if it is the same for all."""
    hands = context.file.scenario.gateway.hands
    found = {hands.defaults.deadline, *(hand.deadline for hand in hands.each.values())}
    return f"{found.pop():g} s" if len(found) == 1 else "its deadline"


#: platforms on which the gateway posts through webhooks
_WEBHOOKS = ("discord",)
#: cells of a message in a preview
_SAID = 24


def options(context: PaletteContext) -> tuple[FaultOption, ...]:
    """All faults, always in the same order."""
    return tuple(_option(name, word, make(context)) for name, (word, make) in MAKERS.items())


def _option(name: str, word: str, made: FaultTimes) -> FaultOption:
    if isinstance(made, str):
        return FaultOption(id=name, word=word, why=made)
    bugs = made[0].bugs
    shown = word if bugs is None else "defect on" if bugs else "defect off"
    return FaultOption(id=name, word=shown, moments=made)


def _defect(context: PaletteContext) -> FaultTimes:
    if not context.active and not context.declared:
        return "not here: this scenario declares no defect"
    names = ", ".join(context.active or context.declared)
    sentence = f"the same run without {names}: the fix" if context.active else f"the same run with {names}"
    brief = f"the fix: without {names}" if context.active else f"with {names}"
    return (FaultTime("whole run", sentence, brief, 0.0, bugs=() if context.active else context.declared),)


def _process(action: str, what: str, settings: dict[str, Any]) -> Maker:
    def make(context: PaletteContext) -> FaultTimes:
        process = context.upcoming.process
        if process is None:
            return NO_PROCESS
        return fault_times(context, what.format(named(process)), {action: {**which(process), **settings}})

    return make


def _account(kind: str, what: str) -> Maker:
    def make(context: PaletteContext) -> FaultTimes:
        ref, fault = context.cursor.ref, {"on": kind, "do": "error", "for": WAIT}
        who = "every account"
        if ref is not None:
            who, fault = f"{ref.platform}:{ref.account}", {**fault, "in": context.cursor.place}
        return fault_times(context, f"{who} {what} for {WAIT:g} s", {"fault": ordered(fault)})

    return make


def _closing(action: str, what: str) -> Maker:
    def make(context: PaletteContext) -> FaultTimes:
        spot = context.cursor
        if spot.ref is None or spot.place is None:
            return NOWHERE
        if spot.ref.thread is None:
            return f"not here: {spot.place} is not a thread"
        return fault_times(context, f"{spot.place} is {what}", {"in": spot.place, action: True})

    return make


def _token(context: PaletteContext) -> FaultTimes:
    ref = context.cursor.ref
    if ref is None:
        return NOWHERE
    delay = f"{TOKEN_NOTICE:g} s"
    what = f"{ref.platform}:{ref.account} has a new token; the gateway gets it {delay} later and is refused until then"
    return fault_times(
        context, what, {"rotate": {"platform": ref.platform, "account": ref.account, "tell": TOKEN_NOTICE}}
    )


def _webhook(context: PaletteContext) -> FaultTimes:
    spot = context.cursor
    if spot.ref is None or spot.place is None:
        return NOWHERE
    if spot.ref.platform not in _WEBHOOKS:
        return f"not here: there are no webhooks on {spot.ref.platform}"
    if spot.ref.person is not None:
        return "not here: a direct conversation has no webhook"
    state = "deleted" if spot.webhook else "forbidden"
    what = f"the webhook in {spot.place} is {state}" if spot.webhook else f"webhooks are {state} in {spot.place}"
    return fault_times(context, what, {"webhook": {"in": spot.place, "state": state}})


def _again(context: PaletteContext) -> FaultTimes:
    spot = context.cursor
    if spot.said is None:
        return "not here: the cursor is not on a message of a person"
    what = f"the platform delivers {quoted(cut(spot.text, _SAID))} to the gateway again"
    return fault_times(context, what, {"replay": {"messages": [spot.said]}})


def _by_operator(make: Maker) -> Maker:
    """A fault that an operator causes, who reaches only the first gateway process."""

    def checked(context: PaletteContext) -> FaultTimes:
        found = make(context)
        if context.upcoming.process == "gateway" or isinstance(found, str):
            return found
        return NO_PROCESS if context.upcoming.process is None else STANDS_BY

    return checked


def _unbind(context: PaletteContext) -> FaultTimes:
    if context.cursor.place is None:
        return NOWHERE
    if context.upcoming.bound_session is None:
        return f"not here: {context.cursor.place} is not bound"
    what = f"an operator ends the binding of {context.cursor.place}; it takes its default route again"
    return fault_times(context, what, {"unbind": {"in": context.cursor.place}})


def _expire(context: PaletteContext) -> FaultTimes:
    bound = context.upcoming.bound_session
    if context.cursor.place is None:
        return NOWHERE
    if bound is None:
        return f"not here: {context.cursor.place} is not bound"
    what = f"the binding of {context.cursor.place} is renewed for only {SHORT:g} s, and expires"
    return fault_times(context, what, {"bind": {"in": context.cursor.place, "session": bound, "max_age": SHORT}})


def _rebind(context: PaletteContext) -> FaultTimes:
    spot, other = context.cursor, context.upcoming.other_session
    if spot.place is None:
        return NOWHERE
    if other is None:
        return "not here: no other conversation has a session yet"
    before = f", no longer to {context.upcoming.bound_session}" if context.upcoming.bound_session else ""
    what = f"an operator binds {spot.place} to {other}{before}"
    return fault_times(context, what, {"bind": {"in": spot.place, "session": other}})


def _session(context: PaletteContext) -> FaultTimes:
    if context.cursor.place is None:
        return NOWHERE
    agent = context.upcoming.agent
    if agent is None:
        return f"not here: {context.cursor.place} has no session of its own yet"
    own = {} if agent == context.file.scenario.gateway.default_agent else {"agent": agent}
    hands = ", ".join(context.upcoming.working)
    what = f"the session of {context.cursor.place} ends and a new one begins"
    now, *later = fault_times(context, what, {"in": context.cursor.place, "reset": own})
    # Which hands run at a later moment is not looked up.
    sentence = f"{what}; {hands} is still running, so its result comes after the end" if hands else what
    return (msgspec.structs.replace(now, sentence=sentence), *later)


def _cancel(context: PaletteContext) -> FaultTimes:
    working = context.upcoming.working
    if not working:
        return "not here: no hand works on a task at this moment"
    hand = working[0]
    what = f"an operator cancels the task that {hand} works on"
    # Whether it still works at a later moment is not looked up.
    return fault_times(context, what, {"hands": {"do": "cancel", "hand": hand}})[:1]


def _twice(context: PaletteContext) -> FaultTimes:
    """Another answer for the task of a worker; other hands return theirs, so only once."""
    workers = {name for name, hand in context.file.scenario.gateway.hands.each.items() if hand.worker}
    hand = next((name for name in context.upcoming.working if name in workers), None)
    if hand is None:
        return "not here: no worker has a task at this moment, and other hands can only return one answer"
    what = f"the task of {hand} gets another answer than that of its worker; only the first one counts"
    return fault_times(context, what, {"hands": {"do": "answer", "hand": hand, "result": "another answer"}})[:1]


#: the lines of the palette in order: id, name, and the function that gives their moments
MAKERS: dict[str, tuple[str, Maker]] = {
    "defect": ("defect", _defect),
    "lose-response": ("drop ack", sending("lose-response", "accepted, but the response is lost")),
    "drop": ("drop send", sending("drop", "never arrives and gets no response")),
    "again": ("deliver twice", _again),
    "slow": ("delay send", sending("slow", f"takes {WAIT:g} s longer", lasts=WAIT)),
    "reorder": ("reorder", pushing),
    "rate-limit": ("429 rate limit", sending("rate-limit", f"told to wait {WAIT:g} s", lasts=WAIT)),
    "refuse": ("refuse send", sending("refuse", "permanently refused")),
    "not-ready": ("adapter not ready", _account("ready", "reports that it is not ready")),
    "connection": ("connection breaks", _account("connect", "loses its connection and cannot reconnect")),
    "crash": (
        "crash",
        _process("crash", f"{{}} is killed, and the next process starts {DOWN:g} s later", {"restart_after": DOWN}),
    ),
    "crash-before": (
        "crash before ack",
        dying("wire.accepted", lambda ahead: ahead.accepts, "dies before it learns that the message was accepted"),
    ),
    "crash-after": (
        "crash after ack",
        dying("chunk.acked", lambda ahead: ahead.receipts, "dies as soon as its receipt is stored"),
    ),
    "restart": ("restart", _process("restart", f"{{}} stops gracefully, and is back {DOWN:g} s later", {"down": DOWN})),
    "archive": ("archive thread", _closing("archive", "archived until a person posts in it")),
    "delete": ("delete thread", _closing("delete", "deleted for good")),
    "expire": ("expire binding", _by_operator(_expire)),
    "unbind": ("end binding", _by_operator(_unbind)),
    "rebind": ("rebind", _by_operator(_rebind)),
    "token": ("rotate token", _token),
    "webhook": ("webhook gone", _webhook),
    "hand-timeout": (
        "hand timeout",
        hand("drop", lambda context: f"never answers: timed out after {deadline(context)}"),
    ),
    "hand-error": ("hand fails", hand("error", lambda _: "fails when its work is done")),
    "hand-cancel": ("hand cancelled", _by_operator(_cancel)),
    "hand-twice": ("hand answers twice", _by_operator(_twice)),
    "session": ("session ends", _by_operator(_session)),
    "clock": (
        "clock jump",
        _process(
            "freeze", f"{{}} freezes and resumes {FROZEN:g} s later without noticing: its clock jumps", {"for": FROZEN}
        ),
    ),
    "store": ("store write error", store),
}

"""Saves a run as a scenario file that expects what was observed, so that a finding becomes a test."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from trunkline.app.runs.model import Run
from trunkline.app.view.faults.upcoming import place_names
from trunkline.app.view.index.places import PlaceKey
from trunkline.core.config.files.problems import dotted
from trunkline.core.events import Event
from trunkline.sim.events import wire, world
from trunkline.sim.events.script import ScriptMissed, ScriptSkipped
from trunkline.sim.invariants import Status
from trunkline.sim.run.expectations import transcripts_of
from trunkline.sim.run.reached import parts_of
from trunkline.sim.scenario import ScenarioError, ScenarioFile, load_text
from trunkline.sim.scenario.edit import text_of, tree_of
from trunkline.sim.scenario.place_refs import is_session_key
from trunkline.sim.scenario.text_pattern import exact_pattern

_REMARK = "Saved by Trunkline from an observed run. Run it: trunkline run THIS-FILE"
#: kinds of events that record an outcome
_OUTCOMES = frozenset(
    {
        *("intent.settled", "intent.suppressed", "inbound.dropped", "send.refused", "send.joined", "client.told"),
        *("delegation.finished", "delegation.ignored", "binding.bound", "binding.refused", "binding.ended"),
        *("fallback", "fallback.denied", "mirror.refused", "session.reset", "thread.opened", "thread.closed"),
        *("fault.fired", "process.crashed", "process.stopped", "process.frozen", "wire.deduplicated", "wire.refused"),
    }
)
#: fields of such an event that are expected
_FACTS = ("state", "reason", "status")


def saved_text(
    file: ScenarioFile,
    sound: Run,
    *,
    defective: Mapping[str, Run] | None = None,
    faults: Iterable[str] = (),
    remark: str = _REMARK,
) -> str:
    """The text of a scenario file that expects the outcomes of `sound`. Raises `ScenarioError` if it cannot be written.

    `defective`: the same run with each of some bug switches on, whose violations become `breaks`; a plain run of the
    file has them off. `faults`: labels of the placed faults, for the title.
    """
    tree = dict(tree_of(file.scenario))
    placed = list(faults)
    if placed:
        tree["title"] = f"{file.scenario.title} [{', '.join(placed)}]"
    tree["seed"] = sound.trace.header.seed
    for name in ("bugs", "breaks"):
        tree.pop(name, None)
    if bugs := [bug for bug in defective or () if bug not in file.scenario.with_bugs]:
        tree["bugs"] = bugs
    runs = (defective or {"": sound}).values()
    if broken := dict.fromkeys(name for run in runs for name in run.violated):
        tree["breaks"] = list(broken)
    _spare_missed(file, tree, sound.trace.events)
    tree["script"] = _happened(file, tree["script"], sound.trace.events)
    tree["expect"] = expectation(file, sound)
    text = text_of(_ordered(tree), remark=remark)
    try:
        load_text(text, names=file.names)
    except ScenarioError as error:
        if not any(problem.field.startswith("expect.accepted") for problem in error.problems):
            raise
        # A message is in a place that was created during the run and that no file can name: keep the other facts.
        del tree["expect"]["accepted"]
        text = text_of(_ordered(tree), remark=remark)
        load_text(text, names=file.names)
    return text


def _spare_missed(file: ScenarioFile, tree: dict[str, Any], events: Sequence[Event]) -> None:
    """Let the saved scenario miss the parts that its observed run has not reached."""
    missed = {event.body.part for event in events if isinstance(event.body, ScriptMissed)}
    for path in (path for path, _, _ in parts_of(file.scenario) if dotted(path) in missed):
        part: Any = tree
        for name in path[:2] if path[0] == "script" else path:
            part = part[name]
        part["may_miss"] = True


def _happened(file: ScenarioFile, script: list[dict[str, Any]], events: Sequence[Event]) -> list[dict[str, Any]]:
    """The script without the steps that were skipped, such as a message in a deleted thread."""
    skipped = Counter((event.body.step, event.at) for event in events if isinstance(event.body, ScriptSkipped))
    if not skipped:
        return script
    kept: list[dict[str, Any]] = []
    names = iter(file.say_ids)
    for step, at, written in zip(file.scenario.script, file.times, script, strict=True):
        name = next(names) if step.say is not None else ""
        which = (name or ", ".join(sorted(step.model_fields_set - {"at", "after", "place"})), at)
        if skipped[which]:
            skipped[which] -= 1
            continue
        # Times and ids that were derived from skipped steps are written out.
        rest = {field: value for field, value in written.items() if field not in ("at", "after", "id")}
        kept.append({"at": at, **({"id": name} if name else {}), **rest})
    return kept


def expectation(file: ScenarioFile, run: Run) -> dict[str, Any]:
    """The `expect` section for a run: messages by place, outcomes, transcripts and exercised invariants."""
    events = run.trace.events
    found: dict[str, Any] = {}
    accepted = _accepted(file, events)
    if accepted is not None:
        found["accepted"] = accepted
    if outcomes := _outcomes(events):
        found["events"] = outcomes
    lines = transcripts_of(file, events)
    pattern = _pattern_of(file)
    if held := [
        {"session": key, "lines": [pattern(line) for line in lines[key]]}
        for key in lines
        if lines[key] and is_session_key(key)
    ]:
        found["transcripts"] = held
    tested = {verdict.id for verdict in run.verdicts if verdict.status is not Status.NOT_EXERCISED}
    if wanted := [name for name in file.scenario.expect.exercised if name in tested]:
        found["exercised"] = wanted
    return found


def _outcomes(events: Sequence[Event]) -> list[dict[str, Any]]:
    """The recorded outcomes with their exact counts."""
    found: Counter[tuple[tuple[str, str], ...]] = Counter()
    for event in events:
        if event.kind in _OUTCOMES:
            facts = ((name, str(value)) for name in _FACTS if (value := getattr(event.body, name, None)) is not None)
            found[(("kind", event.kind), *facts)] += 1
    # Events with a reason also match an expectation without one.
    return [
        {**dict(facts), "times": sum(times for other, times in found.items() if set(facts) <= set(other))}
        for facts in found
    ]


def _accepted(file: ScenarioFile, events: Sequence[Event]) -> list[dict[str, Any]] | None:
    """Every visible message, by place; none if one of them is in a place that no file can name."""
    names = _names(file, events)
    seen: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
    for event in events:
        body = event.body
        if isinstance(body, wire.WireAccepted):
            place = names.get(body.address.lane)
            if place is None:
                return None
            seen[place, body.text, body.media] += 1
    pattern = _pattern_of(file)
    # `*` is a wildcard in files that are not strict: compare such texts last, after all exact ones.
    every = sorted(seen.items(), key=lambda item: "*" in item[0][1])
    return [_message(place, pattern(text), media, times) for (place, text, media), times in every]


def _pattern_of(file: ScenarioFile) -> Callable[[str], str]:
    """Writes a text as what a file expects."""
    return exact_pattern if file.strict else str


def _message(place: str, text: str, media: tuple[str, ...], times: int) -> dict[str, Any]:
    found: dict[str, Any] = {"in": place, "text": text}
    if media:
        found["media"] = list(media)
    return {**found, "times": times} if times > 1 else found


def _names(file: ScenarioFile, events: Sequence[Event]) -> dict[PlaceKey, str]:
    # The loader accepts a thread of delegated work by its full name.
    places = (event.body for event in events if isinstance(event.body, world.WorldPlace))
    full = {body.address.lane: f"{body.address.channel}/{body.name}" for body in places}
    return full | {lane: name for lane, (name, _) in place_names(events, file).items()}


def _ordered(tree: Mapping[str, Any]) -> dict[str, Any]:
    """The fields in the usual order of scenario files."""
    first = ("scenario", "title", "source", "tags", "bugs", "breaks", "with_bugs", "story", "seed")
    last = ("gateway", "world", "stored", "cast", "script", "expect")
    return {name: tree[name] for name in (*first, *last) if name in tree}

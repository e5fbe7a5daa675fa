"""Expectations of a scenario, compared with what people saw of a gateway that is not ours."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import msgspec

from trunkline.core.events import Event
from trunkline.core.values import Address
from trunkline.sim.events import attach, processes, script, wire, world
from trunkline.sim.index.bot_messages import asks_no_model, has_own_words
from trunkline.sim.index.known_texts import KnownTexts
from trunkline.sim.index.marks import answers_in, nudged_mark, questions_in, without_marks
from trunkline.sim.invariants import Verdict
from trunkline.sim.run.expectations import UnmetExpectation, check_expectations
from trunkline.sim.scenario import ScenarioFile


def check_attached(
    file: ScenarioFile, events: Sequence[Event], verdicts: Iterable[Verdict]
) -> tuple[UnmetExpectation, ...]:
    """Compare a run with what its scenario expects; every difference is one `UnmetExpectation`.

    What the scenario expects to be read are words of its model: a gateway that asks none has words of its own.
    Messages count as people read them at the end, without marks; notices and remarks of the gateway do not count.
    What of the script has not happened is no unmet expectation of the gateway; see `not_struck`.
    """
    if has_own_words(events):
        expect = file.scenario.expect.model_copy(update={"accepted": None, "exercised": ()})
        file = replace(file, scenario=file.scenario.model_copy(update={"expect": expect}))
    return check_expectations(file, tuple(_seen_by_people(events)), verdicts)


def why_unjudged(events: Sequence[Event]) -> str:
    """Why a try shows nothing: the gateway neither asks the model nor shows a mark."""
    asked = [event.body for event in events if isinstance(event.body, world.PeerSaid) and questions_in(event.body.text)]
    if not asked or not asks_no_model(events):
        return ""
    said = [event.body.text for event in events if isinstance(event.body, wire.WireAccepted | wire.WireEdited)]
    if any(questions_in(text) for text in said):
        return ""
    strikes = (script.FaultFired, processes.ProcessCrashed, processes.ProcessStopped, attach.GatewayExited)
    if not said and any(isinstance(event.body, strikes) for event in events):
        # What struck it may be why it never came to ask.
        return ""
    return (
        "never asked the model at OPENAI_BASE_URL, and no text of it has the mark of a question (QZ...): nothing can "
        "be judged. Let it ask that model, or answer with the text of the question"
    )


def not_struck(events: Iterable[Event]) -> tuple[str, ...]:
    """The steps of the script that have not happened, and why: such a run does not show what the scenario intends."""
    return tuple(f"{e.body.step}: {e.body.why}" for e in events if isinstance(e.body, script.ScriptSkipped))


def _seen_by_people(events: Sequence[Event]) -> Iterable[Event]:
    """The events, with each accepted message as it stands at the end, and without what expects nothing."""
    final: dict[tuple[str, str, str], str | None] = {}
    for event in events:
        body = event.body
        if isinstance(body, wire.WireEdited):
            final[_message(body.address, body.message_id)] = body.text
        elif isinstance(body, wire.WireDeleted):
            final[_message(body.address, body.message_id)] = None
    passed = _passed_over(events)
    asked, again = set[str](), False
    for event in events:
        body = event.body
        if isinstance(body, world.PeerSaid):
            marks = questions_in(body.text)
            again = again or any(nudged_mark(mark) in asked for mark in marks)
            asked |= set(marks)
        if isinstance(body, script.ScriptSkipped):
            continue
        if not isinstance(body, wire.WireAccepted):
            yield event
            continue
        text = final.get(_message(body.address, body.provider_id), body.text)
        if again and text is not None and all(nudged_mark(mark.question) in asked for mark in answers_in(text)):
            # An asker wrote once more, which no scenario expects.
            continue
        if text is not None and not passed.have(text):
            yield msgspec.structs.replace(event, body=msgspec.structs.replace(body, text=without_marks(text)))


def _message(place: Address, message_id: str) -> tuple[str, str, str]:
    # An edit on Telegram names no topic.
    return place.channel, place.conversation, message_id


def _passed_over(events: Sequence[Event]) -> KnownTexts:
    attached = next((event.body for event in events if isinstance(event.body, attach.GatewayAttached)), None)
    return KnownTexts(() if attached is None else (*attached.notices, *attached.remarks))

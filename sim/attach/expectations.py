"""Expectations of a scenario, compared with what people saw of a gateway that is not ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from trunkline.core.events import Event
from trunkline.core.values import Address
from trunkline.sim.events.attach import GatewayAttached
from trunkline.sim.events.script import ScriptSkipped
from trunkline.sim.events.wire import WireAccepted, WireDeleted, WireEdited
from trunkline.sim.index.known_texts import KnownTexts
from trunkline.sim.index.marks import without_marks
from trunkline.sim.invariants import Verdict
from trunkline.sim.run.expectations import UnmetExpectation, check_expectations
from trunkline.sim.scenario import ScenarioFile


def check_attached(
    file: ScenarioFile, events: Sequence[Event], verdicts: Iterable[Verdict]
) -> tuple[UnmetExpectation, ...]:
    """Compare a run with what its scenario expects; every difference is one `UnmetExpectation`.

    Messages count as people read them at the end, without marks; notices and remarks of the gateway do not count.
    What of the script has not happened is no unmet expectation of the gateway; see `not_struck`.
    """
    return check_expectations(file, tuple(_seen_by_people(events)), verdicts)


def not_struck(events: Iterable[Event]) -> tuple[str, ...]:
    """The steps of the script that have not happened, and why: such a run does not show what the scenario intends."""
    return tuple(f"{e.body.step}: {e.body.why}" for e in events if isinstance(e.body, ScriptSkipped))


def _seen_by_people(events: Sequence[Event]) -> Iterable[Event]:
    """The events, with each accepted message as it stands at the end, and without what expects nothing."""
    final: dict[tuple[str, str, str], str | None] = {}
    for event in events:
        body = event.body
        if isinstance(body, WireEdited):
            final[_message(body.address, body.message_id)] = body.text
        elif isinstance(body, WireDeleted):
            final[_message(body.address, body.message_id)] = None
    passed = _passed_over(events)
    for event in events:
        body = event.body
        if isinstance(body, ScriptSkipped):
            continue
        if not isinstance(body, WireAccepted):
            yield event
            continue
        text = final.get(_message(body.address, body.provider_id), body.text)
        if text is not None and not passed.have(text):
            yield msgspec.structs.replace(event, body=msgspec.structs.replace(body, text=without_marks(text)))


def _message(place: Address, message_id: str) -> tuple[str, str, str]:
    # An edit on Telegram names no topic.
    return place.channel, place.conversation, message_id


def _passed_over(events: Sequence[Event]) -> KnownTexts:
    attached = next((event.body for event in events if isinstance(event.body, GatewayAttached)), None)
    return KnownTexts(() if attached is None else (*attached.notices, *attached.remarks))

"""The events of an account: refused webhooks do not fill the log, and texts from outside can be stored."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from trunkline.core.adapters.account_events import MOST, PERIOD, AccountEvents
from trunkline.core.adapters.port import AdapterHost
from trunkline.core.env import Env, system_env
from trunkline.core.events import EventLog
from trunkline.core.events.adapters import UpdateDropped, WebhookRefused
from trunkline.core.reasons import Reason


@dataclass
class Hand:
    """The time of a test."""

    at: float = 5.0


def account_events(clock: Hand, log: EventLog) -> AccountEvents:
    env = Env(now=time.time, ids=system_env().ids, seed="", steady=lambda: clock.at)
    host = AdapterHost(
        account="default", env=env, cursors=cast("Any", None), events=log.recorder("gateway"), folder=Path(), environ={}
    )
    return AccountEvents(host, "slack")


def test_ten_in_a_minute_are_events_and_the_next_one_counts_the_others() -> None:
    clock, log = Hand(), EventLog(time.time)
    events = account_events(clock, log)

    def refuse(times: int) -> list[int]:
        """The counts of the events that so many refusals make."""
        before = len(log.events)
        for _ in range(times):
            events.record_refusal(Reason.BAD_SIGNATURE, "no signature")
        return [event.body.before for event in log.events[before:] if isinstance(event.body, WebhookRefused)]

    assert refuse(1000) == [0] * MOST
    clock.at += PERIOD - 1
    assert refuse(5) == []
    clock.at += 1
    assert refuse(3) == [1000 + 5 - MOST, 0, 0]


def test_a_text_from_outside_is_cut_and_can_be_stored() -> None:
    log = EventLog(time.time)
    account_events(Hand(), log).record_drop("C1/half \ud83d", "x" * 1000)
    [body] = [event.body for event in log.events]
    assert body == UpdateDropped(
        channel="slack", account="default", reason=Reason.BAD_UPDATE, update="C1/half ?", detail="x" * 300
    )

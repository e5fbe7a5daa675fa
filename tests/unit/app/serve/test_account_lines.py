"""What operators see of the accounts of platforms: lines of the log, labels and rows of the app."""

import logging
from typing import Any

import pytest

from trunkline.app.runs.model import Run
from trunkline.app.serve.server import EventLogLines
from trunkline.app.text.cells import clean
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import KINDS, describe
from trunkline.core.events import Body, EventLog, Trace, TraceHeader
from trunkline.core.events.adapters import AdapterConnected, DeliveryFailed, UpdateDropped, WebhookRefused
from trunkline.core.events.gateway import AdapterFailed
from trunkline.core.reasons import Reason

NAME: dict[str, Any] = {"channel": "telegram", "account": "second"}
#: what a stranger may have put into it
STRANGE = "line\nbreak \x1b[31m"

CASES: dict[str, tuple[Body, int, str, str]] = {
    "connected": (
        AdapterConnected(**NAME, by="polling"),
        logging.INFO,
        "telegram:second is connected",
        "telegram second is connected",
    ),
    "failed": (
        AdapterFailed(**NAME, reason=Reason.UNAUTHORIZED, detail=STRANGE, retry_in=2.0),
        logging.WARNING,
        "the connection of telegram:second failed, opened again in 2 s",
        "connection of telegram second failed: line ↵ break",
    ),
    "dropped": (
        UpdateDropped(**NAME, reason=Reason.BAD_UPDATE, detail=STRANGE),
        logging.WARNING,
        "an update of telegram:second was dropped: bad-update",
        "an update of telegram second was dropped: bad-update",
    ),
    "refused": (
        WebhookRefused(**NAME, reason=Reason.BAD_SIGNATURE, detail=STRANGE),
        logging.WARNING,
        "a webhook of telegram:second was refused: bad-signature",
        "a webhook of telegram second was refused: bad-signature",
    ),
    "refused often": (
        WebhookRefused(**NAME, reason=Reason.BAD_SIGNATURE, before=12),
        logging.WARNING,
        "a webhook of telegram:second was refused: bad-signature, and 12 requests before it",
        "a webhook of telegram second was refused: bad-signature",
    ),
    "not delivered": (
        DeliveryFailed(**NAME, reason=Reason.REFUSED, message_id="7", detail=STRANGE),
        logging.WARNING,
        "telegram:second takes an accepted message back: refused",
        "telegram second takes an accepted message back: refused (line ↵ break",
    ),
}


@pytest.mark.parametrize(("body", "level", "line", "label"), CASES.values(), ids=CASES)
def test_an_operator_sees_it(body: Body, level: int, line: str, label: str, caplog: pytest.LogCaptureFixture) -> None:
    log = EventLog(lambda: 1.0)
    EventLogLines(log, logging.INFO)
    with caplog.at_level(logging.INFO, "trunkline"):
        log.recorder("gateway").record(body)
    [record] = caplog.records
    assert (record.levelno, record.getMessage()) == (level, line)

    [event] = log.events
    view = RunView(Run(trace=Trace(header=TraceHeader(scenario="none"), events=(event,)), verdicts=()))
    assert clean(describe(view, event)).startswith(label)
    assert KINDS[type(body)].row is not None, "it has a row in the timeline"

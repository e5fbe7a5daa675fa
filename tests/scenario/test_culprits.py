"""The culprit of every shipped defect: the first step that the sound run lacks or has otherwise, found and walkable."""

import asyncio

import pytest
from tests.support.scenario.own_defects import OWN_BUGS, defect_run, sound_run, unchanged
from trunkline.app.report.summary import report_lines
from trunkline.app.view.explain.explanation import explain, path_of
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.rows.lanes import TimelineLanes
from trunkline.app.view.timeline.timeline import CAUSE, Timeline
from trunkline.sim.index.pairs import differs, pair_events
from trunkline.sim.run.culprits import Divergence, find_culprits
from trunkline.sim.run.result import with_culprits

NAMES = [f"{path.stem}-{bug}" for path, bug in OWN_BUGS]
_NOTHING_ELSE = "a step is missing, and the twin has no step in its place that any right one caused"
_NOT_RECORDED = "the defect is in the store or in an adapter, and no step before the end of the run is another one"
#: defects whose runs have no culprit: what the rule of the invariant says is all that there is
WITHOUT = {
    "album-is-one-question-album-keeps-first": _NOTHING_ELSE,
    "duplicate-push-silent-drops": _NOTHING_ELSE,
    "ends-are-recorded-reason-stored-is-another": _NOT_RECORDED,
    "every-wake-up-counts-second-wake-up-is-a-repeat": _NOTHING_ELSE,
    "heartbeat-keeps-its-times-every-other-heartbeat": _NOTHING_ELSE,
    "notice-that-nobody-read-notice-not-repeated": _NOTHING_ELSE,
    "queue-needs-no-restart-queue-runs-at-start-only": _NOT_RECORDED,
    "server-notification-lost-notified-or-never": _NOT_RECORDED,
    "short-answers-short-answers-are-silent": _NOTHING_ELSE,
    "004-late-result-late-result-too": _NOT_RECORDED,
    "004-parked-until-ready-parked-report-is-forgotten": _NOT_RECORDED,
    "004-posts-over-a-crash-posts-removed-when-read": _NOTHING_ELSE,
    "B041-conflict-while-a-turn-ends-conflict-drops-message": _NOTHING_ELSE,
    "B060-mirror-refused-refused-mirror-is-logged": _NOT_RECORDED,
    "B103-backoff-stops-recovery-long-backoff-stops-recovery": _NOT_RECORDED,
    "B106-turn-is-claimed-for-ever-interrupted-turns-stay-claimed": _NOT_RECORDED,
}

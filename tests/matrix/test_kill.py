"""A gateway on a real homeserver is killed while people write: nothing is lost, nothing comes twice."""

import sys
from pathlib import Path

import pytest

from tests.support.scale import scaled
from tests.support.synapse.homeserver import Synapse, needs_synapse
from tests.support.synapse.storm import MatrixStorm, WirePoint

pytestmark = [needs_synapse(), pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")]


def test_a_killed_gateway_answers_everything_once(synapse: Synapse, tmp_path: Path) -> None:
    storm = MatrixStorm(synapse, tmp_path, seed=1)
    verdict = storm.run(scaled(12, 4))
    assert verdict.told > 20, str(verdict)
    assert (verdict.lost, verdict.doubled, verdict.misplaced) == ((), (), ()), str(verdict)
    # It was killed at events of the wire too, not only between them.
    assert set(verdict.kills) - {WirePoint.RANDOM.value}, str(verdict)

    village = storm.village
    again, astray, missing = village.told[0], village.told[1], village.tell(storm.dice)
    village.bot.send(again.room, again.text, thread=again.thread)
    village.bot.send(next(room for room in village.direct if room != astray.room), astray.text)
    wrong = storm.verdict()
    assert set(wrong.doubled) == {again.text, astray.text}
    assert (wrong.misplaced, wrong.lost) == ((astray.text,), (missing.text,))

"""What has ended is removed soon after its time, also where that is short."""

from itertools import pairwise

from tests.support.for_each import for_each
from trunkline.core.events.leases import StorePruned
from trunkline.sim import load_scenario, run_scenario

FILE = """
scenario: 1
title: an hour of messages
gateway: {{delivery: {{retention: {retention}}}}}
world: {{people: [ana], telegram: {{}}}}
cast: {{agents: {{main: [{{do: [{{reply: "re {{text}}"}}]}}]}}}}
script:
{said}
"""
SAID = "\n".join(f'  - {{at: {minute}m, as: ana, in: "@ana", say: "message {minute}"}}' for minute in range(1, 120, 4))


@for_each(
    ("retention", "between"),
    # At least ten minutes and at most an hour, and else as long as rows are to be kept.
    [("60s", 600), ("10m", 600), ("30m", 1800), ("59m", 3540)],
)
def test_old_rows_are_removed_as_often_as_they_are_to_be_kept(tmp_path, retention: str, between: int) -> None:
    path = tmp_path / f"{retention}.yaml"
    path.write_text(FILE.format(retention=retention, said=SAID))
    run = run_scenario(load_scenario(path))
    at = [event.at for event in run.trace.events if isinstance(event.body, StorePruned) and event.body.inbounds]
    assert len(at) >= 7200 // between - 2
    assert all(between <= after - before < between + 60 for before, after in pairwise(at)), at

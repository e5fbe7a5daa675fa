"""EXPLORE: how many crash points a CPU second holds: a scenario of 20 messages on four platforms, with faults."""

import gc
import json
import statistics
from collections import deque

from tests.support.bench.bar import Bar
from trunkline.app.runs.exploration_pool import cpu_seconds, explore
from trunkline.app.runs.model import RunJob
from trunkline.sim import ScenarioFile
from trunkline.sim.explore import Sampling
from trunkline.sim.scenario import load_text

ROUNDS = 3
#: try every Nth step besides all commits; steps in between are often the same run
EVERY_STEP = 1
_PLACES = ("discord/ops", "telegram/crew", "slack/desk", "matrix/den")


def scenario() -> ScenarioFile:
    """Twenty messages to an echoing agent, on a platform of each kind, three of which meet a fault."""
    faults = [
        {"on": "send", "do": "lose-response", "text": "re: b2"},
        {"on": "send", "do": "rate-limit", "for": "2s", "text": "re: b8"},
        {"on": "send", "do": "slow", "for": "2s", "text": "re: b15"},
    ]
    steps: list[dict] = [{"at": 0, "fault": fault} for fault in faults]
    for number in range(20):
        place = _PLACES[number % len(_PLACES)]
        steps.append({"at": 0.5 + number * 0.4, "as": "ana", "in": place, "say": f"b{number}", "id": f"m{number}"})
    made = {
        "scenario": 1,
        "title": "twenty messages",
        "world": {
            "people": ["ana"],
            "discord": {"rooms": ["ops"]},
            "telegram": {"rooms": ["crew"]},
            "slack": {"rooms": ["desk"], "idempotency": "lookup"},
            "matrix": {"rooms": ["den"]},
        },
        "cast": {"agents": {"main": [{"do": [{"think": "200ms"}, {"reply": "re: {text}"}]}]}},
        "script": steps,
    }
    return load_text(json.dumps(made), "twenty-messages.yaml")


def rate(file: ScenarioFile) -> tuple[float, float, int]:
    """Points and runs per CPU second as `trunkline explore --jobs 1` makes them, and the number of points.

    Points at which a kill leads to the same run have one run.
    """
    gc.collect()
    before = cpu_seconds()
    job = RunJob(file=file, seed=1, bugs=())
    found = deque(explore([job], Sampling(every_step=EVERY_STEP, stops=20, second=20), 1), maxlen=1)[0]
    spent = cpu_seconds() - before
    broken = [one.summary for one in found.breaches.values()]
    assert not broken, broken
    return found.runs / spent, (found.runs - found.same) / spent, found.runs


def bars() -> list[Bar]:
    """Measure it."""
    file = scenario()
    rates = [rate(file) for _ in range(ROUNDS)]
    return [
        Bar(
            id="EXPLORE",
            title="EXPLORE points per CPU second",
            measured=statistics.median(points for points, _, _ in rates),
            demand=60,
            better="higher",
            unit="points / CPU s",
            note=(
                f"20 messages, {rates[0][2]} points, every invariant judged;"
                f" {statistics.median(runs for _, runs, _ in rates):.1f} runs per CPU second"
            ),
        )
    ]


if __name__ == "__main__":
    gc.freeze()
    for bar in bars():
        print(bar)

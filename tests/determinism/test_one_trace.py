"""One program and one seed give one trace, on any heap, under any hash seed, in any process."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.determinism._storm import SEEDS, Storm, digest, on_sim, on_sim_fifo, on_stock
from tests.support.paths import ROOT
from tests.support.scale import scaled
from trunkline.sim.loop import run

PROCESSES = scaled(12, 2)
REPEATS = scaled(20, 4)


def report_of(number: int) -> dict[str, list[str]]:
    environment = {**os.environ, "PYTHONHASHSEED": str(1 + 613 * number), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.determinism._storm", str(number)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def reports() -> list[dict[str, list[str]]]:
    """The digests that 12 processes found, two processes at a time."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(report_of, range(PROCESSES)))


@pytest.mark.parametrize("order", ["keyed", "fifo"])
def test_all_processes_see_one_trace_per_seed(reports: list[dict[str, list[str]]], order: str) -> None:
    assert [len({report[order][index] for report in reports}) for index in range(len(SEEDS))] == [1] * len(SEEDS)


def test_the_stock_loop_gives_several_traces_so_the_check_can_fail(reports: list[dict[str, list[str]]]) -> None:
    assert all(len({report["stock"][index] for report in reports}) > 1 for index in range(len(SEEDS)))


def test_the_seed_of_the_loop_alone_changes_the_trace() -> None:
    traces = {digest(run(Storm(SEEDS[0]).main, seed=seed)) for seed in SEEDS}
    assert len(traces) == len(SEEDS)


def test_the_fifo_order_takes_no_notice_of_the_seed() -> None:
    assert len({digest(run(Storm(SEEDS[0]).main, seed=seed, order="fifo")) for seed in SEEDS}) == 1


@pytest.mark.parametrize("start", [on_sim, on_sim_fifo])
def test_repeats_in_one_process_see_one_trace(start: Callable[[int], str]) -> None:
    assert len({start(SEEDS[0]) for _ in range(REPEATS)}) == 1


def test_repeats_on_the_stock_loop_see_several() -> None:
    assert len({on_stock(SEEDS[0]) for _ in range(REPEATS)}) > 1

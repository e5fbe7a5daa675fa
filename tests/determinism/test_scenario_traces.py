"""Same scenario and seed: the same bytes, whatever the process, its hash seed and its heap look like."""

import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from tests.support.paths import ROOT
from tests.support.scale import scaled
from trunkline.core.events import encode_trace
from trunkline.sim import load_scenario, run_scenario

PROCESSES = scaled(12, 2)
REPEATS = scaled(20, 3)
#: hands, crash, recovery, threads, faults of the store and of the wire
CHOSEN = (
    "scenarios/tour/told-twice.yaml",
    "scenarios/faults/hands-lost.yaml",
    "scenarios/faults/rate-limit-and-retry.yaml",
    "scenarios/museum/B108-replayed-at-boot.yaml",
)


def digest(path: str, seed: int, bugs: tuple[str, ...] = ()) -> str:
    result = run_scenario(load_scenario(path), seed=seed, bugs=bugs)
    return hashlib.sha256(encode_trace(result.trace)).hexdigest()


def all_digests() -> list[str]:
    return [digest(path, seed) for path in CHOSEN for seed in (1, 2, 3)]


def in_a_process(number: int) -> list[str]:
    code = (
        f"junk = [bytearray(n % 977) for n in range({number * 1009})]\n"
        "import json\nfrom tests.determinism.test_scenario_traces import all_digests\n"
        "print(json.dumps(all_digests()))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": str(number * 31 + 1)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_one_trace_over_processes_with_other_hash_seeds_and_heaps(monkeypatch):
    monkeypatch.chdir(ROOT)
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(in_a_process, range(PROCESSES)))
    assert {json.dumps(digests) for digests in found} == {json.dumps(all_digests())}


def test_one_trace_over_repeats_in_one_process(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert len({json.dumps(all_digests()) for _ in range(REPEATS)}) == 1


def test_another_seed_is_another_trace(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert len({digest(CHOSEN[0], seed) for seed in range(5)}) == 5


def test_a_bug_switch_changes_the_trace(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert digest(CHOSEN[0], 1) != digest(CHOSEN[0], 1, ("hand-announces-too",))

"""A database that runs share, and the threads that they are in."""

from concurrent.futures import ThreadPoolExecutor

from tests.support.paths import ROOT
from trunkline.sim.fuzz.trial import try_file
from trunkline.sim.scenario import load_scenario


def kinds() -> list[str]:
    file = load_scenario(ROOT / "scenarios" / "tour" / "told-twice.yaml")
    return [finding.kind for finding in try_file(file, file.scenario.bugs).findings]


def test_a_run_in_another_thread_has_a_database_of_its_own() -> None:
    """The app makes scenarios smaller in threads, each time perhaps in another one."""
    here = kinds()
    assert "D2" in here
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        assert one.submit(kinds).result() == other.submit(kinds).result() == here
    assert kinds() == here

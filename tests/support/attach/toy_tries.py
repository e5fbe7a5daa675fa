"""Tries of the toy gateway in this process, judged."""

from collections.abc import Iterable
from pathlib import Path

from trunkline.core.events import Trace
from trunkline.sim.attach.profile import GatewayProfile
from trunkline.sim.attach.profile_files import load_profile, profile_path
from trunkline.sim.attach.worker import AttachTry
from trunkline.sim.invariants import judge
from trunkline.sim.invariants.base import Verdict
from trunkline.sim.loop import RealTimeLoop, run_real_time
from trunkline.sim.scenario import load_scenario

SCENARIOS = Path(__file__).parents[2] / "attach" / "toy"
#: those in which an answer grows
GROWING = ("growing", "growing-limited")


def toy_profile(defects: Iterable[str] = (), *, streams: bool = False) -> GatewayProfile:
    """The profile of the toy, with defects."""
    profile = load_profile(profile_path("toy"))
    switches = {"TOY_DEFECTS": ",".join(defects), "TOY_STREAM": "1" if streams else ""}
    return profile.model_copy(update={"environment": profile.environment | switches})


def play(scenario: Path, profile: GatewayProfile, folder: Path) -> Trace:
    """Play a scenario once, in a folder that may not exist yet."""
    folder.mkdir(parents=True, exist_ok=True)

    async def main(loop: RealTimeLoop) -> Trace:
        return await AttachTry(load_scenario(scenario), profile, loop, folder, install=folder).play()

    return run_real_time(main)


def play_toy(name: str, folder: Path, defects: Iterable[str] = (), *, streams: bool = False) -> Trace:
    """Play a scenario of `SCENARIOS` against the toy."""
    return play(SCENARIOS / f"{name}.yaml", toy_profile(defects, streams=streams), folder)


def wire_side(trace: Trace) -> dict[str, Verdict]:
    """The verdicts of the wire side, by the id of the invariant."""
    return {one.id: one for one in judge(trace.events) if one.id.startswith("X")}


def violated(trace: Trace) -> frozenset[str]:
    """The invariants of the wire side that a trace violates."""
    return frozenset(name for name, one in wire_side(trace).items() if one.violations)

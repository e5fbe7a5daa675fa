"""The process that plays a try: ``python -m trunkline.sim.attach.worker``, with the job on standard input.

It prints the outcome as a line of JSON. Its network is closed off where the system allows it. SIGTERM, Ctrl-C and the
end of the process that started it end the try; no process of the gateway is left, however this one ends.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import msgspec

from trunkline.core.errors import UsageError
from trunkline.sim.attach.doctor import ask, first_version
from trunkline.sim.attach.job import AttachJob, AttachOutcome
from trunkline.sim.attach.process.closed_network import ClosedNetwork, Strangers, close_network, names_of_this_machine
from trunkline.sim.attach.process.guard import descendants
from trunkline.sim.attach.process.open_sockets import strangers_of
from trunkline.sim.attach.process.packets import Attempt
from trunkline.sim.attach.process.process_tree import ProcessTree
from trunkline.sim.attach.process.trace_file import TraceFile
from trunkline.sim.attach.process.warm_states import copy_state, first_conversation, leave_out, state_name, warm_state
from trunkline.sim.attach.profile_files import load_profile
from trunkline.sim.attach.rendering import filled
from trunkline.sim.attach.supervisor import AttachTry, GatewayTrouble
from trunkline.sim.events.attach import GatewayReachedOut
from trunkline.sim.loop import RealTimeLoop, run_real_time
from trunkline.sim.scenario import load_scenario, load_text

#: seconds between two looks at the sockets of a gateway whose network is not closed off
_LOOK = 0.25


def main() -> None:
    """Play the job on standard input."""
    # What libraries print must not get between the outcome and its reader.
    out = os.dup(1)
    os.dup2(2, 1)
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=AttachJob)
    outcome = run_job(job)
    with os.fdopen(out, "wb") as stream:
        stream.write(msgspec.json.encode(outcome) + b"\n")


def run_job(job: AttachJob) -> AttachOutcome:
    """Play a job in this process, which is closed off from every network from now on. It must have one thread."""
    network, notes = None, list[str]()
    parent = os.getppid()
    try:
        network = close_network()
    except OSError as error:
        notes.append(
            f"the network could not be closed off ({error}): a gateway that is set up wrongly can reach real platforms"
        )
    else:
        if not network.sees:
            notes.append(f"the network is closed off, but attempts to leave it are not seen: {network.why}")
    run = _JobRun(job, network, notes, parent)
    # Two loops: the time of a trace begins with its try.
    problem = run_real_time(partial(run.part, run.warm_up)) or run_real_time(partial(run.part, run.play))
    if ProcessTree.refused:
        notes.append(f"the processes of the gateway had no namespace of their own ({ProcessTree.refused})")
    return AttachOutcome(problem=problem, log=run.log, notes=tuple(dict.fromkeys(notes)))


class _JobRun:
    """A job in progress. `parent`: the process that waits for the job, which ends with that process."""

    def __init__(self, job: AttachJob, network: ClosedNetwork | None, notes: list[str], parent: int) -> None:
        self._job, self._network, self._notes, self._parent = job, network, notes, parent
        self._task: asyncio.Task[None] | None = None
        self._version = ""
        #: why the try is broken off
        self._why = ""
        #: the last lines of the gateway's log, if it is the problem
        self.log: tuple[str, ...] = ()
        self._state: Path | None = None

    async def part(self, do: Callable[[RealTimeLoop], Coroutine[Any, Any, None]], loop: RealTimeLoop) -> str:
        """Do a part of the job, which can be broken off; returns what prevents its end."""
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._break_off, "it was interrupted")
        watching = asyncio.ensure_future(self._watch_parent(loop))
        task = self._task = asyncio.ensure_future(do(loop))
        try:
            await task
        except asyncio.CancelledError:
            pass
        except GatewayTrouble as error:
            self.log = error.log
            return error.what
        except UsageError as error:
            return error.facts if type(error) is UsageError else str(error)
        except OSError as error:
            return f"{error.filename or self._job.folder}: {error.strerror or error}"
        finally:
            watching.cancel()
        return self._why

    def _break_off(self, why: str) -> None:
        self._why = self._why or why
        if self._task is not None:
            self._task.cancel()

    async def _watch_parent(self, loop: RealTimeLoop) -> None:
        """Break the try off when the process that waits for it ends, also of one that can say nothing."""
        gone = partial(self._break_off, "the process that waited for it has ended")
        if hasattr(os, "pidfd_open"):
            try:
                held = os.pidfd_open(self._parent)
            except OSError:
                pass
            else:
                loop.add_reader(held, lambda: (loop.remove_reader(held), gone()))
        while os.getppid() == self._parent:  # noqa: ASYNC110 -- where the system notifies of nothing
            await anyio.sleep(1.0)
        gone()

    # ------------------------------------------------------------ the try

    async def warm_up(self, loop: RealTimeLoop) -> None:
        """Find the warm state to begin with, if the job has one; make it first if needed. Raises `UsageError`."""
        job = self._job
        file, profile = load_scenario(job.scenario), load_profile(job.profile)
        self._version = job.version or self._ask_version(profile.version)
        if job.warm or not (job.states and profile.warm_up):
            self._state = Path(job.warm) if job.warm else None
            return
        platforms = tuple(file.scenario.world.platforms)

        async def make(place: Path) -> None:
            first = load_text(first_conversation(platforms), "first-conversation.yaml")
            try:
                played = AttachTry(first, profile, loop, place, install=Path(job.install), version=self._version)
                await self._play_watched(played, loop, graceful=True)
            except GatewayTrouble as error:
                what = f"{error.what} (in its first conversation, whose state is to be kept for all tries)"
                raise GatewayTrouble(what, error.log) from error
            leave_out(place / "home", profile.conversation_files)

        self._state = await warm_state(
            Path(job.states), state_name(profile, self._version, platforms, job.install), make
        )

    async def play(self, loop: RealTimeLoop) -> None:
        """Play the scenario. Raises `UsageError`."""
        job, folder = self._job, Path(self._job.folder)
        file, profile = load_scenario(job.scenario), load_profile(job.profile)
        _make(folder)
        trace = TraceFile(Path(job.trace), lambda: self._break_off(trace.problem))
        try:
            if self._state is not None:
                copy_state(self._state, folder / "home")
            played = AttachTry(
                file,
                profile,
                loop,
                folder,
                install=Path(job.install),
                version=self._version,
                watch=trace.write,
                kill_at=job.kill_at,
                patience=job.patience,
                settle=job.settle,
                options=job.options,
            )
            trace.begin(played.header)
            await self._play_watched(played, loop)
        finally:
            trace.end(f"since {self._why}" if self._why else "since the try broke off")
            self._why = self._why or trace.problem

    async def _play_watched(self, played: AttachTry, loop: RealTimeLoop, *, graceful: bool = False) -> None:
        """Play a try, and record whom else the gateway wants to reach."""
        closed = self._network is not None

        def reached_out(attempt: Attempt) -> None:
            body = GatewayReachedOut(
                protocol=attempt.protocol, address=attempt.address, port=attempt.port, name=attempt.name, stopped=closed
            )
            played.world.events.record(body)

        strangers = Strangers(reached_out, *names_of_this_machine())
        looking = None
        if self._network is None:
            looking = asyncio.ensure_future(_look_at_sockets(strangers))
        elif self._network.sees:
            for descriptor in self._network.filenos():
                loop.add_reader(descriptor, _take, self._network, strangers)
        try:
            await played.play(graceful=graceful)
        finally:
            if looking is not None:
                looking.cancel()
            elif self._network is not None and self._network.sees:
                for descriptor in self._network.filenos():
                    loop.remove_reader(descriptor)
            if played.log.problem:
                self._notes.append(played.log.problem)

    def _ask_version(self, command: tuple[str, ...]) -> str:
        """The output of the profile's command for its version. A failure is no reason not to play."""
        if not command:
            return ""
        values = {"install": self._job.install, "python": sys.executable, "attach": str(Path(__file__).parent)}
        said = ask([str(filled(word, values)) for word in command])
        version = first_version(said.said)
        if not version:
            self._notes.append(f"its version is not known: {said.problem or 'the command printed none'}")
        return version


def _take(network: ClosedNetwork, strangers: Strangers) -> None:
    for attempt in network.take_attempts():
        strangers.report_first(attempt)


async def _look_at_sockets(strangers: Strangers) -> None:
    while True:
        for attempt in strangers_of(descendants(os.getpid())):
            strangers.report_first(attempt)
        await anyio.sleep(_LOOK)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror or error}: the gateway cannot have its folder there") from error


if __name__ == "__main__":
    main()

"""The gateway of a try: it is started, killed, stopped, frozen and started again, and each of these is an event."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import anyio

from trunkline.core.errors import UnknownName, UsageError
from trunkline.core.events import Event
from trunkline.sim.attach.play.rest import QuietWire
from trunkline.sim.attach.process.gateway_log import GatewayLog
from trunkline.sim.attach.process.process_tree import ProcessTree, run_to_end
from trunkline.sim.attach.profile import GatewayProfile
from trunkline.sim.attach.rendering import RenderedGateway, write_files
from trunkline.sim.events.attach import GatewayExited, GatewayLaunched, GatewayReady, left_behind
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessStopped, ProcessThawed
from trunkline.sim.events.world import PlatformConnected
from trunkline.sim.run.world import World


class GatewayTrouble(UsageError):
    """The try broke off."""

    def __init__(self, what: str, log: tuple[str, ...] = (), *, final: bool = False, timed_out: bool = False) -> None:
        super().__init__("\n".join([f"{what}; the end of its log:" if log else what, *log]))
        self.what = what
        #: the last lines of the gateway's log
        self.log = log
        #: another start would end so too
        self.final = final
        #: it may only have been slow
        self.timed_out = timed_out


#: seconds between two looks at a process that nothing else reports
LOOK = 0.05


class GatewayControl:
    """Controls the gateway. `render`: what is started, asked before each start.

    `hang_up`: called when it has ended, and before each start, so that nothing of an earlier process is connected.
    `again`: seconds after which what watches over the gateway starts it again if it ends by itself; None: nobody does.
    """

    def __init__(
        self,
        world: World,
        profile: GatewayProfile,
        folder: Path,
        rest: QuietWire,
        *,
        render: Callable[[], RenderedGateway],
        hang_up: Callable[[], None],
        again: float | None = None,
    ) -> None:
        self._world, self._profile, self._folder, self._rest = world, profile, folder, rest
        self._render, self._hang_up, self._again = render, hang_up, again
        self._tree: ProcessTree | None = None
        self._number = 0
        self._written: dict[str, str] = {}
        self._connected: set[str] = set()
        self._ready = False
        #: its output, start after start
        self.log = GatewayLog(folder / "gateway.log")
        self._tasks: set[asyncio.Task[None]] = set()
        #: why the run cannot go on
        self.trouble: GatewayTrouble | None = None
        world.log.subscribe(self._see_connected, PlatformConnected)

    def _see_connected(self, event: Event) -> None:
        assert isinstance(event.body, PlatformConnected)
        self._connected.add(event.body.channel)

    async def start(self) -> None:
        """Start the gateway, and wait until every platform is connected. Raises `GatewayTrouble`."""
        self._number += 1
        number, began = self._number, self._world.now()
        rendered, home = self._render(), self._folder / "home"
        if self._make(home, rendered):
            await self._prepare(rendered, home)
        # A last request of the process before, read after its end, may have connected once more.
        self._hang_up()
        self._connected.clear()
        self._world.events.record(GatewayLaunched(number=number, command=rendered.command))
        self.log.look_for(self._profile.ready.log, self._profile.ready.never)
        tree = self._tree = ProcessTree(rendered.command, rendered.environment, home, self.log)
        tree.start()
        self._ready = False
        while self._missing():
            if self._tree is not tree:
                return
            if self.log.dreaded:
                raise self.trouble_of(f"will never be ready: it said {self.log.dreaded}", final=True)
            if tree.exit_code is not None:
                ended = (
                    f"ended with the code {tree.exit_code} before it was ready{left_behind(tree.exit_code, tree.left)}"
                )
                raise self.trouble_of(f"did not start: {tree.failure}" if tree.failure else ended)
            if self._world.now() - began > self._profile.start_within:
                missing = ", ".join(self._missing())
                late = f"was not ready within {self._profile.start_within:g} s: it lacks {missing}"
                raise self.trouble_of(late, timed_out=True)
            if self._rest.flooded:
                raise self.trouble_of(self._rest.flooded)
            await anyio.sleep(LOOK)
        await anyio.sleep(self._profile.ready.after)
        if self._tree is not tree:
            return
        self._ready = True
        self._world.events.record(GatewayReady(number=number, after=round(self._world.now() - began, 3)))

    def _make(self, home: Path, rendered: RenderedGateway) -> bool:
        """Make the gateway's folder and files; returns whether the folder is new. Raises `GatewayTrouble`."""
        fresh = not home.exists()
        # A gateway may have changed its files: they are its own after the first start, except for a new token.
        changed = {name: text for name, text in rendered.files.items() if self._written.get(name) != text}
        try:
            home.mkdir(parents=True, exist_ok=True)
            write_files(home, changed)
        except OSError as error:
            where = error.filename or home
            raise self.trouble_of(f"cannot be given its files: {where}: {error.strerror or error}") from error
        self._written = rendered.files
        return fresh

    async def _prepare(self, rendered: RenderedGateway, home: Path) -> None:
        """Run the commands before the first start. Raises `GatewayTrouble`."""
        for command in rendered.prepare:
            within = self._profile.start_within
            problem = await run_to_end(command, rendered.environment, home, self.log, within=within)
            if problem:
                raise self.trouble_of(f"could not be prepared: {problem}")

    async def end(self) -> None:
        """Send SIGTERM, and wait for the end; `close` kills what does not end within `stop_within`."""
        tree = self._tree
        if tree is not None:
            tree.terminate()
            with anyio.move_on_after(self._profile.stop_within):
                await tree.wait()

    def _missing(self) -> list[str]:
        missing = [
            f"a connection to {platform}" for platform in self._world.platforms if platform not in self._connected
        ]
        line = self._profile.ready.log
        if line and not missing and not self.log.found:
            missing.append(f"the line {line} in its log")
        return missing

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tree is not None:
            self._tree.kill()
        self.log.close()

    def trouble_of(self, what: str, *, final: bool = False, timed_out: bool = False) -> GatewayTrouble:
        """An error about the gateway, with the last lines of the log."""
        lines = self.log.last_lines() if self._tree is None else self._tree.last_lines()
        return GatewayTrouble(f"{self._profile.name} {what}", lines, final=final, timed_out=timed_out)

    def look(self) -> None:
        """Record an unwanted end of the gateway."""
        tree = self._tree
        # While it starts, its end is what `start` reports.
        if tree is not None and tree.exit_code is not None and self._ready:
            self._tree = None
            self._hang_up()
            body = GatewayExited(number=self._number, code=tree.exit_code, log=tree.last_lines(5), left=tree.left)
            self._world.events.record(body)
            if self._again is not None:
                self._restart_after(self._again)

    def kill(self, why: str, cause: int | None, restart_after: float) -> None:
        """Send SIGKILL; on return the gateway is dead. Raises `UnknownName` if it does not run."""
        tree = self._running()
        self._tree = None
        tree.kill()
        self._hang_up()
        self._world.events.record(ProcessCrashed(why=why), cause)
        self._restart_after(restart_after)

    def stop(self, why: str, cause: int | None, down: float) -> None:
        """Send SIGTERM, and SIGKILL to what is left after `stop_within`. Raises `UnknownName` without a gateway."""
        tree = self._running()
        self._tree = None
        tree.terminate()
        self._rest.owe()
        self._spawn(self._wait_for_end(tree, why, cause, down))

    async def _wait_for_end(self, tree: ProcessTree, why: str, cause: int | None, down: float) -> None:
        try:
            with anyio.move_on_after(self._profile.stop_within):
                await tree.wait()
        finally:
            # Also what is left of its tree, and if the run ends meanwhile.
            tree.kill()
        self._hang_up()
        self._world.events.record(ProcessStopped(why=why), cause)
        self._restart_after(down)
        self._rest.end_wait()

    def freeze(self, why: str, cause: int | None, seconds: float) -> None:
        """Send SIGSTOP, and SIGCONT after a while. Raises `UnknownName` if the gateway does not run."""
        tree = self._running()
        tree.freeze()
        self._world.events.record(ProcessFrozen(why=why), cause)
        self._rest.owe()
        self._world.call_at(self._world.now() + seconds, self._thaw, tree)

    def _thaw(self, tree: ProcessTree) -> None:
        self._rest.end_wait()
        if self._tree is tree and tree.exit_code is None:
            tree.thaw()
            self._world.events.record(ProcessThawed())

    @property
    def runs(self) -> bool:
        return self._ready and self._tree is not None and self._tree.exit_code is None

    def _running(self) -> ProcessTree:
        if self._tree is None or self._tree.exit_code is not None:
            raise UnknownName("the gateway does not run")
        return self._tree

    def _restart_after(self, down: float) -> None:
        self._rest.owe()
        self._spawn(self._start_again(down))

    async def _start_again(self, down: float) -> None:
        try:
            await anyio.sleep(down)
            await self.start()
        except GatewayTrouble as error:
            self.trouble = error
        except OSError as error:
            # Nobody waits for this task: what is not said here would pass for a gateway that is silent.
            self.trouble = self.trouble_of(f"could not be started again: {error}")
        finally:
            self._rest.end_wait()

    def _spawn(self, what: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(what)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

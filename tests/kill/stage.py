"""Where it happens: a store file, a platform, people and clients around it, and the verdict on it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import anyio
import msgspec

from tests.kill.child import Fuse, Life
from tests.kill.nonsense import ALL_PARTS, Nonsense
from tests.kill.people import People
from tests.kill.platform import Lies, Manners, Platform, Trap
from tests.kill.stored import at_rest, read_store
from tests.kill.verdict import Verdict, judge
from tests.kill.worker import WorkerLife
from tests.support.disk.faults import draw_fault
from trunkline import Idempotency

CONVERSATIONS = ("ana", "bo", "cleo", "dora", "g1", "g2", "g3", "g4")
#: seconds without any progress, on a machine that does much else, after which it does not come to rest any more
_REST = 60.0


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What a stage is like."""

    seed: int
    #: what the platform can do
    idempotency: Idempotency = Idempotency.KEY
    #: what the adapter claims that it can; none: the truth
    claims: Idempotency | None = None
    #: seconds for which a request may be on its way, as the adapter claims; a little more than the platform takes it
    in_flight: float = 0.22
    taken: float = 0.2
    #: the adapter acknowledges what is not stored yet
    hasty: bool = False
    lies: Lies = Lies()
    manners: Manners = Manners()
    conversations: tuple[str, ...] = CONVERSATIONS
    #: of each conversation: one that waits for each delivery, and one that does not
    clients: int = 2
    #: of the store, seconds
    lease: float = 60.0
    #: of a delivery; none: the gateway's own default
    max_attempts: int | None = 1_000_000
    nonsense: Nonsense = Nonsense()
    #: outside workers, each a process of its own; and how often a message needs one
    workers: int = 0
    delegating: float = 0.0
    #: address of the store on a PostgreSQL server; none: it is a file
    server: str | None = None
    #: of the processes, those whose disk fails, or that run out of memory
    failing: float = 0.0


def misbehaving(setting: Setting) -> Setting:
    """Every part misbehaves, and a delivery has as many attempts as by default.

    To give up after them is right, so a chunk must hardly ever fail five times in a row without a kill: one attempt in
    fifty fails here, which is about one such chunk in ten thousand storms. With one in ten it was every tenth storm.
    """
    manners = Manners(mute=0.0025, cut=0.005, busy=0.005)
    return msgspec.structs.replace(setting, nonsense=ALL_PARTS, manners=manners, max_attempts=None)


class Stage:
    """One of them, on a folder. Made inside an event loop."""

    def __init__(self, setting: Setting, folder: Path) -> None:
        self.setting = setting
        self.store = setting.server or str(folder / "trunkline.db")
        self._log = folder / "gateway.log"
        self.trap = Trap()
        self.people = People(
            conversations=setting.conversations,
            clients=setting.clients,
            dice=Random(f"people {setting.seed}"),
            trap=self.trap,
            odd=setting.nonsense.odd,
            delegating=setting.delegating,
        )
        self.platform = Platform(
            idempotency=setting.idempotency,
            in_flight=setting.taken,
            dice=Random(f"platform {setting.seed}"),
            trap=self.trap,
            manners=setting.manners,
            lies=setting.lies,
            seen=self.people.seen,
        )
        self._faults = Random(f"faults {setting.seed}")
        #: processes so far; the last one has this number
        self.processes = 0

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None, None]:
        """The platform and the people."""
        try:
            async with anyio.create_task_group() as group:
                await group.start(self.people.serve)
                group.start_soon(self.platform.serve)
                yield
                group.cancel_scope.cancel()
        finally:
            self.platform.close()

    def life(self, fuse: Fuse | None = None, *, sound: bool = False) -> Life:
        """The next process; a `sound` one has a disk that does not fail."""
        self.processes += 1
        dice = self._faults
        fails = not sound and dice.random() < self.setting.failing
        starves = fails and dice.random() < 0.15
        return Life(
            process=self.processes,
            store=self.store,
            log=str(self._log),
            people=self.people.port,
            requests=self.platform.port,
            idempotency=self.setting.claims or self.setting.idempotency,
            in_flight=self.setting.in_flight,
            lease=self.setting.lease,
            fuse=fuse,
            hasty=self.setting.hasty,
            max_attempts=self.setting.max_attempts,
            nonsense=self.setting.nonsense,
            workers=self.setting.workers > 0,
            faults=(draw_fault(dice),) if fails and not starves else (),
            starved=dice.uniform(0, 0.08) if starves else None,
        )

    def worker_life(self, name: str, process: int) -> WorkerLife:
        """A process of a worker."""
        return WorkerLife(name=name, process=process, store=self.store, log=str(self._log))

    async def rest(self) -> None:
        """Wait until all that was asked for is promised, the store has nothing open, and nothing is on its way."""
        self.people.quiet = True
        seen, since = self._progress(), anyio.current_time()
        while not self.people.is_promised or self.platform.under_way or not at_rest(self.store):
            await anyio.sleep(0.01)
            if (now := self._progress()) != seen:
                seen, since = now, anyio.current_time()
            elif anyio.current_time() > since + _REST:
                left = f"not promised: {self.people.open[:20]}; the store: {read_store(self.store).open[:20]}"
                raise AssertionError(f"no rest in {_REST} s; seed {self.setting.seed}; {left}\n{self.said()}")

    def _progress(self) -> tuple[int, int]:
        """What grows for as long as somebody is served."""
        return self.people.made, len(self.platform.accepted)

    def verdict(self) -> Verdict:
        """What came of it."""
        claimed = self.setting.claims or self.setting.idempotency
        return judge(
            promises=list(self.people.promises.values()),
            accepted=self.platform.accepted,
            stored=read_store(self.store),
            sure=claimed is not Idempotency.NONE,
        )

    def said(self) -> str:
        """What the processes complained of, the end of it."""
        return self._log.read_text(encoding="utf-8", errors="replace")[-6000:] if self._log.exists() else ""

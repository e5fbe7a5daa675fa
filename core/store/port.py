"""The store port: a database that takes write commands and read queries, and that one process works at a time."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from trunkline.core.store.commands import Write
from trunkline.core.store.lease import LeaseClaim
from trunkline.core.store.queries import Read

A = TypeVar("A")
T = TypeVar("T")


class Store(Protocol):
    """Durable state. Raises `core.errors.StoreError` when it cannot be used; a failing write is retried inside.

    The `story` of a write is called with the answer right after the commit, by the thread that committed, before any
    caller resumes: events are recorded in the order in which their facts became durable. `then` is called with the
    story's result on the loop, for all writes in the order of their commits: that is the order of turns and deliveries.
    """

    async def open(self) -> None:
        """Open the store and migrate it. Raises `StoreTooNew` and leaves a newer one untouched.

        `claim` migrates a store that another process holds, once it is taken.
        """
        ...

    async def close(self) -> None:
        """Give a claimed store back, and close it."""
        ...

    async def forget_begun(self) -> None:
        """Before `close`, where the process stops in order: no run in progress has taken it down."""
        ...

    async def run(self) -> None:
        """Run the writer for as long as the gateway runs."""
        ...

    async def claim(self, now: float, lasts: float) -> LeaseClaim:
        """Take the store for this process alone, until `now + lasts`; or answer who holds it.

        Once another process has taken it over, every write is refused with `LeaseLost`: nothing is stored, and `run`
        ends with that error. A store that was never claimed can be used by any process that opens it.
        """
        ...

    async def renew(self, now: float, lasts: float) -> None:
        """Extend the lease until `now + lasts`.

        Raises `LeaseLost` when another process has taken the store, and another `StoreError` when the write fails.
        """
        ...

    async def write(self, command: Write[A], story: Callable[[A], T], then: Callable[[T], None] | None = None) -> T:
        """Commit a command and return the result of its story. Raises what the command raised."""
        ...

    def submit(
        self,
        command: Write[A],
        story: Callable[[A], T],
        then: Callable[[T], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
        *,
        urgent: bool = True,
    ) -> None:
        """Commit a command in the background; `failed` is called with its error when the command itself was refused.

        A command that is not `urgent` waits for others of the same moment and shares their commit.
        """
        ...

    @property
    def refusal(self) -> str:
        """Why the last write was refused, which is tried again; empty: it was committed."""
        ...

    async def read(self, query: Read[A]) -> A:
        """Answer a query. Raises what the query documents, and `StoreError` once the store is closed."""
        ...

    async def listen(self, heard: Callable[[], None]) -> None:
        """Call `heard` when a notification says that another process has left something; some may be lost."""
        ...

    async def scrub(self) -> None:
        """Remove what was deleted from the bytes on the disk, too. Holds up all writes. Raises `StoreError`."""
        ...


def answer(value: A) -> A:
    """The story of a write without an event."""
    return value

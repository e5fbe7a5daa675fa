"""A gateway that is not ours: what its run is judged by, its start and its end, and whom it wanted to reach."""

from trunkline.sim.events.base import SimBody


class GatewayAttached(SimBody, frozen=True, kw_only=True):
    """The run is about a gateway of which only the wire is known. The first event of such a run.

    It carries everything that a judge needs beside the wire, so that verdicts are a function of the file.
    """

    #: the profile, e.g. ``hermes``
    gateway: str
    version: str = ""
    #: texts that are notices and not answers; ``*`` stands for anything
    notices: tuple[str, ...] = ()
    #: texts that the gateway says of itself, and of no question; ``*`` stands for anything
    remarks: tuple[str, ...] = ()
    #: seconds after which a question that nothing followed counts as lost
    patience: float = 45.0
    #: the options of `trunkline attach` that the try was played with, for the command that repeats it
    options: tuple[str, ...] = ()


class GatewayLaunched(SimBody, frozen=True, kw_only=True):
    """A process of the gateway was started."""

    #: number of the start, from 1
    number: int
    command: tuple[str, ...] = ()


class GatewayReady(SimBody, frozen=True, kw_only=True):
    """The gateway is connected to every account of the world."""

    number: int
    #: seconds since its start
    after: float


class GatewayExited(SimBody, frozen=True, kw_only=True):
    """The gateway ended by itself. `code`: its exit code; negative: the number of the signal."""

    number: int
    code: int
    #: the last lines of its log
    log: tuple[str, ...] = ()
    #: processes that its first one left behind, and that were ended with it
    left: int = 0


def left_behind(code: int, count: int) -> str:
    """A sentence about the processes that a gateway has left after its first one ended well; empty for none.

    It has gone into the background, as it seems. What a crash leaves behind is no such sign.
    """
    if code or not count:
        return ""
    what = "a process, which was" if count == 1 else f"{count} processes, which were"
    return f", and left {what} ended with it: a gateway has to stay in the foreground"


class GatewayReachedOut(SimBody, frozen=True, kw_only=True):
    """A process of the gateway wanted to reach somebody who is not part of the run; the first attempt of its kind.

    Either `name`, which it asked a name server for, or `address` and `port`; both for a question to a name server that
    is not the machine's.
    """

    #: ``tcp`` or ``udp``
    protocol: str
    address: str = ""
    port: int = 0
    name: str = ""
    #: it was stopped there: the network of the run is closed
    stopped: bool = True

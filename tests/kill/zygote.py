"""A process that has everything imported, and forks gateway processes: each starts within milliseconds.

    python -m tests.kill.zygote

It reads `tests.kill.wire` messages from its input and answers on its output. It has one thread, as a fork needs it. A
process that has ended is reaped only with the next message, so that its number still is its own when it is killed.
When the input ends, the process that is left is killed.
"""

import gc
import os
import signal
import sys

import msgspec

from tests.kill.child import Life, live
from tests.kill.wire import Ended, Message, Start, Started, Watch, decode, encode
from tests.kill.worker import WorkerLife

_life = msgspec.json.Decoder(Life | WorkerLife).decode


class Zygote:
    """Starts one process at a time."""

    def __init__(self) -> None:
        self._pid = 0
        self._ended = False

    def handle(self, message: Message) -> Message:
        """Do what is asked for, and answer."""
        if self._ended:
            self.reap()
        if isinstance(message, Start):
            return Started(pid=self._start(_life(message.life)))
        assert isinstance(message, Watch)
        return Ended(status=self._watch())

    def reap(self) -> None:
        """Forget the process."""
        if self._pid:
            os.waitpid(self._pid, 0)
        self._pid, self._ended = 0, False

    def kill(self) -> None:
        """End the process that is left."""
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
        self.reap()

    def _start(self, life: Life) -> int:
        assert not self._pid
        self._pid = os.fork()
        if self._pid == 0:
            live(life)
        return self._pid

    def _watch(self) -> int:
        ended = os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT)
        assert ended is not None
        self._ended = True
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def main() -> None:
    """Serve until the input ends."""
    # What is there already is never looked at again, nor copied by a collection in a child.
    gc.collect()
    gc.freeze()
    zygote = Zygote()
    try:
        for line in iter(sys.stdin.buffer.readline, b""):
            sys.stdout.buffer.write(encode(zygote.handle(decode(line))) + b"\n")
            sys.stdout.buffer.flush()
    finally:
        zygote.kill()


if __name__ == "__main__":
    main()

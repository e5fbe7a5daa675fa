"""A worker that misbehaves, or plays nothing: what it does is the word in the job's `version`."""

import os
import signal
import sys
import time
from pathlib import Path

import msgspec

from trunkline.sim.attach.job import AttachJob, AttachOutcome


def main() -> None:
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=AttachJob)
    what = job.version
    if what == "dies":
        print("\x1b[31mout of memory", file=sys.stderr, flush=True)
        os._exit(9)
    if what == "babbles":
        print("hello")
        return
    if what == "hangs":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
    if what == "troubled":
        print(msgspec.json.encode(AttachOutcome(problem="it does not start", log=("a line",))).decode())
        return
    # The trace that the test made.
    Path(job.trace).write_bytes(Path(os.environ["TRACE_OF_WORKER"]).read_bytes())
    print(msgspec.json.encode(AttachOutcome(notes=("a note",))).decode())


if __name__ == "__main__":
    main()

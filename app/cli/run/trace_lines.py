"""A gateway's trace on standard output, line by line as it comes: for pipes and for logs of continuous integration."""

from __future__ import annotations

import sys
from time import sleep

from trunkline.app.runs.live_run import GrowingTrace
from trunkline.app.runs.trace_follower import Budget
from trunkline.app.terminal.output import print_error
from trunkline.core.events import TraceHeader, encode_event
from trunkline.core.events.trace import encode_header

#: seconds between two looks
_EVERY = 0.05


def write_as_it_comes(feed: GrowingTrace) -> int:
    """Write the trace until it ends, or the reader leaves. Exit code 2 where events are missing, or it broke off."""
    out = sys.stdout.buffer
    try:
        out.write(encode_header(feed.header or TraceHeader(scenario=feed.name)) + b"\n")
        while True:
            events = feed.pull(Budget(1_000, 1.0))
            if feed.take_anew():
                # A trace has no holes: two of them in one file would be refused.
                print_error(f"trunkline: {feed.waiting_for()}: the trace ends here")
                return 2
            for event in events:
                out.write(encode_event(event) + b"\n")
            if events:
                continue
            out.flush()
            if feed.over:
                print_error(f"trunkline: {feed.problem}")
                return 2
            sleep(_EVERY)
    except (KeyboardInterrupt, BrokenPipeError):
        return 0
    finally:
        feed.close()

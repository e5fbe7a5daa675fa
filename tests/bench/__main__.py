"""``make bench``: measures every bar and prints it; fails when one is missed.

``make bench ARGS='pipeline backlog'`` measures only those parts.
"""

import gc
import sys

from tests.bench import (
    app,
    attach,
    backlog,
    bindings,
    chunking,
    explore,
    growth,
    hands,
    history,
    http,
    loop,
    pipeline,
    postgres,
    routing,
    scenario,
    sessions,
    tour,
    transcripts,
)

PARTS = {
    "loop": loop,
    "scenario": scenario,
    "routing": routing,
    "sessions": sessions,
    "bindings": bindings,
    "chunking": chunking,
    "transcripts": transcripts,
    "explore": explore,
    "pipeline": pipeline,
    "postgres": postgres,
    "history": history,
    "http": http,
    "hands": hands,
    "growth": growth,
    "backlog": backlog,
    "attach": attach,
    "app": app,
    "tour": tour,
}


def main() -> int:
    """Print a line per bar."""
    chosen = sys.argv[1:] or list(PARTS)
    unknown = [name for name in chosen if name not in PARTS]
    if unknown:
        print(f"no part {', '.join(unknown)}; there are: {', '.join(PARTS)}")
        return 2
    missed = 0
    gc.freeze()  # as `trunkline run` does
    for name in chosen:
        for bar in PARTS[name].bars():
            print(bar, flush=True)
            missed += not bar.ok
    print(f"{missed} bars missed" if missed else "all bars met")
    return 1 if missed else 0


sys.exit(main())

"""An agent as a program, with the standard library only: it echoes, and sends a message of its own on `remind TEXT`.

    agents:
      main: {program: {command: [python3, program_agent.py]}}

Each turn is worked on in a thread, so a slow one holds up no other. Standard output is for messages: print to standard
error.
"""

import json
import queue
import sys
import threading
from typing import Any

out = threading.Lock()
results: dict[tuple[str, str], queue.Queue[dict[str, Any]]] = {}


def say(**message: Any) -> None:
    """Write a message as one line, at once."""
    with out:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def call(turn: str, name: str, tool: str, params: dict[str, Any]) -> dict[str, Any]:
    """Call a tool of the turn and wait for its result."""
    waiting = results[turn, name] = queue.Queue()
    say(type="call", turn=turn, call=name, tool=tool, params=params)
    return waiting.get()


def work(turn: dict[str, Any]) -> None:
    """Work on a turn; whatever happens, it ends with one answer or one failure."""
    try:
        say(type="answer", turn=turn["id"], text=answer(turn))
    except Exception as error:  # noqa: BLE001 -- the gateway waits for the end of each turn
        say(type="fail", turn=turn["id"], error=f"{type(error).__name__}: {error}")


def answer(turn: dict[str, Any]) -> str | None:
    """The answer to a turn; None for none."""
    if turn["work"] != "message":
        return None
    if not turn["text"].startswith("remind "):
        return turn["text"]
    text = turn["text"].removeprefix("remind ")
    done = call(turn["id"], "1", "message", {"action": "send", "message": f"Remember: {text}"})
    return None if done["ok"] else f"I could not send it: {done['error']}"


def main() -> None:
    """Read messages until the gateway closes the input, which means: end."""
    say(type="hello", protocol=1)
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "turn":
            threading.Thread(target=work, args=[message], daemon=True).start()
        elif message["type"] == "result":
            results.pop((message["turn"], message["call"])).put(message)


if __name__ == "__main__":
    main()

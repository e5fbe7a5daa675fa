"""A program that is an agent and does what the text of each turn says. Standard library only; not imported by tests.

Each turn has a thread, so that many are worked on at once. Arguments change how the program starts.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

LOCK = threading.Lock()
RESULTS: dict[str, dict[str, Any]] = {}
ARRIVED = threading.Condition()
CANCELLED: set[str] = set()


def say(**message: Any) -> None:
    write(json.dumps(message))


def write(line: str) -> None:
    with LOCK:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def call(turn: str, name: str, tool: str, **params: Any) -> dict[str, Any]:
    say(type="call", turn=turn, call=name, tool=tool, params=params)
    with ARRIVED:
        ARRIVED.wait_for(lambda: f"{turn}/{name}" in RESULTS, timeout=30)
        return RESULTS.pop(f"{turn}/{name}")


def work(document: dict[str, Any]) -> None:
    turn, (word, _, rest) = document["id"], document["text"].partition(" ")
    match word:
        case "echo":
            say(type="answer", turn=turn, text=rest)
        case "show":
            # The definitions of tools are too long for one message of the platform.
            names = [tool["function"]["name"] for tool in document["tools"]]
            say(type="answer", turn=turn, text=json.dumps({**document, "tools": names}))
        case "silent":
            say(type="answer", turn=turn, text=None)
        case "sleep":
            time.sleep(float(rest))
            say(type="answer", turn=turn, text="awake")
        case "never":
            return
        case "cancelled":
            say(type="answer", turn=turn, text=f"{len(CANCELLED)} cancelled")
        case "resumed":
            if document["again"]:
                say(type="answer", turn=turn, text="done by the next process")
        case "message":
            done = call(turn, "1", "message", action="send", message=rest)
            say(type="answer", turn=turn, text=json.dumps(done, sort_keys=True))
        case "call":
            tool, _, params = rest.partition(" ")
            done = call(turn, "1", tool, **json.loads(params or "{}"))
            say(type="answer", turn=turn, text=json.dumps(done, sort_keys=True))
        case "delegate":
            done = call(turn, "1", "agent_send_async", agent_id="clerk", message=rest)
            say(type="answer", turn=turn, text=str(done.get("result", done.get("error"))))
        case "calls":
            for number in range(int(rest)):
                call(turn, str(number), "message", action="send", message=f"part {number}")
            say(type="answer", turn=turn, text="all called")
        case "pipelined":
            for number in range(int(rest)):
                say(type="call", turn=turn, call=str(number), tool="agent_list")
            say(type="answer", turn=turn, text="not waited")
        case "die":
            print("I cannot go on \x1b[31m", file=sys.stderr, flush=True)
            os._exit(3)
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "once":
            # The first process dies after it has sent a message.
            call(turn, "1", "message", action="send", message=f"working on {rest}")
            if not document["again"]:
                os._exit(4)
            say(type="answer", turn=turn, text=f"{rest} at last")
        case "interrupted":
            # The gateway is killed after the message was sent.
            call(turn, "1", "message", action="send", message=f"working on {rest}")
            if document["again"]:
                say(type="answer", turn=turn, text=f"{rest} at last")
        case "reordered":
            # As a model does: the second run makes other calls, and one of the first ones later.
            again = document["again"]
            for number, text in enumerate(["third", "first", "second"] if again else ["first", "second"]):
                call(turn, str(number), "message", action="send", message=text)
            if again:
                say(type="answer", turn=turn, text="done")
        case "changing":
            call(turn, "1", "message", action="send", message=f"from {os.getpid()}")
            os._exit(5)
        case "fail":
            say(type="fail", turn=turn, error=rest)
        case "refuse":
            say(type="fail", turn=turn, error=rest, refused=True)
        case "long":
            say(type="answer", turn=turn, text="x" * int(rest))
        case "raw":
            write(rest.replace("TURN", turn))
        case "twice":
            say(type="answer", turn=turn, text="first")
            say(type="answer", turn=turn, text="second")
            say(type="call", turn=turn, call="late", tool="message", params={"action": "send", "message": "late"})
        case "log":
            say(type="log", turn=turn, text=rest)
            print("an error line", file=sys.stderr, flush=True)
            say(type="answer", turn=turn, text="logged")
        case "flood":
            for _ in range(int(rest)):
                write("this is no message")
                print("flood", file=sys.stderr)
            say(type="answer", turn=turn, text="flooded")
        case "output":
            for number in range(int(rest)):
                say(type="call", turn=turn, call=str(number), tool="message", params={"message": "x" * 10_000})
        case "child":
            child = subprocess.Popen(["sleep", "1000"], start_new_session=False)
            say(type="answer", turn=turn, text=str(child.pid))
        case "escaped":
            # In a session of its own, an orphan at once, deaf to every request.
            escape = "trap '' TERM HUP INT; echo $$; exec >&- 2>&-; while :; do sleep 1000; done"
            child = subprocess.Popen(["sh", "-c", 'setsid sh -c "$0" &', escape], stdout=subprocess.PIPE, text=True)
            assert child.stdout is not None
            say(type="answer", turn=turn, text=child.stdout.readline().strip())
        case "pid":
            say(type="answer", turn=turn, text=str(os.getpid()))
        case "environ":
            say(type="answer", turn=turn, text=json.dumps(dict(os.environ), sort_keys=True))
        case _:
            say(type="answer", turn=turn, text=f"you said {document['text']}")


def main() -> None:
    how = sys.argv[1] if len(sys.argv) > 1 else ""
    if how == "deaf":
        say(type="hello", protocol=1)
        time.sleep(1000)
    if how == "mute":
        time.sleep(1000)
    if how == "broken":
        print("no such model", file=sys.stderr)
        sys.exit(7)
    if how == "eager":
        say(type="answer", turn="t", text="x")
    if how == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    say(type="hello", protocol=99 if how == "foreign" else 1)
    for line in sys.stdin:
        message = json.loads(line)
        match message["type"]:
            case "turn":
                threading.Thread(target=work, args=[message], daemon=True).start()
            case "result":
                with ARRIVED:
                    RESULTS[f"{message['turn']}/{message['call']}"] = message
                    ARRIVED.notify_all()
            case "cancel":
                CANCELLED.add(message["turn"])
            case _:
                pass
    if how == "stubborn":
        time.sleep(1000)


if __name__ == "__main__":
    main()

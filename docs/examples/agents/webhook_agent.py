"""An agent as a webhook, with the standard library only: it checks the signature, and counts what it is asked.

agents:
  main: {webhook: {url: "http://127.0.0.1:8500/turn", secret: {env: WEBHOOK_SECRET}}}

WEBHOOK_SECRET=... python3 webhook_agent.py 8500
"""

import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: seconds that a request may be old; an older one may be a copy that somebody sends again
WINDOW = 300
SECRET = os.environ.get("WEBHOOK_SECRET", "")
#: bytes
LONGEST = 10_000_000
#: answers by key: a request that comes again is answered as before. Give it a bound and a store in a real receiver
answers: dict[str, dict[str, Any]] = {}


def is_genuine(secret: str, header: str, body: bytes, now: float) -> bool:
    """Whether the gateway has signed this body, and about now."""
    fields = dict(part.partition("=")[::2] for part in header.split(","))
    at, given = fields.get("t", ""), fields.get("v1", "")
    if not (at.isascii() and at.isdigit() and given.isascii()) or abs(now - int(at)) > WINDOW:
        return False
    expected = hmac.new(secret.encode(), at.encode() + b"." + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected, given)


def reply(turn: dict[str, Any]) -> dict[str, Any]:
    """The answer to a turn, or a call whose result comes with the next request."""
    if turn["work"] != "message":
        return {"answer": None}
    if turn["text"] != "thanks":
        return {"answer": f"You have written {len(turn['text'])} characters."}
    if not turn["calls"]:
        params = {"action": "send", "message": "You are welcome."}
        return {"calls": [{"call": "1", "tool": "message", "params": params}]}
    return {"answer": None if turn["calls"][0]["ok"] else turn["calls"][0]["error"]}


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of the gateway."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer one turn."""
        size = int(self.headers.get("Content-Length", 0))
        if size > LONGEST:
            self.send_error(413)
            self.close_connection = True
            return
        body = self.rfile.read(size)
        now = time.time()  # noqa: TID251 -- a program of its own
        if not is_genuine(SECRET, self.headers.get("Trunkline-Signature", ""), body, now):
            self.send_error(401)
            return
        key = self.headers["Idempotency-Key"]
        if key not in answers:
            answers[key] = reply(json.loads(body))
        self.answer(json.dumps(answers[key]).encode())

    def answer(self, body: bytes) -> None:
        """Send a body."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    """Serve on a port of this machine; 0 takes a free one. The address is printed."""
    if not SECRET:
        raise SystemExit("WEBHOOK_SECRET is not set: without a secret anybody could ask")
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    sys.stdout.write(f"http://127.0.0.1:{server.server_port}/turn\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()

"""Synapse in a process of its own: configured, started, stopped by its pid, with users."""

import hashlib
import hmac
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT

#: the interpreter of its environment
PYTHON = ROOT / ".synapse" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
#: seconds that anything here may take
PATIENCE = 60.0
NAME = "localhost"
_SHARED_SECRET = "for users of the tests only"
_CONFIG = """\
server_name: {name}
pid_file: {folder}/homeserver.pid
listeners:
  - {{port: {port}, type: http, bind_addresses: ["127.0.0.1"], resources: [{{names: [client]}}]}}
database: {{name: sqlite3, args: {{database: "{folder}/homeserver.db"}}}}
log_config: {folder}/log.yaml
media_store_path: {folder}/media
signing_key_path: {folder}/signing.key
registration_shared_secret: "{secret}"
macaroon_secret_key: not-a-secret
form_secret: not-a-secret
report_stats: false
trusted_key_servers: []
suppress_key_server_warning: true
federation_domain_whitelist: []
presence: {{enabled: false}}
# Else the first sync of an account is answered with that of two minutes ago.
caches: {{sync_response_cache_duration: 0s}}
# Tests write faster than people.
{limits}
"""
_LIMITS = ("rc_message", "rc_registration", "rc_admin_redaction", "rc_joins_per_room", "rc_room_creation")
_LOG = """\
version: 1
formatters: {{plain: {{format: "%(asctime)s %(levelname)s %(name)s %(message)s"}}}}
handlers: {{file: {{class: logging.FileHandler, filename: "{folder}/homeserver.log", formatter: plain}}}}
root: {{level: WARNING, handlers: [file]}}
disable_existing_loggers: false
"""


def needs_synapse() -> pytest.MarkDecorator:
    """Marks tests that need the homeserver. CI installs it, so that there a missing one fails the test."""
    missing = not PYTHON.is_file() and not os.environ.get("CI")
    return pytest.mark.skipif(missing, reason="not installed: tools/synapse.sh")


class Synapse:
    """One homeserver, on a folder. It can be stopped or killed, and started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None
        rate = "{per_second: 100000, burst_count: 100000}"
        limits = [f"{name}: {rate}" for name in _LIMITS]
        limits += [f"rc_login: {{address: {rate}, account: {rate}, failed_attempts: {rate}}}"]
        limits += [f"rc_joins: {{local: {rate}, remote: {rate}}}"]
        limits += [f"rc_invites: {{per_room: {rate}, per_user: {rate}, per_issuer: {rate}}}"]
        facts = {"folder": folder, "port": self.port, "name": NAME, "secret": _SHARED_SECRET}
        (folder / "hs.yaml").write_text(_CONFIG.format(**facts, limits="\n".join(limits)))
        (folder / "log.yaml").write_text(_LOG.format(folder=folder))
        self._run("--generate-keys").wait(PATIENCE)

    def _run(self, *options: str) -> subprocess.Popen[bytes]:
        command = [PYTHON, "-m", "synapse.app.homeserver", "--config-path", self._folder / "hs.yaml", *options]
        with (self._folder / "out").open("ab") as out:
            return subprocess.Popen(command, cwd=self._folder, stdout=out, stderr=out)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._process = self._run()
        until = time.monotonic() + PATIENCE
        while call(self.url, "GET", "/_matrix/client/versions")[0] != 200:
            assert self._process.poll() is None, f"it ended:\n{self.said()}"
            assert time.monotonic() < until, f"it does not answer:\n{self.said()}"
            time.sleep(0.05)

    def end(self, *, how: signal.Signals = signal.SIGTERM) -> None:
        """End it, and wait for its end."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(PATIENCE)
            self._process = None

    def said(self) -> str:
        """What it has printed and logged."""
        there = [self._folder / "out", self._folder / "homeserver.log"]
        return "\n".join(path.read_text(errors="replace")[-4000:] for path in there if path.is_file())

    def user(self, name: str) -> "MatrixUser":
        """A new user, with a device."""
        path = "/_synapse/admin/v1/register"
        nonce = self._ask("GET", path)["nonce"]
        signed = hmac.new(_SHARED_SECRET.encode(), "\x00".join([nonce, name, name, "notadmin"]).encode(), hashlib.sha1)
        body = {"nonce": nonce, "username": name, "password": name, "admin": False, "mac": signed.hexdigest()}
        found = self._ask("POST", path, body)
        return MatrixUser(self.url, found["user_id"], found["access_token"])

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        status, found = call(self.url, method, path, body)
        assert status == 200, (path, status, found)
        return found


class MatrixUser:
    """A person with a client, or the account of a gateway: asks the homeserver as that user."""

    def __init__(self, url: str, user_id: str, token: str) -> None:
        self.url = url
        self.id = user_id
        self.token = token
        self._number = 0

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """The answer of the client API below ``/_matrix/client/v3``. Fails unless it is a success."""
        status, found = call(self.url, method, f"/_matrix/client/v3{path}", body, self.token)
        assert status == 200, (method, path, status, found)
        return found

    def create_room(self, *invited: "MatrixUser", direct: bool = False, name: str = "") -> str:
        """A new room; who is invited is not in it yet."""
        body = {"invite": [one.id for one in invited], "is_direct": direct, "preset": "private_chat"}
        return self.ask("POST", "/createRoom", {**body, **({"name": name} if name else {})})["room_id"]

    def join(self, room: str) -> None:
        """Join a room."""
        self.ask("POST", f"/rooms/{room}/join", {})

    def send(self, room: str, text: str, *, thread: str | None = None, txn: str = "") -> str:
        """Write a message; returns its id. The same `txn` is the same message."""
        self._number += 1
        content: dict[str, Any] = {"msgtype": "m.text", "body": text}
        if thread is not None:
            quoted = {"is_falling_back": True, "m.in_reply_to": {"event_id": thread}}
            content["m.relates_to"] = {"rel_type": "m.thread", "event_id": thread, **quoted}
        path = f"/rooms/{room}/send/m.room.message/{txn or f'{self.id}-{time.monotonic_ns()}-{self._number}'}"
        return self.ask("PUT", path, content)["event_id"]

    def events(self, room: str, since: str | None = None) -> list[Any]:
        """Every event of a room, oldest first."""
        found: list[Any] = []
        token = since
        while True:
            page = self.ask("GET", f"/rooms/{room}/messages?dir=f&limit=500" + (f"&from={token}" if token else ""))
            found += page["chunk"]
            if not page["chunk"] or "end" not in page:
                return found
            token = page["end"]


def call(url: str, method: str, path: str, body: object = None, token: str = "") -> tuple[int, Any]:
    """Status and JSON of a request; status 0 where nobody answers."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        request = urllib.request.Request(f"{url}{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as found:
            return found.status, json.loads(found.read() or b"null")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read() or b"null")
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return 0, None


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]

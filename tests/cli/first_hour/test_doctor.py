"""``trunkline doctor``: what a gateway lacks, a line for each thing, with the remedy; nothing is given away."""

import json
import logging
import os
import signal
import socket
import sqlite3
import threading
import time
from contextlib import closing
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import metadata

import pytest

from tests.cli.first_hour.conftest import PLATFORMS
from tests.support.for_each import for_each
from tests.support.serve.processes import serve
from trunkline.app.serve import doctor as doctor_module
from trunkline.app.serve import machine

TELEGRAM = "accounts: [{{telegram: {{token: {{env: SOME_TOKEN}}, api_root: '{}'}}}}]\n"
MODEL = "agents: {{main: {{openai: {{model: m, base_url: '{}/v1', api_key: {{file: model.key}}}}}}}}\n"
SECRET = "123456:a-secret-that-nobody-may-see"


@pytest.fixture
def doctor(tmp_path, trunkline, monkeypatch):
    """Examines the text of a configuration; `state`, as the server would have it, is in the same folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(logging.root.manager, "disable", 0)

    def examine(text=None, *words):
        if text is not None:
            (tmp_path / "gateway.yaml").write_text(text)
            words = ("--config", "gateway.yaml", *words)
        return trunkline("doctor", *words)

    return examine


def lines_of(out):
    """What -> state and text, for the lines of the checkup."""
    rows = [line for line in out.splitlines()[:-1] if not line.startswith("          -> ")]
    return {row[10:].split("  ")[0]: (row[:8].strip(), row) for row in rows}


def made(folder):
    return sorted((str(path.relative_to(folder)), path.stat().st_mtime_ns) for path in folder.rglob("*"))


@pytest.fixture
def answering():
    """Starts a server that answers every request in its own way; returns its address."""
    servers, over = [], threading.Event()

    def start(status=200, body=b'{"ok": true, "result": {"username": "bot"}}', date=None, wait=0.0, drips=0):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                time.sleep(wait)
                self.send_response_only(status)
                if date is not None:
                    self.send_header("Date", formatdate(time.time() + date, usegmt=True))
                self.send_header("Content-Length", str(len(body) + drips))
                self.end_headers()
                for _ in range(drips):
                    self.wfile.write(b" ")
                    if over.wait(0.1):
                        return
                self.wfile.write(body)

            def log_message(self, format, *args):  # noqa: A002 -- its name in the base
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        over.set()
        server.shutdown()
        server.server_close()


def test_without_a_configuration_the_defaults_are_checked_and_what_is_left_out_is_said(doctor, tmp_path):
    code, out, err = doctor()
    assert (code, err) == (0, "")
    seen = lines_of(out)
    assert [(what, state) for what, (state, _) in seen.items()] == [
        *(("Python", "ok"), ("Trunkline", "ok"), ("packages", "ok"), ("token", "ok")),
        *(("configuration", "left out"), ("clock", "left out"), ("disk", "ok"), ("store", "ok"), ("limits", "ok")),
    ]
    assert "-> name it with --config gateway.yaml; trunkline init writes one" in out
    assert out.endswith("0 checks failed, 0 warnings\n")
    assert made(tmp_path) == []


def config_of(fakes, more=""):
    accounts = [account for account in fakes.accounts if set(account) & set(PLATFORMS)]
    return json.dumps({"accounts": accounts}) + more


def test_each_platform_says_whose_the_token_is_and_the_clock_is_compared(fakes, doctor, tmp_path):
    code, out, err = doctor(config_of(fakes))
    assert (code, err) == (0, ""), out
    seen = lines_of(out)
    for n, account in enumerate(fakes.accounts):
        [platform] = set(account) & set(PLATFORMS)
        state, row = seen[f"accounts[{n}].{platform}"]
        assert state == "ok" and "  it " in row
    assert "the clock" not in out and "it agrees with that of accounts[0]" in seen["clock"][1]
    for secret in fakes.environment.values():
        assert secret not in out
    assert [name for name, _ in made(tmp_path)] == ["gateway.yaml"]


def test_a_refused_token_and_a_missing_one_fail_and_the_others_are_asked(fakes, doctor, monkeypatch):
    monkeypatch.setenv("TELEGRAM_TOKEN", SECRET)
    monkeypatch.delenv("DISCORD_TOKEN")
    code, out, _ = doctor(config_of(fakes))
    seen = {what.partition(".")[2]: found for what, found in lines_of(out).items()}
    assert code == 1
    assert (seen["telegram"][0], seen["discord"][0], seen["slack"][0]) == ("failed", "left out", "ok")
    assert "the answer is 401" in seen["telegram"][1]
    assert "export DISCORD_TOKEN=..." in out
    assert out.count("DISCORD_TOKEN is empty") == 1, "the configuration does not say it again"
    assert SECRET not in out


def test_one_account_that_hangs_holds_nothing_up(doctor, answering, monkeypatch):
    monkeypatch.setattr(doctor_module, "_WITHIN", 1.5)
    monkeypatch.setenv("SOME_TOKEN", SECRET)
    monkeypatch.setenv("OTHER", SECRET[::-1])
    slow, quick = answering(drips=600), answering(date=0)
    account = "{{telegram: {{token: {{env: {}}}, api_root: '{}'}}, account: {}}}"
    texts = [account.format("SOME_TOKEN", slow, "one"), account.format("OTHER", quick, "two")]
    before = time.monotonic()
    code, out, _ = doctor(f"accounts: [{', '.join(texts)}]\n")
    assert time.monotonic() - before < 8
    seen = lines_of(out)
    assert code == 1
    assert "no answer within 1.5 s" in seen["accounts[0].telegram"][1]
    assert seen["accounts[1].telegram"][0] == "ok"
    assert SECRET not in out


OFF = {0: "agrees", 20: "agrees", -20: "agrees", 90: "s behind that of", -90: "s ahead of that of"}


@for_each(("off", "said"), list(OFF.items()))
def test_the_clock(off, said, doctor, answering, monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", SECRET)
    code, out, _ = doctor(TELEGRAM.format(answering(date=off)))
    found, row = lines_of(out)["clock"]
    assert (code, found) == (0, "ok" if abs(off) < 30 else "warning")
    assert said in row
    assert ("timedatectl" in out) == (abs(off) > 30)


def test_a_platform_that_does_not_say_the_time_is_no_clock(doctor, answering, monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", SECRET)
    assert lines_of(doctor(TELEGRAM.format(answering()))[1])["clock"][0] == "left out"


def free_port():
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


#: what is wrong -> the words or the configuration, the exit code, and what is said of it
WRONG = {
    "no such file": (["--config", "nowhere.yaml"], 2, "nowhere.yaml is no file: name a configuration"),
    "a folder": (["--config", "."], 2, ". is no file: name a configuration"),
    "no file named": (["--config"], 2, "--config"),
    "an unknown option": (["--konfig", "g.yaml"], 2, "Did you mean --config?"),
    "a word too much": (["gateway.yaml"], 2, "trunkline doctor takes no more arguments: gateway.yaml"),
    "no YAML": ("accounts: [", 1, "gateway.yaml:"),
    "no mapping": ("- a\n", 1, "expected a mapping"),
    "empty": ("", 1, "gateway.yaml"),
    "an unknown field": ("akkounts: []\n", 1, "akkounts"),
    "an unknown platform": ("accounts: [{telegramm: {}}]\n", 1, "telegramm"),
    "a token in the file": (f"accounts: [{{telegram: {{token: '{SECRET}'}}}}]\n", 1, "accounts[0].telegram.token"),
    "no variable": (
        TELEGRAM.format("http://127.0.0.1:9"),
        1,
        "the environment variable SOME_TOKEN is empty or not set",
    ),
    "no file of a secret": (MODEL.format("http://127.0.0.1:9"), 1, "write the secret into "),
    "an account twice": ("accounts: [{channel: webchat}, {channel: webchat}]\n", 1, "is given twice"),
    "no such program": ("agents: {main: {program: {command: [./nowhere]}}}\n", 1, "nowhere is no executable file"),
    "nobody at the webhook": (
        f"agents: {{main: {{webhook: {{url: 'http://127.0.0.1:{free_port()}/t'}}}}}}\n",
        1,
        "no connection to 127.0.0.1:",
    ),
    "a port that is none": ("http: {listen: '127.0.0.1:99999'}\n", 1, "99999"),
    "an open address without a token": ("http: {listen: '0.0.0.0:8420'}\n", 1, "token"),
    "no certificate": (
        "http: {tls: {certificate: c.pem, key: k.pem}}\n",
        1,
        "http.tls: c.pem and k.pem cannot be used",
    ),
    "the store is a folder": ("store: .\n", 1, "a folder, and no store"),
    "the store is a text": ("store: gateway.yaml\n", 1, "gateway.yaml"),
    "a token that others can read": ("http: {token_file: open.token}\n", 1, "can be read by others (mode 644)"),
}


@for_each(("given", "wanted", "named"), list(WRONG.values()), ids=list(WRONG))
def test_what_is_wrong_is_named_and_nothing_is_written(given, wanted, named, doctor, tmp_path):
    (tmp_path / "open.token").write_text("x" * 30)
    (tmp_path / "open.token").chmod(0o644)
    text, words = (None, given) if isinstance(given, list) else (given, [])
    code, out, err = doctor(text, *words)
    assert code == wanted, out + err
    assert named in (err if wanted == 2 else out)
    assert "Traceback" not in err and SECRET not in out + err
    assert {name for name, _ in made(tmp_path)} <= {"gateway.yaml", "open.token"}


def test_a_broken_configuration_says_what_it_leaves_out(doctor):
    _, out, _ = doctor("akkounts: []\nhttp: 7\n")
    assert [line[:8].strip() for line in out.splitlines() if "  configuration  " in line] == ["failed", "failed"]
    assert "left out  the rest" in out


def test_files_of_secrets(doctor, tmp_path, answering):
    key = tmp_path / "model.key"
    key.write_text(SECRET)
    key.chmod(0o644)
    code, out, _ = doctor(MODEL.format(answering()))
    assert code == 0
    assert f"chmod 600 {key}" in out and "everybody can read" in out
    assert out.endswith("0 checks failed, 1 warning\n")
    key.chmod(0o600)
    assert doctor(MODEL.format(answering()))[1].endswith("0 checks failed, 0 warnings\n")
    code, out, _ = doctor(MODEL.format(answering(status=401)))
    assert code == 1 and "the answer is 401" in out and SECRET not in out


def test_packages_that_the_configuration_needs_and_that_are_missing(doctor, monkeypatch, answering):
    real = metadata.distributions
    gone = {"python-telegram-bot", "uvicorn", "httpx"}
    monkeypatch.setattr(metadata, "distributions", lambda **named: [] if named.get("name") in gone else real(**named))
    monkeypatch.setenv("SOME_TOKEN", SECRET)
    code, out, _ = doctor(TELEGRAM.format(answering()))
    assert code == 1
    assert "not installed: httpx,uvicorn,python-telegram-bot" in out
    assert "-m pip install --editable '" in out and "[http,telegram]'" in out
    assert "slack" not in out
    assert lines_of(out)["accounts[0].telegram"][0] == "left out"


def test_a_webhook_that_takes_connections(doctor, answering):
    url = answering()
    code, out, _ = doctor(f"agents: {{main: {{webhook: {{url: '{url}/turns'}}}}}}\n")
    assert code == 0 and "takes connections" in lines_of(out)["agents.main.webhook"][1]


def test_a_store_in_use_is_read_and_stays_as_it_is(doctor, tmp_path):
    with serve(tmp_path, "--port", "0", "--state", tmp_path) as server:
        server.ready()
        code, out, _ = doctor(None, "--state", tmp_path)
        assert code == 0
        assert f":{server.process.pid} works the store" in lines_of(out)["lease"][1]
        server.signal(signal.SIGTERM)
        assert server.ended() == 0
    before = made(tmp_path)
    code, out, _ = doctor(None, "--state", tmp_path)
    assert code == 0
    assert "no process works the store" in lines_of(out)["lease"][1]
    assert f"{tmp_path / 'gateway.db'} is sound" in out
    assert made(tmp_path) == before


def test_a_damaged_store(doctor, tmp_path):
    with serve(tmp_path, "--port", "0", "--state", tmp_path) as server:
        server.ready()
    store = tmp_path / "gateway.db"
    with closing(sqlite3.connect(store)) as connection:
        [size] = connection.execute("PRAGMA page_size").fetchone()
    with store.open("r+b") as file:
        file.seek(size * 3)
        file.write(os.urandom(size * 20))
    code, out, _ = doctor(None, "--state", tmp_path)
    assert code == 1
    assert lines_of(out)["store"][0] == "failed"


def test_few_descriptors_are_a_warning(doctor, monkeypatch):
    monkeypatch.setattr(doctor_module, "raise_descriptor_limit", lambda: 256)
    code, out, err = doctor("http: {max_connections: 5000}\n")
    assert (code, err) == (0, "")
    assert lines_of(out)["limits"][1].startswith("warning   limits")
    assert machine.MORE_FILES in out


def test_little_room_on_the_disk_is_a_warning(doctor, monkeypatch):
    monkeypatch.setattr(doctor_module, "_DISK", 2**60)
    code, out, _ = doctor()
    assert (code, lines_of(out)["disk"][0]) == (0, "warning")


def test_json_has_a_version_and_the_same_lines(doctor):
    code, out, _ = doctor("akkounts: []\n", "--json")
    document = json.loads(out)
    assert code == 1
    assert list(document) == ["trunkline_doctor", "config", "fine", "checks"]
    assert (document["trunkline_doctor"], document["config"], document["fine"]) == (1, "gateway.yaml", False)
    assert {check["state"] for check in document["checks"]} == {"ok", "failed", "left out"}
    assert all(set(check) <= {"state", "what", "seen", "remedy"} for check in document["checks"])


def test_hostile_names_do_not_reach_the_terminal_raw(doctor):
    _, out, _ = doctor('agents: {main: {program: {command: ["./a\\e[31mb"]}}}\n')
    assert "\x1b" not in out

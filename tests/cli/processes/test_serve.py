"""``trunkline serve`` as a real process: its start, its signals, its end, and what it refuses."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.support.serve.processes import COMMAND, PATIENCE, ask, say, serve, token_of, wait_for

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and file modes of POSIX")

#: an agent that waits before it answers, as long as its message says
SLOW = """\
import json, sys, time
print(json.dumps({"type": "hello", "protocol": 1}), flush=True)
for line in sys.stdin:
    turn = json.loads(line)
    if turn["type"] == "turn":
        time.sleep(float(turn["text"]))
        print(json.dumps({"type": "answer", "turn": turn["id"], "text": "slept"}), flush=True)
"""


def refused(folder: Path, *arguments: str) -> str:
    """What a server says that ends before it serves."""
    done = subprocess.run(
        [*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_newcomer_types_one_command_and_talks_to_it(tmp_path: Path) -> None:
    with serve(tmp_path, "--port", "0", environ={"XDG_STATE_HOME": str(tmp_path)}) as server:
        url = server.ready().url
        assert server.output.splitlines() == [
            f"Trunkline serves {url}",
            f"Its token is in {tmp_path / 'trunkline' / 'token'}",
        ]
        token = (tmp_path / "trunkline" / "token").read_text().strip()
        status, answer = say(url, token, "hello", "1")
        assert status == 200
        assert [one["text"] for one in answer["outbound_payloads"]] == ["hello"]
        assert ask(f"{url}/v1/health/live") == (200, {"status": "live"})
        assert say(url, "wrong", "hello", "2")[0] == 401
        # Nobody has to say which gateway.
        command = [sys.executable, "-m", "trunkline", "queue", "list", "--all"]
        listed = subprocess.run(
            command, env={**os.environ, "XDG_STATE_HOME": str(tmp_path)}, capture_output=True, text=True, check=True
        )
        assert listed.stderr == f"trunkline: the gateway of {tmp_path / 'trunkline' / 'gateway.db'}\n"
        assert "1 delivered" in listed.stdout
        server.signal(signal.SIGTERM)
        assert server.ended() == 0
        assert token not in server.log + server.output
        assert "hello" not in server.log
    for path in (tmp_path / "trunkline").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_who_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    sessions = set[tuple[str, str]]()
    for n in range(3):
        with serve(tmp_path, "--port", "0", "--state", "state") as server:
            url = server.ready().url
            status, answer = say(url, token_of(tmp_path), f"text {n}", f"id-{n}")
            assert (status, answer["outbound_payloads"][0]["text"]) == (200, f"text {n}")
            # The first one again, which an earlier process has answered.
            again = say(url, token_of(tmp_path), "text 0", "id-0")[1]
            assert again["duplicate"]
            assert [one["text"] for one in again["outbound_payloads"]] == ["text 0"]
            sessions |= {(one["session_key"], one["session_id"]) for one in (answer, again)}
            server.kill()
    assert len(sessions) == 1, "a person keeps the session"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_is_in_progress_is_finished_first(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "g.yaml").write_text(f"agents: {{main: {{program: {{command: [{sys.executable}, slow.py]}}}}}}\n")
    with serve(tmp_path, "--config", "g.yaml", "--port", "0", "--state", "state") as server:
        url = server.ready().url
        inbound = say(url, token_of(tmp_path), "1.5", "1", wait=False)[1]["id"]
        time.sleep(0.3)
        server.signal(number)
        assert server.ended() == 0
        assert f"{number.name}: stopping" in server.log
        assert ask(f"{url}/v1/health/live")[0] == 0
    with serve(tmp_path, "--port", "0", "--state", "state") as server:
        url = server.ready().url
        # The first process has answered: the agent of this one echoes.
        answer = ask(f"{url}/v1/chat/inbound/{inbound}?wait=5", token_of(tmp_path))[1]
        assert [one["text"] for one in answer["outbound_payloads"]] == ["slept"]


def test_a_second_signal_ends_it_at_once_and_the_next_process_does_the_rest(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "g.yaml").write_text(f"agents: {{main: {{program: {{command: [{sys.executable}, slow.py]}}}}}}\n")
    with serve(tmp_path, "--config", "g.yaml", "--port", "0", "--state", "state") as server:
        inbound = say(server.ready().url, token_of(tmp_path), "500", "1", wait=False)[1]["id"]
        time.sleep(0.3)
        server.signal(signal.SIGTERM)
        server.logged("SIGTERM: stopping")
        time.sleep(0.5)
        assert server.process.poll() is None
        server.signal(signal.SIGTERM)
        # The program does not end by itself: the system cuts the wait for it.
        assert server.ended() in (0, -signal.SIGALRM)
        assert "SIGTERM again: stopping at once" in server.log
    with serve(tmp_path, "--port", "0", "--state", "state") as server:
        url = server.ready().url
        answer = ask(f"{url}/v1/chat/inbound/{inbound}?wait=10", token_of(tmp_path))[1]
        assert [one["text"] for one in answer["outbound_payloads"]] == ["500"]


def test_what_takes_too_long_is_left_to_the_next_process(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "g.yaml").write_text(
        f"agents: {{main: {{program: {{command: [{sys.executable}, slow.py]}}}}}}\nfinish_within: 1s\n"
    )
    with serve(tmp_path, "--config", "g.yaml", "--port", "0", "--state", "state") as server:
        say(server.ready().url, token_of(tmp_path), "500", "1", wait=False)
        time.sleep(0.3)
        server.signal(signal.SIGTERM)
        assert server.ended() == 0
        assert "1 turns and sends are left to the next process" in server.log


def test_reload_by_signal_and_by_api(tmp_path: Path) -> None:
    path = tmp_path / "g.yaml"
    rest = "agents: {main: {echo: {}}, b: {echo: {}}}\nlog: {format: json}\n"
    path.write_text(rest)
    with serve(tmp_path, "--config", "g.yaml", "--port", "0", "--state", "state") as server:
        url = server.ready().url
        reload, token = f"{url}/v1/admin/reload", token_of(tmp_path)
        assert say(url, token, "one", "1")[1]["agent_id"] == "main"

        path.write_text(f"{rest}gateway:\n  bindings: [{{match: {{channel: webchat}}, agent: b}}]\nstore: other.db\n")
        server.signal(signal.SIGHUP)
        server.logged("only a restart changes: store")
        assert say(url, token, "two", "2")[1]["agent_id"] == "b"

        path.write_text(f"{rest}gatewy: {{}}\n")
        status, problem = ask(reload, token, method="POST")
        assert status == 422
        assert problem["detail"].startswith("g.yaml:3:1: gatewy: unknown field")
        server.signal(signal.SIGHUP)
        server.logged("the configuration was not reloaded, the old one stays: g.yaml:3:1: gatewy")
        assert say(url, token, "three", "3")[1]["agent_id"] == "b"

        path.write_text(rest.replace("b: {echo: {}}", "b: {echo: {}}, c: {echo: {}}"))
        status, problem = ask(reload, token, method="POST")
        assert (status, "agents.c: an agent cannot be added while the gateway runs" in problem["detail"]) == (422, True)

        path.write_text(rest)
        status, answer = ask(reload, token, method="POST")
        assert (status, answer["revision"], answer["needs_restart"]) == (200, 3, [])
        assert answer["changed"] == ["gateway.bindings"]
        assert say(url, token, "four", "4")[1]["agent_id"] == "main"
        assert all(json.loads(line) for line in server.log.splitlines())


def test_two_on_one_port(tmp_path: Path) -> None:
    with serve(tmp_path, "--port", "0", "--state", "state") as server:
        port = server.url.rpartition(":")[2]
        said = refused(tmp_path, "--port", port, "--state", "other")
        assert said.count("\n") == 1
        assert f"port {port} on 127.0.0.1 is taken" in said
        assert "--port 0 takes a free one" in said
    assert not (tmp_path / "other" / "gateway.db").exists()


def test_two_on_one_store_stand_by_for_each_other(tmp_path: Path) -> None:
    with serve(tmp_path, "--port", "0", "--state", "state") as first:
        first.ready()
        with serve(tmp_path, "--port", "0", "--state", "state") as second:
            second.logged(f":{first.process.pid} holds the store: this process stands by until it stops")
            assert ask(f"{second.url}/v1/health/live")[0] == 200
            status, problem = ask(f"{second.url}/v1/health/ready")
            assert (status, problem["type"]) == (503, "urn:trunkline:problem:standby")
            assert say(second.url, token_of(tmp_path), "hello", "1")[0] == 503
            first.kill()
            assert say(second.ready().url, token_of(tmp_path), "hello", "1")[0] == 200


def test_a_recording_can_be_read(tmp_path: Path) -> None:
    with serve(tmp_path, "--port", "0", "--state", "state", "--record", "traces") as server:
        say(server.ready().url, token_of(tmp_path), "hello", "1")
        server.signal(signal.SIGTERM)
        assert server.ended() == 0
    (path,) = (tmp_path / "traces").iterdir()
    report = [sys.executable, "-m", "trunkline", "report", "--cut", str(path)]
    done = subprocess.run(report, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    assert "all hold up to the cut" in done.stdout
    assert "hello" in done.stdout


def test_every_part_of_a_recording_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "g.yaml").write_text("record: {folder: traces, file_size: 10kB}\n")
    with serve(tmp_path, "--config", "g.yaml", "--port", "0", "--state", "state") as server:
        url = server.ready().url
        for n in range(20):
            say(url, token_of(tmp_path), f"text {n}", str(n))
        server.signal(signal.SIGTERM)
        assert server.ended() == 0
    paths = sorted((tmp_path / "traces").iterdir())
    assert len(paths) >= 3
    for path in (paths[0], paths[1], paths[-1]):
        report = [sys.executable, "-m", "trunkline", "report", "--cut", str(path)]
        done = subprocess.run(report, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_open_streams_do_not_hold_up_the_stop(tmp_path: Path) -> None:
    # Longer than anything here may take: it is for work that is in progress.
    (tmp_path / "g.yaml").write_text("finish_within: 10m\n")
    with serve(tmp_path, "--config", "g.yaml", "--port", "0", "--state", "state") as server:
        url = server.ready().url
        request = urllib.request.Request(f"{url}/v1/events", headers={"Authorization": f"Bearer {token_of(tmp_path)}"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as stream:
            say(url, token_of(tmp_path), "hello", "1")
            assert stream.readline()
            server.signal(signal.SIGTERM)
            assert server.ended() == 0
            stream.read()


#: arguments, files to write first, and what is said
REFUSED: dict[str, tuple[tuple[str, ...], dict[str, str], str]] = {
    "a file that is missing": (("--config", "none.yaml"), {}, "none.yaml: cannot be read: No such file or directory"),
    "a field": (("--config", "g.yaml"), {"g.yaml": "\nhttp: {prot: 1}\n"}, "g.yaml:2:8: http.prot: unknown field"),
    "an address": (("--listen", "nowhere:x"), {}, "'nowhere:x' is not an address to listen on"),
    "a public address": (("--listen", "0.0.0.0:0"), {}, "0.0.0.0 is not a loopback address"),
    "a port": (("--port", "70000"), {}, "70000 is not a port: expected 0 to 65535"),
    "a store that is none": (
        ("--port", "0", "--config", "g.yaml"),
        {"g.yaml": "store: text.db\n", "text.db": "this is not a database, but long enough to look like one" * 20},
        "text.db",
    ),
    "a store that is a folder": (("--port", "0", "--config", "g.yaml"), {"g.yaml": "store: .\n"}, "unable to open"),
    "a secret that is not set": (
        ("--port", "0", "--config", "g.yaml"),
        {"g.yaml": "http: {tokens: [{name: ci, scopes: [read], token: {env: NOT_SET}}]}\n"},
        "http.tokens[0].token: the environment variable NOT_SET is empty or not set: put the secret there",
    ),
    "a secret file that is missing": (
        ("--port", "0", "--config", "g.yaml"),
        {"g.yaml": "http: {tokens: [{name: ci, scopes: [read], token: {file: none}}]}\n"},
        "http.tokens[0].token: the file ",
    ),
    "a secret that can be guessed": (
        ("--port", "0", "--config", "g.yaml"),
        {"g.yaml": "http: {tokens: [{name: ci, scopes: [read], token: {file: short}}]}\n", "short": "abc123"},
        "http.tokens[0].token: it has fewer than 16 characters, so it can be guessed",
    ),
    "a secret that no header can carry": (
        ("--port", "0", "--config", "g.yaml"),
        {"g.yaml": "http: {tokens: [{name: ci, scopes: [read], token: {file: odd}}]}\n", "odd": "sixteen letters ä"},
        "http.tokens[0].token: it cannot be sent in a header",
    ),
    "a certificate that is none": (
        ("--port", "0", "--config", "g.yaml"),
        {"g.yaml": "http: {tls: {certificate: c.pem, key: c.pem}}\n", "c.pem": "nothing"},
        "http.tls: c.pem and c.pem cannot be used: they are no certificate and its key in PEM",
    ),
    "a folder for traces that is a file": (
        ("--port", "0", "--record", "file"),
        {"file": ""},
        "record: file cannot be written",
    ),
    "an unknown option": (("--prot", "1"), {}, "Try: trunkline serve --help"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_before_anything_begins(tmp_path: Path, case: str) -> None:
    arguments, files, message = REFUSED[case]
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    said = refused(tmp_path, *arguments, "--state", "state")
    assert message in said
    assert "abc123" not in said


def test_a_token_that_others_can_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "token").write_text("this-token-is-no-secret\n")
    (tmp_path / "state" / "token").chmod(0o644)
    said = refused(tmp_path, "--port", "0", "--state", "state")
    assert "can be read by others (mode 644)" in said
    assert "this-token" not in said


def test_neither_the_library_nor_the_help_imports_what_speaks_http() -> None:
    code = (
        "import sys, trunkline; trunkline.Gateway\n"
        "sys.argv = ['trunkline', '--help']\n"
        "from trunkline.app.cli import main; main()\n"
        "print(sorted({'starlette', 'uvicorn', 'httpx', 'websockets', 'openai', 'httptools'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_https(tmp_path: Path) -> None:
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-keyout", "key.pem", "-out", "cert.pem", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
        cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("openssl makes no certificate here")
    (tmp_path / "g.yaml").write_text("http: {tls: {certificate: cert.pem, key: key.pem}}\n")
    trusted = {**os.environ, "SSL_CERT_FILE": str(tmp_path / "cert.pem")}
    with serve(tmp_path, "--config", "g.yaml", "--port", "0", "--state", "state") as server:
        assert server.url.startswith("https://127.0.0.1:")
        code = f"import urllib.request as r; print(r.urlopen('{server.url}/v1/health/live').read())"
        done = subprocess.run([sys.executable, "-c", code], env=trusted, capture_output=True, text=True, check=False)
        assert "live" in done.stdout, done.stderr
    wait_for(lambda: server.process.poll() is not None, lambda: server.log)


def test_who_was_frozen_for_too_long_ends_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "g.yaml").write_text("gateway: {delivery: {lease: 1s, request_timeout: 300ms}}\n")
    arguments = ("--config", "g.yaml", "--port", "0", "--state", "state")
    with serve(tmp_path, *arguments) as holder:
        holder.ready()
        with serve(tmp_path, *arguments) as other:
            other.logged("holds the store")
            holder.signal(signal.SIGSTOP)
            other.ready()
            holder.signal(signal.SIGCONT)
            assert holder.ended() == 1
            said = "trunkline: another process has taken over the store; this one has ended"
            assert holder.log.splitlines()[-1] == said
            assert say(other.url, token_of(tmp_path), "hello", "1")[0] == 200


def test_a_process_that_stands_by_can_be_stopped(tmp_path: Path) -> None:
    with serve(tmp_path, "--port", "0", "--state", "state") as first:
        first.ready()
        with serve(tmp_path, "--port", "0", "--state", "state") as second:
            second.logged("holds the store")
            second.signal(signal.SIGTERM)
            assert second.ended() == 0


def test_a_terminal_that_is_closed_ends_its_server(tmp_path: Path) -> None:
    pid, terminal = os.forkpty()
    if pid == 0:
        os.chdir(tmp_path)
        os.execv(COMMAND[0], [*COMMAND, "--port", "0", "--state", "state"])
    said = b""
    # At a terminal it says how to sign in; elsewhere the token would stay in a log.
    while re.search(rb"Sign in with it: http://127.0.0.1:\d+/chat#token=[\w-]{20,}\r\n", said) is None:
        said += os.read(terminal, 4096)
    os.close(terminal)
    ended = list[int]()

    def over() -> bool:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            ended.append(os.waitstatus_to_exitcode(status))
        return bool(done)

    try:
        wait_for(over, lambda: "it still runs")
    finally:
        if not ended:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    # 2: what it had to say at its end could not be written any more.
    assert ended[0] in (0, 2)

"""The processes of a gateway are one: they start, stand still and die together, whatever they do to get away."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest

from tests.attach.process.programs import lives, program, until
from trunkline.sim.attach.process.gateway_log import GatewayLog
from trunkline.sim.attach.process.process_tree import ProcessTree
from trunkline.sim.loop import run_real_time

pytestmark = pytest.mark.skipif(os.name != "posix", reason="gateways are attached on POSIX systems")

#: what leaves its parent, its session, or both
FAMILY = """
here("main")
forked("child", lambda: (forked("grandchild"), time.sleep(1000)))
def daemon():
    os.setsid()
    if os.fork() == 0:
        here("daemon")
        for one in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(one, signal.SIG_IGN)
        time.sleep(1000)
    os._exit(0)
forked("between", daemon)
time.sleep(1000)
"""
NAMES = ("main", "child", "grandchild", "daemon")


@pytest.fixture(params=[True, False], ids=["namespace", "one by one"])
def namespace(request: pytest.FixtureRequest) -> bool:
    if request.param and ProcessTree.refused:
        pytest.skip(f"no PID namespace here: {ProcessTree.refused}")
    return request.param


@pytest.fixture
def open_log() -> Iterator[Callable[..., GatewayLog]]:
    with ExitStack() as opened:
        yield lambda folder, **options: opened.enter_context(GatewayLog(folder / "gateway.log", **options))


def play(folder: Path, body: str, namespace: bool, then: Callable[[ProcessTree], Awaitable[None]]) -> None:
    async def main(_: object) -> None:
        with GatewayLog(folder / "gateway.log") as log:
            tree = ProcessTree(program(folder, body), {"PATH": os.environ["PATH"]}, folder, log, namespace=namespace)
            tree.start()
            try:
                await then(tree)
            finally:
                tree.kill()

    run_real_time(main)


def all_up(folder: Path, names: tuple[str, ...] = NAMES) -> Callable[[], bool]:
    return lambda: all((folder / f"{name}.up").exists() for name in names)


def test_every_process_is_dead_when_kill_returns(tmp_path: Path, namespace: bool) -> None:
    async def then(tree: ProcessTree) -> None:
        await until(all_up(tmp_path))
        assert len(tree.pids()) >= len(NAMES)
        assert all(lives(tmp_path, name) for name in NAMES)
        tree.kill()
        assert not [name for name in NAMES if lives(tmp_path, name)]
        assert tree.exit_code == -signal.SIGKILL
        assert tree.pids() == []

    play(tmp_path, FAMILY, namespace, then)


def test_the_end_of_the_first_process_ends_all_and_is_seen_at_once(tmp_path: Path, namespace: bool) -> None:
    body = FAMILY.rpartition("time.sleep")[0] + "while not os.path.exists('go'): time.sleep(0.005)\nos._exit(3)"

    async def then(tree: ProcessTree) -> None:
        await until(all_up(tmp_path))
        (tmp_path / "go").touch()
        began = time.monotonic()
        assert await tree.wait() == 3
        assert time.monotonic() - began < 3.0
        assert not [name for name in NAMES if lives(tmp_path, name)]

    play(tmp_path, body, namespace, then)


def test_all_processes_stand_still_and_go_on(tmp_path: Path, namespace: bool) -> None:
    body = """
def count(name):
    n = 0
    while True:
        n += 1
        with open(name + ".n", "w") as file: file.write(str(n))
        time.sleep(0.002)
def daemon():
    os.setsid()
    forked("daemon", lambda: count("daemon"))
    os._exit(0)
forked("child", lambda: count("child"))
forked("between", daemon)
here("main")
count("main")
"""
    names = ("main", "child", "daemon")

    def counts() -> list[str]:
        return [(tmp_path / f"{name}.n").read_text() for name in names]

    async def then(tree: ProcessTree) -> None:
        await until(all_up(tmp_path, names))
        await until(lambda: all((tmp_path / f"{name}.n").exists() for name in names))
        tree.freeze()
        there = counts()
        await anyio.sleep(0.2)
        assert counts() == there
        tree.thaw()
        await until(lambda: all(now not in ("", before) for now, before in zip(counts(), there, strict=True)))
        # One that stands still dies too.
        tree.freeze()
        tree.kill()
        assert not [name for name in names if lives(tmp_path, name)]

    play(tmp_path, body, namespace, then)


def test_only_the_first_process_is_asked_to_end(tmp_path: Path, namespace: bool) -> None:
    body = """
def bye(*_):
    open("asked-" + name, "w").close()
    os._exit(7 if name == "main" else 0)
name = "main"
signal.signal(signal.SIGTERM, bye)
if os.fork() == 0:
    name = "child"
    here("child")
    time.sleep(1000)
here("main")
while True: time.sleep(1000)
"""

    async def then(tree: ProcessTree) -> None:
        await until(all_up(tmp_path, ("main", "child")))
        tree.terminate()
        assert await tree.wait() == 7
        assert not (tmp_path / "asked-child").exists()
        assert not lives(tmp_path, "child")

    play(tmp_path, body, namespace, then)


def test_one_that_ignores_sigterm_is_killed(tmp_path: Path, namespace: bool) -> None:
    body = "signal.signal(signal.SIGTERM, signal.SIG_IGN); here('main'); time.sleep(1000)"

    async def then(tree: ProcessTree) -> None:
        await until(all_up(tmp_path, ("main",)))
        tree.terminate()
        with anyio.move_on_after(0.3) as scope:
            await tree.wait()
        assert scope.cancelled_caught
        tree.kill()
        assert tree.exit_code == -signal.SIGKILL
        assert not lives(tmp_path, "main")

    play(tmp_path, body, namespace, then)


def test_what_forks_without_end_is_killed(tmp_path: Path) -> None:
    # Only a namespace can end what starts processes faster than they are found.
    if ProcessTree.refused:
        pytest.skip(f"no PID namespace here: {ProcessTree.refused}")
    body = """
here("main")
while True:
    if os.fork() == 0:
        os.setsid()
        kept.clear()
        if os.fork() == 0: time.sleep(0.05)
        os._exit(0)
    os.waitpid(-1, 0)
"""

    async def then(tree: ProcessTree) -> None:
        await until(all_up(tmp_path, ("main",)))
        await anyio.sleep(0.1)
        tree.kill()
        assert not lives(tmp_path, "main")
        assert tree.pids() == []

    play(tmp_path, body, True, then)


def test_the_gateway_gets_its_own_environment_and_folder_and_no_descriptor(
    tmp_path: Path, open_log: Callable[..., GatewayLog], namespace: bool
) -> None:
    body = """
import json
print(json.dumps([sorted(os.environ), os.getcwd(), sorted(map(int, os.listdir("/proc/self/fd")))[:-1],
      signal.getsignal(signal.SIGPIPE) == signal.SIG_DFL, os.getuid(), os.getgid(), os.getsid(0) == os.getpid(),
      os.path.exists(f"/proc/{os.getpid()}")]))
"""
    code = "import sys; sys.argv = sys.argv[1:]; exec(open(sys.argv[0]).read())"

    async def main(_: object) -> None:
        program(tmp_path, body)
        log = open_log(tmp_path)
        command = (sys.executable, "-S", "-c", code, str(tmp_path / "program.py"))
        tree = ProcessTree(command, {"ONLY": "this", "LC_CTYPE": "C"}, tmp_path, log, namespace=namespace)
        tree.start()
        assert await tree.wait() == 0
        (line,) = tree.last_lines()
        import json

        environment, folder, descriptors, _, user, group, session, proc = json.loads(line)
        assert environment == ["LC_CTYPE", "ONLY"]
        assert (folder, descriptors) == (str(tmp_path), [0, 1, 2])
        assert (user, group, session, proc) == (os.getuid(), os.getgid(), True, True)

    run_real_time(main)


@pytest.mark.parametrize(
    ("command", "failure"),
    [
        (("no-such-command",), "command not found: no-such-command"),
        (("./no-such-file",), "command not found: ./no-such-file"),
        ((".",), ".: Permission denied"),
        (("./plain",), "./plain: it is neither a program of this machine nor a script that begins with #!"),
        (("./other",), "./other: its first line names a program that is not there"),
    ],
)
def test_a_command_that_cannot_run_says_why(
    tmp_path: Path, open_log: Callable[..., GatewayLog], namespace: bool, command: tuple[str, ...], failure: str
) -> None:
    for name, text in (("plain", "echo hello\n"), ("other", "#!/no/such/program\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)

    async def main(_: object) -> None:
        tree = ProcessTree(command, {"PATH": "/usr/bin"}, tmp_path, open_log(tmp_path), namespace=namespace)
        tree.start()
        assert await tree.wait() == 127
        assert tree.failure == failure

    run_real_time(main)


def test_numbers_of_processes_go_on_from_start_to_start(tmp_path: Path, open_log: Callable[..., GatewayLog]) -> None:
    # A gateway that finds the number of its last process in a file must not believe that it still runs.
    async def main(_: object) -> None:
        log = open_log(tmp_path)
        for _ in range(3):
            tree = ProcessTree(program(tmp_path, "print(os.getpid())"), {}, tmp_path, log)
            tree.start()
            assert await tree.wait() == 0
        assert len(set(log.last_lines())) == 3

    run_real_time(main)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)
def test_no_process_outlives_who_has_started_it(tmp_path: Path, namespace: bool, how: signal.Signals) -> None:
    program(tmp_path, FAMILY)
    code = f"""
import sys
from pathlib import Path
from trunkline.sim.attach.process.gateway_log import GatewayLog
from trunkline.sim.attach.process.process_tree import ProcessTree
from trunkline.sim.loop import run_real_time
async def main(_):
    folder = Path({str(tmp_path)!r})
    tree = ProcessTree((sys.executable, "-S", "program.py"), {{}}, folder, GatewayLog(folder / "log"),
                       namespace={namespace})
    tree.start()
    await tree.wait()
run_real_time(main)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while not all_up(tmp_path)():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(how)
        process.wait(10)
        deadline = time.monotonic() + 5
        while any(lives(tmp_path, name) for name in NAMES):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait()


def test_a_flood_of_output_neither_fills_the_disk_nor_stops_the_loop(
    tmp_path: Path, open_log: Callable[..., GatewayLog], namespace: bool
) -> None:
    body = "here('main')\nwhile True: os.write(1, b'x' * 99 + b'\\n')"

    async def main(_: object) -> None:
        log = open_log(tmp_path, most=200_000)
        tree = ProcessTree(program(tmp_path, body), {}, tmp_path, log, namespace=namespace)
        tree.start()
        try:
            await until(lambda: bool(log.problem))
            longest = 0.0
            for _ in range(50):
                began = time.monotonic()
                await anyio.sleep(0.002)
                longest = max(longest, time.monotonic() - began)
            assert longest < 1.0
        finally:
            tree.kill()
        assert 200_000 < log.path.stat().st_size < 200_100
        assert log.problem == "the gateway wrote more than 200,000 bytes to its log; gateway.log ends there"
        assert log.last_lines(2) == ("x" * 99,) * 2

    run_real_time(main)

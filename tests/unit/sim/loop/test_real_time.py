"""The loop in real time: its clock, and what a kill and a freeze do to the sockets of a process."""

import asyncio
import time
from typing import Any

import pytest

from trunkline.sim.loop import Node, RealTimeLoop, run_real_time


async def _server(seen: list[str]) -> asyncio.Server:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                seen.append(line.decode().strip())
                writer.write(b"ok\n")
            seen.append("closed")
        except ConnectionError:
            seen.append("reset")
        finally:
            writer.close()

    return await asyncio.start_server(serve, "127.0.0.1", 0)


def _port(server: asyncio.Server) -> int:
    return server.sockets[0].getsockname()[1]


async def _client(port: int, got: list[str]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for number in range(1000):
            writer.write(f"{number}\n".encode())
            got.append((await reader.readline()).decode().strip())
            await asyncio.sleep(1.0)
    finally:
        writer.close()


def test_waiting_is_faster_and_work_takes_no_time() -> None:
    async def main(loop: RealTimeLoop) -> tuple[float, float]:
        began = loop.time()
        time.sleep(0.05)  # noqa: ASYNC251 -- work that does not wait
        worked = loop.time() - began
        await asyncio.sleep(100)
        return worked, loop.time() - began

    before = time.monotonic()
    worked, slept = run_real_time(main, factor=1000, waits_only=True)
    assert (worked, slept) == (0.0, 100.0)
    assert time.monotonic() - before < 5.0


def test_an_answer_over_a_socket_takes_no_time_worth_the_name() -> None:
    """A timeout that is a millisecond by the machine does not strike what is on its way."""

    async def main(loop: RealTimeLoop) -> tuple[list[str], float]:
        seen: list[str] = []
        got: list[str] = []
        server = await _server(seen)
        task = asyncio.create_task(_client(_port(server), got))
        await asyncio.sleep(50.5)
        task.cancel()
        server.close()
        return got, loop.time()

    got, at = run_real_time(main, factor=1000, waits_only=True)
    assert got == ["ok"] * 51
    assert 50.5 <= at < 51.5


def test_a_killed_process_closes_its_sockets() -> None:
    async def main(loop: RealTimeLoop) -> list[str]:
        seen: list[str] = []
        server = await _server(seen)
        node = Node("client")
        loop.create_task(_client(_port(server), []), context=node.context())
        await asyncio.sleep(1.5)
        node.kill()
        loop.close_connections(node)
        await asyncio.sleep(1.0)
        server.close()
        return seen

    assert run_real_time(main, factor=20, waits_only=True) in (["0", "1", "closed"], ["0", "1", "reset"])


def test_a_frozen_process_keeps_its_sockets_and_reads_later() -> None:
    async def main(loop: RealTimeLoop) -> tuple[list[str], list[str], int]:
        seen: list[str] = []
        got: list[str] = []
        writers: list[asyncio.StreamWriter] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writers.append(writer)
            while line := await reader.readline():
                seen.append(line.decode().strip())

        async def listen(port: int) -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"here\n")
            while line := await reader.readline():
                got.append(line.decode().strip())
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        node = Node("client")
        loop.create_task(listen(_port(server)), context=node.context())
        await asyncio.sleep(1.0)
        node.freeze()
        writers[0].write(b"meanwhile\n")
        before = loop.steps
        await asyncio.sleep(10.0)
        steps, unread = loop.steps - before, list(got)
        loop.thaw(node)
        await asyncio.sleep(1.0)
        writers[0].close()
        await asyncio.sleep(1.0)
        server.close()
        return unread, got, steps

    unread, got, steps = run_real_time(main, factor=100, waits_only=True)
    assert (unread, got) == ([], ["meanwhile"])
    # Data that nobody reads does not keep the loop busy.
    assert steps < 20


def test_a_process_that_dies_while_it_connects_does_not_keep_the_loop_busy() -> None:
    async def main(loop: RealTimeLoop) -> int:
        server = await _server([])
        node = Node("client")
        task: asyncio.Task[Any] = loop.create_task(_client(_port(server), []), context=node.context())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        node.kill()
        loop.close_connections(node)
        before = loop.steps
        await asyncio.sleep(10.0)
        server.close()
        assert not task.done()
        return loop.steps - before

    assert run_real_time(main, factor=100, waits_only=True) < 20


@pytest.mark.parametrize("host", ["files.example", "192.0.2.1", b"files.example", "2001:db8::1"])
def test_a_run_whose_clock_stands_still_reaches_no_other_machine(host: Any) -> None:
    async def main(loop: RealTimeLoop) -> None:
        with pytest.raises(OSError, match="not on this machine"):
            await asyncio.open_connection(host, 80)

    run_real_time(main, waits_only=True)

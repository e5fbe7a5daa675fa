"""A process of a program: start, input, output, and end."""

import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress

import anyio
import anyio.abc

from trunkline.core.agents.log import LOGGER, Ration, shown
from trunkline.core.agents.program import messages
from trunkline.core.agents.program.config import ProgramConfig
from trunkline.core.agents.program.launch import Launch, end, ending_of, start
from trunkline.core.agents.program.lines import LineCutter, TooLong
from trunkline.core.agents.program.open_turns import Broken, OpenTurn, OpenTurns
from trunkline.core.agents.turn_document import PROTOCOL
from trunkline.core.errors import AgentFailed
from trunkline.core.reasons import Reason
from trunkline.core.well_formed import describe


class _Line:
    __slots__ = ("begun", "data", "done", "turn")

    def __init__(self, turn: str, data: bytes) -> None:
        self.turn = turn
        self.data = data
        #: the writer has it, so it is written whole
        self.begun = False
        self.done = anyio.Event()


class InputQueue:
    """Lines for the program's input, in order. A turn waits until the line is written, so memory stays bounded."""

    def __init__(self) -> None:
        self._lines: deque[_Line] = deque()
        self._new = anyio.Event()
        self._closed = False

    async def put(self, turn: str, data: bytes) -> None:
        """Queue a line of a turn; wait for the writing, or the end of the program. A cancelled line is not written."""
        if self._closed:
            return
        line = self._add(turn, data)
        try:
            await line.done.wait()
        finally:
            if not line.begun and not self._closed:
                self._lines.remove(line)

    def put_soon(self, turn: str, data: bytes) -> None:
        if not self._closed:
            self._add(turn, data)

    async def next(self) -> bytes:
        """The next line for the writer. Call `written` before the next call."""
        while not self._lines:
            self._new = anyio.Event()
            await self._new.wait()
        self._lines[0].begun = True
        return self._lines[0].data

    def written(self) -> None:
        if not self._closed:
            self._lines.popleft().done.set()

    def close(self) -> None:
        """Note that the program reads no more: a waiting turn goes on, and finds the reason in its messages."""
        self._closed = True
        while self._lines:
            self._lines.popleft().done.set()

    def _add(self, turn: str, data: bytes) -> _Line:
        line = _Line(turn, data)
        self._lines.append(line)
        self._new.set()
        return line


#: bytes of a line on the error output that are kept
_ERROR_LINE = 4000
#: lines for the log per second, and at once
_LOG_LINES, _LOG_BURST = 20.0, 200.0
#: bytes per second of output that is of no turn, and at once; a program that writes more is read more slowly
_STRAY_BYTES, _STRAY_BURST = 1_000_000.0, 4_000_000.0
#: what a line costs beside its bytes
_PER_LINE = 500
#: seconds that output may still come from after the end of the process: others may hold its pipes open
_DRAIN = 1.0
#: why a process is over that ended by itself
_ENDED = "ended"


class ProgramProcess:
    """A process with turns, from the start to the end of `run`."""

    def __init__(self, agent: str, config: ProgramConfig, launch: Launch) -> None:
        self._agent = agent
        self._config = config
        self._launch = launch
        self._input = InputQueue()
        self.turns = OpenTurns(config)
        #: why no further turn is given to it; empty: none
        self.why = ""
        #: it has answered a turn, so it works
        self.has_worked = False
        self._is_ready = False
        self._changed = anyio.Event()
        self._over = anyio.Event()
        self._drained = anyio.Event()
        self.ended = anyio.Event()
        self._ending = ""
        self._last_words = ""
        now = anyio.current_time()
        self._log_ration = Ration(_LOG_LINES, _LOG_BURST, now)
        self._stray_ration = Ration(_STRAY_BYTES, _STRAY_BURST, now)
        self._unlogged = 0

    async def run(self, delay: float = 0.0) -> None:
        """Wait, start the process and serve until the end. An error ends the process and nothing else.

        A cancellation does not end it: `stop` does, in order, within a bounded time.
        """
        with anyio.CancelScope(shield=True):
            try:
                with anyio.move_on_after(delay):
                    await self._over.wait()
                if not self.why:
                    await self._live(await start(self._launch))
            except Exception as error:  # noqa: BLE001 -- an error here must not end the gateway
                self._finish(f"cannot be started: {shown(self._launch.wrong() or describe(error))}")
            finally:
                self._finish("was stopped")
                self.turns.end_all(self._broken())
                self.ended.set()

    def stop(self) -> None:
        """End the process in order."""
        self._finish("was stopped by the gateway")

    async def until_ready(self) -> None:
        """Wait for the hello of the program. Raises `AgentFailed` if the program ends before."""
        while not self._is_ready and not self.why:
            await self._changed.wait()
        if not self._is_ready:
            # Its exit code and its last words are known soon.
            await self.ended.wait()
            raise AgentFailed(self._broken().facts, Reason.AGENT_UNREACHABLE)

    def open(self, turn: str) -> OpenTurn:
        opened = self.turns.open(turn)
        if self.why:
            opened.end(self._broken())
        return opened

    async def write(self, turn: str, message: messages.ToProgram) -> None:
        """Give a message of a turn to the program, and wait for the writing."""
        await self._input.put(turn, messages.encode(message))

    def write_soon(self, turn: str, message: messages.ToProgram) -> None:
        self._input.put_soon(turn, messages.encode(message))

    async def _live(self, process: anyio.abc.Process) -> None:
        try:
            async with anyio.create_task_group() as group:
                self._note(f"its program is started, process {process.pid}")
                group.start_soon(self._read, process)
                group.start_soon(self._read_errors, process)
                group.start_soon(self._write, process)
                group.start_soon(self._watch, process)
                await self._serve()
                await end(process, self._config.stop_timeout)
                self._ending = ending_of(process.returncode)
                with anyio.move_on_after(_DRAIN):
                    await self._drained.wait()
                group.cancel_scope.cancel()
                self._note(self._broken().facts)
        finally:
            # It would wait without an end for a process that cannot be killed.
            if process.returncode is not None:
                await process.aclose()

    async def _serve(self) -> None:
        limits = messages.Limits(
            timeout=self._config.timeout,
            max_calls=self._config.max_calls,
            max_answer=self._config.max_answer,
            max_line=self._config.max_line,
        )
        self._input.put_soon("", messages.encode(messages.Welcome(agent=self._agent, limits=limits)))
        with anyio.move_on_after(self._config.start_timeout):
            while not self._is_ready and not self.why:
                await self._changed.wait()
        if not self._is_ready:
            self._finish(f"did not say hello within {self._config.start_timeout:g} s; see `start_timeout`")
        await self._over.wait()

    async def _watch(self, process: anyio.abc.Process) -> None:
        await process.wait()
        self._finish(_ENDED)

    async def _write(self, process: anyio.abc.Process) -> None:
        assert process.stdin is not None
        while True:
            line = await self._input.next()
            try:
                with anyio.fail_after(self._config.stuck_timeout):
                    await process.stdin.send(line)
            except TimeoutError:
                patience = self._config.stuck_timeout
                return self._finish(f"did not read its input for {patience:g} s; see `stuck_timeout`")
            except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return self._finish("closed its input")
            self._input.written()

    async def _read(self, process: anyio.abc.Process) -> None:
        await self._read_lines(process.stdout, self._config.max_line, self._take)
        self._drained.set()
        self._finish("closed its output")

    def _take(self, line: bytes | TooLong) -> int:
        """Deal with a line of the program; returns the cost of a line without an open turn."""
        if isinstance(line, TooLong):
            self._log(self.turns.too_long(line), line.start)
            return _PER_LINE
        message = messages.decode(line)
        if isinstance(message, messages.Malformed):
            self._log(self.turns.malformed(message), line)
        elif isinstance(message, messages.Hello):
            self._greet(message)
        elif isinstance(message, messages.LogMessage):
            self._log("", message.text.encode("utf-8", "replace"))
        elif not self._is_ready:
            self._finish("sent a message before its hello")
        elif wrong := self.turns.say(message, len(line)):
            self._log(wrong, line)
        else:
            return 0
        return _PER_LINE + len(line)

    def _greet(self, hello: messages.Hello) -> None:
        if hello.protocol != PROTOCOL:
            self._finish(f"speaks version {hello.protocol} of the protocol, the gateway version {PROTOCOL}")
        elif not self._is_ready and not self.why:
            self._is_ready = True
            self._notify()

    async def _read_errors(self, process: anyio.abc.Process) -> None:
        await self._read_lines(process.stderr, _ERROR_LINE, self._hear)

    async def _read_lines(
        self, stream: anyio.abc.ByteReceiveStream | None, longest: int, take: Callable[[bytes | TooLong], int]
    ) -> None:
        """Read a stream to the end. `take`: deals with a line, and returns the cost outside of turns, which is paid."""
        assert stream is not None
        cutter = LineCutter(longest)
        with suppress(OSError, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            while True:
                chunk = await stream.receive()
                stray = sum(take(line) for line in cutter.feed(chunk)) + (len(chunk) if cutter.is_skipping else 0)
                if stray:
                    await anyio.sleep(self._stray_ration.borrow(stray, anyio.current_time()))
        for line in cutter.finish():
            take(line)

    def _hear(self, line: bytes | TooLong) -> int:
        said = line.start if isinstance(line, TooLong) else line
        self._log("", said)
        self._last_words = shown(said.decode("utf-8", "replace"), 200)
        return len(said) + 1

    def _note(self, what: str) -> None:
        """Put a step of the life of the process into the log."""
        level = logging.DEBUG if self._config.per_turn else logging.INFO
        LOGGER.log(level, "%s: %s", self._agent, what, extra={"agent": self._agent})

    def _log(self, wrong: str, line: bytes) -> None:
        """Put the program's words into the log, within the ration."""
        if not self._log_ration.spend(1, anyio.current_time()):
            self._unlogged += 1
            return
        if self._unlogged:
            left_out = "%s: %d lines of its program were left out"
            LOGGER.warning(left_out, self._agent, self._unlogged, extra={"agent": self._agent})
            self._unlogged = 0
        said = shown(line[:_ERROR_LINE].decode("utf-8", "replace"))
        if wrong:
            LOGGER.warning("%s: %s: %s", self._agent, shown(wrong), said, extra={"agent": self._agent})
        else:
            LOGGER.info("%s: %s", self._agent, said, extra={"agent": self._agent})

    def _broken(self) -> Broken:
        if self.why == _ENDED:
            facts = f"the program {self._ending or _ENDED}"
        else:
            facts = f"the program {self.why}" + (f" ({self._ending})" if self._ending else "")
        if self._last_words:
            facts = f"{facts}; the last line of its error output: {self._last_words}"
        return Broken(facts=facts, reason=Reason.AGENT_BROKE_OFF)

    def _finish(self, why: str) -> None:
        """Give the process no further turn, and begin the end. The first reason counts."""
        if not self.why:
            self.why = why
            self._over.set()
            self._input.close()
            self._notify()

    def _notify(self) -> None:
        before, self._changed = self._changed, anyio.Event()
        before.set()

"""A program as an agent: gives turns to the program, carries out the calls, and restarts an ended program."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import anyio.abc
import msgspec

from trunkline.core.agent import Turn
from trunkline.core.agents.calls import CallRunner
from trunkline.core.agents.log import LOGGER, shown
from trunkline.core.agents.program.config import ProgramConfig
from trunkline.core.agents.program.launch import Launch
from trunkline.core.agents.program.messages import AnswerMessage, CallMessage, CancelMessage, FailMessage, ResultMessage
from trunkline.core.agents.program.open_turns import OpenTurn
from trunkline.core.agents.program.process import ProgramProcess
from trunkline.core.agents.turn_document import TurnDocument, document_of
from trunkline.core.errors import AgentFailed, UsageError
from trunkline.core.reasons import Reason

#: seconds before a program is started again that has ended without an answer: at first, and at most
_FIRST_DELAY, _LONGEST_DELAY = 0.5, 30.0


class ProgramAgent:
    """Answers by a program over JSON lines (docs/agent-protocol.md). Turns need `running`."""

    def __init__(self, agent_id: str, config: ProgramConfig, launch: Launch) -> None:
        self._id = agent_id
        self._config = config
        self._launch = launch
        self._slots = anyio.Semaphore(config.concurrency)
        self._group: anyio.abc.TaskGroup | None = None
        self._processes: set[ProgramProcess] = set()
        self._shared: ProgramProcess | None = None
        #: processes in a row that have ended without an answer
        self._failures = 0

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        """Allow turns, which start the program; the end of the block ends the program, in order."""
        try:
            async with anyio.create_task_group() as group:
                self._group = group
                try:
                    yield
                finally:
                    self._group = None
                    for process in self._processes:
                        process.stop()
        finally:
            self._shared = None

    async def turn(self, turn: Turn) -> str | None:
        """Ask the program. Raises `AgentFailed`."""
        calls = CallRunner(turn, self._config)
        with anyio.move_on_after(self._config.timeout):
            document = await document_of(turn, self._config)
            try:
                return await self._attempt(document, calls)
            except AgentFailed as error:
                if not self._config.repeatable or error.reason is not Reason.AGENT_BROKE_OFF:
                    raise
                LOGGER.warning(
                    "%s: turn %s is run again: %s", self._id, turn.id, error.facts, extra={"agent": self._id}
                )
            calls.repeat()
            return await self._attempt(msgspec.structs.replace(document, again=True), calls)
        facts = f"the program did not answer within {self._config.timeout:g} s; see `timeout`"
        raise AgentFailed(facts, Reason.AGENT_TIMEOUT)

    async def _attempt(self, document: TurnDocument, calls: CallRunner) -> str | None:
        await self._slots.acquire()
        if self._config.per_turn:
            return await self._ask_apart(document, calls)
        try:
            return await self._ask(self._process(), document, calls)
        finally:
            self._slots.release()

    async def _ask_apart(self, document: TurnDocument, calls: CallRunner) -> str | None:
        """Ask a separate process. The slot becomes free at the end of the process, later than the answer."""
        try:
            process = self._start(0.0, release=True)
        except BaseException:
            self._slots.release()
            raise
        try:
            return await self._ask(process, document, calls)
        finally:
            process.stop()

    def _process(self) -> ProgramProcess:
        """The process shared by all turns; a new process if there is none for turns."""
        if self._shared is None or self._shared.why:
            delay = min(_LONGEST_DELAY, _FIRST_DELAY * 2.0 ** (self._failures - 1)) if self._failures else 0.0
            self._shared = self._start(delay, release=False)
        return self._shared

    def _start(self, delay: float, *, release: bool) -> ProgramProcess:
        if self._group is None:
            raise UsageError(f"the agent {self._id} is not running: enter its `running` around `Gateway.run`")
        process = ProgramProcess(self._id, self._config, self._launch)
        self._processes.add(process)
        self._group.start_soon(self._run, process, delay, release, name=f"program of {self._id}")
        return process

    async def _run(self, process: ProgramProcess, delay: float, release: bool) -> None:
        try:
            await process.run(delay)
        finally:
            self._processes.discard(process)
            self._failures = 0 if process.has_worked else self._failures + 1
            if release:
                self._slots.release()

    async def _ask(self, process: ProgramProcess, document: TurnDocument, calls: CallRunner) -> str | None:
        await process.until_ready()
        opened, cancel = process.open(document.id), False
        try:
            await process.write(document.id, document)
            cancel = True
            answer = await self._converse(process, document.id, opened, calls)
            cancel = False
            return answer
        finally:
            process.turns.close(document.id)
            if cancel and not opened.is_answered:
                process.write_soon(document.id, CancelMessage(turn=document.id, why="the turn has ended"))

    async def _converse(self, process: ProgramProcess, turn: str, opened: OpenTurn, calls: CallRunner) -> str | None:
        while True:
            said = await opened.next()
            if isinstance(said, CallMessage):
                done = await calls.make(said.tool, said.params)
                result = ResultMessage(turn=turn, call=said.call, **msgspec.structs.asdict(done))
                await process.write(turn, result)
            elif isinstance(said, AnswerMessage):
                process.has_worked = True
                return self._config.checked_answer(said.text)
            elif isinstance(said, FailMessage):
                process.has_worked = True
                reason = Reason.AGENT_REFUSED if said.refused else Reason.AGENT_RAISED
                raise AgentFailed(shown(said.error, 2000), reason)
            else:
                raise AgentFailed(said.facts, said.reason)

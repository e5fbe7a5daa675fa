"""Executes chat commands. Each is work of its session like any message, so it is durable and in order.

A command that runs again after a crash finds its earlier result and gives the same reply.
"""

from trunkline.core.bindings.bind_request import BindRequest
from trunkline.core.chat_commands import permissions as decide
from trunkline.core.chat_commands import tasks
from trunkline.core.chat_commands.parse import Command, CommandName, read_command
from trunkline.core.errors import BindingError
from trunkline.core.events.bindings import ControlCalled, ControlEnded
from trunkline.core.keys import SessionKey
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.records.rows import Work
from trunkline.core.runtime.bindings.service import SessionBindingService
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.delegation.delegations import DelegationRunner
from trunkline.core.runtime.live_bindings import ENDED_BY
from trunkline.core.store.queries import ListBindings
from trunkline.core.well_formed import well_formed


class CommandRunner:
    def __init__(self, context: Context, bindings: SessionBindingService, runner: DelegationRunner) -> None:
        self._ctx = context
        self._bindings = bindings
        self._runner = runner

    async def run(self, work: Work, cause: int) -> str:
        """Execute a command; returns the text of the reply. A refusal is a reply too."""
        ctx, command, place = self._ctx, read_command(work.text), work.place
        assert command is not None
        assert place is not None
        who, ids = decide.person(place, work.peer), {"inbound": work.id, "turn": work.turn}
        body = ControlCalled(command=command.name.value, argument=well_formed(command.argument), by=who)
        called = ctx.events.record(body, cause, **ids)
        try:
            text = await self._do(command, work, who, called)
        except BindingError as error:
            ended = ControlEnded(
                command=command.name.value, outcome="refused", reason=error.reason, detail=well_formed(error.facts)
            )
            ctx.events.record(ended, called, **ids)
            return decide.refusal_reply(error)
        ctx.events.record(ControlEnded(command=command.name.value, outcome="done"), called, **ids)
        return text

    async def _do(self, command: Command, work: Work, who: str, cause: int) -> str:
        assert work.place is not None
        if command.name in (CommandName.TASKS, CommandName.CANCEL):
            return await self._do_with_tasks(command, work, who, cause)
        here = self._bindings.resolve_by_conversation(work.place)
        config = self._ctx.config.control
        if command.name is CommandName.AGENTS:
            return decide.bindings_reply(
                self._bindings.all(), here, all_of_them=decide.is_owner(who, config, claimed=work.claimed)
            )
        if command.name is CommandName.FOCUS:
            decide.check_focus(who, config, claimed=work.claimed)
            return decide.focus_reply(await self._focus(command, work, who, cause))
        if here is None:
            # It was done before the process died, or nothing was bound.
            done = await self._done_by(work)
            return decide.unfocus_reply(() if done is None else (done,))
        decide.check_unfocus(who, here, config, claimed=work.claimed)
        ended = await self._bindings.unbind(
            binding_id=here.binding_id, note=command.argument, by=who, request=work.id, cause=cause
        )
        return decide.unfocus_reply(ended)

    async def _do_with_tasks(self, command: Command, work: Work, who: str, cause: int) -> str:
        assert work.place is not None
        owner = decide.is_owner(who, self._ctx.config.control, claimed=work.claimed)
        now = self._ctx.env.now()
        rows = tuple(one.row for one in self._runner.open.all())
        # Origins name people as agents see them.
        seen = tasks.visible_tasks(rows, work.place, work.sender, owner=owner)
        if command.name is CommandName.TASKS:
            return tasks.tasks_reply(seen, now)
        found = tasks.tasks_named(seen, command.argument) if command.argument else seen
        if len(found) != 1:
            return tasks.ambiguous_reply(seen, command.argument, now)
        [row] = found
        one = self._runner.open.find(row.id)
        done = one is not None and await self._runner.cancel(one, Reason.CANCELLED_BY_PEER, who, cause)
        return tasks.cancel_reply(row, ended_before=not done)

    async def _focus(self, command: Command, work: Work, who: str, cause: int) -> SessionBindingRecord:
        assert work.place is not None
        main = self._ctx.key_text(SessionKey(agent=work.agent))
        request = BindRequest(
            target_session_key=decide.choose_target(command.argument, main, self._bindings.all()),
            conversation=work.place,
            by=who,
            rebind=True,
            request=f"focus:{work.id}",
        )
        return await self._bindings.bind(request, cause)

    async def _done_by(self, work: Work) -> SessionBindingRecord | None:
        for record in (await self._ctx.store.read(ListBindings(ended=True))).rows:
            if record.metadata.get(ENDED_BY) == work.id:
                return record
        return None

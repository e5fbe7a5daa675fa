"""Questions of the message tool: asked of the platform at once, answered to the agent, never stored."""

from __future__ import annotations

import msgspec

from trunkline.core.action_names import Action
from trunkline.core.actions.catalogue import SPECS
from trunkline.core.actions.requests import ActionQuery
from trunkline.core.actions.result import ActionResult, ActionStatus
from trunkline.core.channels import Queries, require_action
from trunkline.core.errors import InvalidAction, PlatformError
from trunkline.core.events.actions import ActionAnswered
from trunkline.core.message_tool.calls import PlannedCall
from trunkline.core.message_tool.planning.plan import check_call
from trunkline.core.reasons import Reason
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.deadlines import Deadlines
from trunkline.core.runtime.message_tool.call_places import CallPlaces
from trunkline.core.runtime.message_tool.results import ADAPTER, Results
from trunkline.core.runtime.message_tool.tool_call import ToolCall
from trunkline.core.runtime.outbound.changes import Changes
from trunkline.core.runtime.outbound.context_policy import ContextPolicy
from trunkline.core.untrusted import check_json
from trunkline.core.values import Address
from trunkline.core.well_formed import describe

#: seconds that a platform has for an answer
_ANSWER_TIMEOUT = 30.0


class Questions:
    """Asks platforms what agents want to know."""

    def __init__(self, context: Context, places: CallPlaces, policy: ContextPolicy, changes: Changes) -> None:
        self._ctx = context
        self._places = places
        self._policy = policy
        self._changes = changes
        self._results = Results(context)
        self._limits = Deadlines()

    async def ask(self, call: ToolCall, planned: PlannedCall, called: int) -> ActionResult:
        """Ask the platform. Raises `UsageError` for a bad question, and `PlatformError` if there is no good answer."""
        action, asked = planned.action, planned.call
        aim = await self._places.resolve(call, planned, called)
        place, message, cause = aim.address, asked.message_id, aim.cause
        await self._policy.check(call.work, action, place, cause, text=planned.target.text or "")
        adapter = self._ctx.adapters.get((place.channel, place.account))
        check_call(planned, self._ctx.config, None if adapter is None else adapter.capabilities)
        if adapter is None:
            facts = f"{action}: the adapter of {place.channel}:{place.account} is not there"
            raise InvalidAction(facts, Reason.NO_ADAPTER)
        require_action(adapter, adapter.capabilities, action, f"{place.channel}:{place.account}")
        if SPECS[action].of_message:
            place, message = await self._message(call, action, message or "", place)
        if planned.dry_run:
            return self._results.record_preview(action, call, place, "", cause)
        assert isinstance(adapter, Queries)
        query = ActionQuery(action=action, address=place, message_id=message, fields=asked.fields, cause=cause)
        try:
            data = await self._answer(adapter, query)
        except PlatformError as error:
            self._record(call, query, error.reason, error.facts, cause)
            raise
        except Exception as error:
            # Like a platform that fails: the agent may ask again.
            self._record(call, query, Reason.PLATFORM_ERROR, describe(error), cause)
            raise PlatformError(f"{action}: {describe(error)}") from error
        self._record(call, query, None, "", cause)
        return ActionResult(
            action=action,
            status=ActionStatus.DONE,
            handled_by=ADAPTER,
            channel=place.channel,
            place=place,
            data=data,
        )

    async def _message(self, call: ToolCall, action: Action, name: str, place: Address) -> tuple[Address, str]:
        """The place and the platform's id of the message that is meant. Raises `InvalidAction`."""
        meant = await self._changes.reference(call.work, action, name, place)
        if meant.message_id is None:
            raise InvalidAction(f"{action}: message {name!r} is not sent yet", Reason.UNKNOWN_MESSAGE)
        return meant.address, meant.message_id

    async def _answer(self, adapter: Queries, query: ActionQuery) -> str:
        """The answer as JSON. Raises `PlatformError`, or whatever the adapter raises."""
        with self._limits.within(_ANSWER_TIMEOUT) as limit:
            answer = await adapter.ask(query)
            wrong = check_json(answer)
            if wrong:
                raise PlatformError(f"{query.action}: its answer {wrong}")
            return msgspec.json.encode(answer).decode()
        assert limit.expired
        raise PlatformError(f"{query.action}: no answer within {_ANSWER_TIMEOUT:g} s")

    def _record(self, call: ToolCall, query: ActionQuery, reason: Reason | None, detail: str, cause: int) -> None:
        body = ActionAnswered(
            action=query.action, channel=query.address.channel, place=query.address, reason=reason, detail=detail
        )
        self._ctx.events.record(body, cause, **call.ids)

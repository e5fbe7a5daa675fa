"""Prepares and stores changes: actions that are no messages. Everything is checked before anything is stored.

A change is an intent in the lane of its conversation, so it keeps its order among the messages there: an edit of a
message that is still queued waits for it.
"""

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.marker import ContextMark
from trunkline.core.actions.requests import ActionPart
from trunkline.core.channels import require_action
from trunkline.core.decisions import identity_at
from trunkline.core.delivery.line_changes import place_of
from trunkline.core.errors import InvalidAction
from trunkline.core.events.delivery import IntentSuppressed
from trunkline.core.message_tool.references import MessageReference
from trunkline.core.reasons import Reason
from trunkline.core.records.messages import REMOVES
from trunkline.core.records.rows import BoundPart, ContentPart, ExtraPart, IntentRow, Work
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.store.queries import FindMessage
from trunkline.core.values import Address, IntentId, IntentKind
from trunkline.core.well_formed import well_formed


class ChangeDraft(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    action: Action
    #: the conversation that is concerned; of an action without a target see `core.actions.places`
    place: Address
    #: the message that is meant: the platform's id, or the intent that sends it
    message: str | None = None
    #: the new text, the emoji, or the new name
    text: str = ""
    #: take a reaction away instead of adding it
    remove: bool = False
    #: the other parameters, as a JSON object with the names of the tool
    fields: str | None = None
    #: the account may delete what others wrote there
    moderates: bool = False


class Changes:
    def __init__(self, context: Context, preparer: Preparer) -> None:
        self._ctx = context
        self._preparer = preparer

    async def place_of_message(self, work: Work, name: str) -> Address | None:
        """The conversation of a message that an agent names without a place; none: that cannot be known.

        It is known of the message that the turn works on, and of one that is named by its intent.
        """
        if name == work.message_id and work.place is not None:
            return work.place
        found = await self._ctx.store.read(FindMessage(name=name))
        return None if found.ours is None else place_of(found.ours)

    async def reference(
        self,
        work: Work,
        action: Action,
        name: str,
        place: Address,
        *,
        moderates: bool = False,
        author: str | None = None,
    ) -> MessageReference:
        """The message that an action means, also for questions and replies. Raises `InvalidAction`.

        `author`: who wrote it, as the agent says.
        """
        ctx = self._ctx
        if not name.strip():
            raise InvalidAction(f"{action}: messageId is blank", Reason.BAD_ACTION)
        query = FindMessage(
            name=name,
            place=place,
            identities=(identity_at(place, name),),
            agents=tuple(dict.fromkeys((work.agent, *ctx.agents))),
            keys=self._keys(work, place),
        )
        found = await ctx.store.read(query)
        return ctx.decisions.decide_reference(
            action, name, place, found, agent=work.agent, moderates=moderates, author=author
        )

    def _keys(self, work: Work, place: Address) -> tuple[str, ...]:
        bound = self._ctx.bindings.speaking(place, work.binding)
        return (work.session_key,) if bound is None else (work.session_key, bound.target_session_key)

    async def prepare(
        self, work: Work, intent: IntentId, draft: ChangeDraft, cause: int | None, mark: ContextMark | None = None
    ) -> IntentRow:
        """The change as it would be stored, waiting for room in the queue. Raises `InvalidAction`; stores nothing.

        `mark`: what a new text has to show.
        """
        ctx, action = self._ctx, draft.action
        account = (draft.place.channel, draft.place.account)
        adapter = ctx.adapters.get(account)
        if adapter is not None:
            require_action(adapter, adapter.capabilities, action, f"{account[0]}:{account[1]}")
        meant = MessageReference(address=draft.place)
        if action.spec.of_message:
            name = draft.message or ""
            meant = await self.reference(
                work, action, name, draft.place, moderates=draft.moderates, author=_author_in(draft.fields)
            )
        part = ActionPart(
            action=action, message_id=meant.message_id, of=meant.of, remove=draft.remove, fields=draft.fields
        )
        row = IntentRow(
            id=intent,
            kind=IntentKind.TOOL,
            address=meant.address,
            # What people see of it is a line that is there already.
            mirror_key=None,
            agent=work.agent,
            turn=work.turn,
            inbound=work.id,
            delegation=None if work.callback is None else work.callback.delegation,
            created_at=ctx.env.now(),
            bound=BoundPart(identity=meant.identity),
            extra=ExtraPart(action=part),
        )
        if action is Action.EDIT:
            return await self._preparer.prepare_edit(row, draft.text, cause, mark)
        await self._preparer.wait_for_room(row.address)
        text = "" if action in REMOVES else well_formed(draft.text)
        return msgspec.structs.replace(row, content=ContentPart(chunks=(text,) * meant.chunks))

    async def enqueue(self, work: Work, row: IntentRow, cause: int, *, targeted: bool, reason: Reason) -> bool:
        """Store and queue a prepared change; whether the change is new. A repeated turn adds nothing."""
        ctx, before = self._ctx, IntentSuppressed(reason=Reason.ALREADY_QUEUED, text=row.content.text)
        return await self._preparer.enqueue(
            row,
            reason=reason,
            cause=cause,
            targeted=targeted,
            repeated=lambda: ctx.events.record(before, cause, turn=work.turn, intent=row.id),
        )


def _author_in(fields: str | None) -> str | None:
    given = {} if fields is None else msgspec.json.decode(fields, type=dict[str, object])
    named = given.get("targetAuthor") or given.get("targetAuthorUuid")
    return named if isinstance(named, str) else None

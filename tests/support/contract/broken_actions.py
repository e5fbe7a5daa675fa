"""Adapters with one defect each in their actions."""

from typing import Any

from msgspec import structs

from trunkline.core.actions.requests import ActionQuery, ActionRequest
from trunkline.core.errors import Refused
from trunkline.core.values import Receipt, SendRequest
from trunkline.sim.bugs.wrappers import AdapterWrapper


class EditsBySending(AdapterWrapper):
    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self._last: SendRequest | None = None

    async def send(self, request: SendRequest) -> Receipt:
        self._last = request
        return await self.inner.send(request)

    async def act(self, request: ActionRequest) -> Receipt:
        assert self._last is not None
        return await self.inner.send(structs.replace(self._last, key=request.key, text=request.text))


class HasNoAct(AdapterWrapper):
    """Claims the actions of the wrapped one, without the method."""

    act: Any = None


class KeepsEverything(AdapterWrapper):
    """Says that it did what it did not."""

    async def act(self, request: ActionRequest) -> Receipt:
        return Receipt(provider_id=request.message_id or "", address=request.address)


class DeletesTwoAtOnce(AdapterWrapper):
    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self._sent: list[Receipt] = []

    async def send(self, request: SendRequest) -> Receipt:
        self._sent.append(await self.inner.send(request))
        return self._sent[-1]

    async def act(self, request: ActionRequest) -> Receipt:
        for receipt in self._sent:
            await super().act(structs.replace(request, message_id=receipt.provider_id))
        return Receipt(provider_id=request.message_id or "", address=request.address)


class MindsRepeats(AdapterWrapper):
    """Passes on that a platform has nothing left to change, as some do."""

    async def act(self, request: ActionRequest) -> Receipt:
        if request.attempt > 1:
            raise Refused("already_reacted")
        return await super().act(request)


class LeaksItsErrors(AdapterWrapper):
    """Its own error instead of one of the contract."""

    async def act(self, request: ActionRequest) -> Receipt:
        try:
            return await super().act(request)
        except Refused as error:
            raise KeyError(request.message_id) from error


class AnswersInObjects(AdapterWrapper):
    """Answers with its client library's objects."""

    async def ask(self, query: ActionQuery) -> object:
        await super().ask(query)
        return object()


class KnowsEveryMessage(AdapterWrapper):
    """Answers for messages that do not exist."""

    async def ask(self, query: ActionQuery) -> object:
        return []

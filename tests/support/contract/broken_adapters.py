"""Adapters with one defect each, by the check of the adapter kit that must find it."""

from typing import Any

import anyio
import anyio.lowlevel
from msgspec import structs

from tests.support.contract.broken_actions import (
    AnswersInObjects,
    DeletesTwoAtOnce,
    EditsBySending,
    HasNoAct,
    KeepsEverything,
    KnowsEveryMessage,
    LeaksItsErrors,
    MindsRepeats,
)
from tests.support.contract.broken_streams import (
    AcksAtOnce,
    AcksNothing,
    EndsQuietly,
    HearsItself,
    NamesThePerson,
    NewIds,
)
from trunkline.core.channels import Ready
from trunkline.core.errors import Ambiguous, NotSent, PlatformError, RateLimited, Refused
from trunkline.core.values import Address, Capabilities, Idempotency, Receipt, SendRequest, Transport
from trunkline.sim.bugs.wrappers import AdapterWrapper


class Shouting(AdapterWrapper):
    @property
    def channel(self) -> str:
        return self.inner.channel.upper()


class Boasting(AdapterWrapper):
    @property
    def capabilities(self) -> Capabilities:
        return structs.replace(self.inner.capabilities, key_seconds=-1.0)


class _Changing(AdapterWrapper):
    """Changes requests."""

    async def send(self, request: SendRequest) -> Receipt:
        return await self.inner.send(self.changed(request))

    def changed(self, request: SendRequest) -> SendRequest:
        raise NotImplementedError


class Tidying(_Changing):
    def changed(self, request: SendRequest) -> SendRequest:
        return structs.replace(request, text=" ".join(request.text.split()))


class KnowsWords(AdapterWrapper):
    """Takes the same words for the same message."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self._known: dict[str, Receipt] = {}

    async def send(self, request: SendRequest) -> Receipt:
        if request.text not in self._known:
            self._known[request.text] = await self.inner.send(request)
        return self._known[request.text]


class NewKeys(_Changing):
    def changed(self, request: SendRequest) -> SendRequest:
        return structs.replace(request, key=f"{request.key}/{request.attempt}")


class KeysInMemory(AdapterWrapper):
    """Says that its platform knows keys, and knows them itself."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self._known: dict[str, Receipt] = {}

    @property
    def capabilities(self) -> Capabilities:
        return structs.replace(self.inner.capabilities, idempotency=Idempotency.KEY)

    async def send(self, request: SendRequest) -> Receipt:
        if request.key not in self._known:
            self._known[request.key] = await self.inner.send(request)
        return self._known[request.key]


class Narrow(_Changing):
    def changed(self, request: SendRequest) -> SendRequest:
        return structs.replace(request, text=request.text[: self.capabilities.text_limit - 1])


class Cutting(_Changing):
    def changed(self, request: SendRequest) -> SendRequest:
        return structs.replace(request, text=request.text[: self.capabilities.text_limit])


class Reversing(_Changing):
    def changed(self, request: SendRequest) -> SendRequest:
        return structs.replace(request, media=request.media[::-1])


class LeavesPollsOut(_Changing):
    def changed(self, request: SendRequest) -> SendRequest:
        return structs.replace(request, poll=None)


class LeavesPayloadsOut(_Changing):
    def changed(self, request: SendRequest) -> SendRequest:
        return structs.replace(request, payload=None)


class Plain(_Changing):
    def changed(self, request: SendRequest) -> SendRequest:
        return structs.replace(request, html=None, styles=())


class ToTheRoom(AdapterWrapper):
    """Sends to the room, and says that it is in the thread."""

    async def send(self, request: SendRequest) -> Receipt:
        room = structs.replace(request.address, thread=None)
        receipt = await self.inner.send(structs.replace(request, address=room))
        return structs.replace(receipt, address=request.address)


class OpensNothing(AdapterWrapper):
    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        return place


class OneWay(_Changing):
    def changed(self, request: SendRequest) -> SendRequest:
        return structs.replace(request, transport=Transport.DIRECT)


class FindsNothing(AdapterWrapper):
    async def find(self, address: Address, key: str) -> Receipt | None:
        await self.inner.find(address, key)
        return None


class SilentLookUps(AdapterWrapper):
    async def find(self, address: Address, key: str) -> Receipt | None:
        try:
            return await self.inner.find(address, key)
        except PlatformError:
            return None


class FindsItsOwn(AdapterWrapper):
    """Knows only the sends that it has the receipts of."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self._known: dict[str, Receipt] = {}

    async def send(self, request: SendRequest) -> Receipt:
        self._known[request.key] = receipt = await self.inner.send(request)
        return receipt

    async def find(self, address: Address, key: str) -> Receipt | None:
        return self._known.get(key)


class Sure(AdapterWrapper):
    """Takes a lost answer for a proof."""

    async def send(self, request: SendRequest) -> Receipt:
        try:
            with anyio.fail_after(3.0):
                return await self.inner.send(request)
        except (TimeoutError, Ambiguous):
            raise NotSent("no answer") from None


class NewKeyAfterLoss(AdapterWrapper):
    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self._tries: dict[str, int] = {}

    async def send(self, request: SendRequest) -> Receipt:
        tries = self._tries[request.key] = self._tries.get(request.key, 0) + 1
        return await self.inner.send(structs.replace(request, key=f"{request.key}/{tries}"))


class Unsure(AdapterWrapper):
    async def send(self, request: SendRequest) -> Receipt:
        try:
            return await self.inner.send(request)
        except NotSent as error:
            raise Ambiguous(error.facts) from error


class FallsBack(AdapterWrapper):
    async def send(self, request: SendRequest) -> Receipt:
        try:
            return await self.inner.send(request)
        except NotSent:
            return await self.inner.send(structs.replace(request, transport=Transport.GATEWAY))


class Impatient(AdapterWrapper):
    async def send(self, request: SendRequest) -> Receipt:
        try:
            return await self.inner.send(request)
        except RateLimited as error:
            raise RateLimited(error.facts) from error


class Optimist(AdapterWrapper):
    async def send(self, request: SendRequest) -> Receipt:
        try:
            return await self.inner.send(request)
        except Refused:
            return Receipt(provider_id="unknown", address=request.address)


class Elsewhere(AdapterWrapper):
    """Sends to the place of the last message what cannot be sent where it is asked to be."""

    async def send(self, request: SendRequest) -> Receipt:
        try:
            return await self.inner.send(request)
        except Refused:
            there = request.address.conversation.removesuffix("404")
            return await self.inner.send(
                structs.replace(request, address=structs.replace(request.address, conversation=there))
            )


class Offended(AdapterWrapper):
    """Sends nothing more after a failure."""

    _failed = False

    async def send(self, request: SendRequest) -> Receipt:
        if self._failed:
            raise NotSent("the connection is closed")
        try:
            return await self.inner.send(request)
        except PlatformError:
            self._failed = True
            raise


class TriesTwice(AdapterWrapper):
    async def send(self, request: SendRequest) -> Receipt:
        try:
            return await self.inner.send(request)
        except PlatformError:
            await self.inner.send(request)
            raise


class KeepsTheLock(AdapterWrapper):
    """One send at a time; a cancelled one goes on for ever."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self._free = anyio.Semaphore(1)

    async def send(self, request: SendRequest) -> Receipt:
        await self._free.acquire()
        receipt = await self.inner.send(request)
        self._free.release()
        return receipt


class AnswersMix(AdapterWrapper):
    """Takes the first answer that comes for its own; the answer to a cancelled send is taken by the next one."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self._waiting: Receipt | None = None

    async def send(self, request: SendRequest) -> Receipt:
        answers: list[Receipt] = []
        with anyio.CancelScope(shield=True):
            answers.append(await self.inner.send(request))
        mine, self._waiting = self._waiting or answers[0], answers[0]
        await anyio.lowlevel.checkpoint()
        self._waiting = None
        return mine


class OneAddress(AdapterWrapper):
    """Keeps the address of a send where the next one puts its own."""

    async def send(self, request: SendRequest) -> Receipt:
        self._to = request.address
        await anyio.sleep(0.01)
        return await self.inner.send(structs.replace(request, address=self._to))


class NeverReady(AdapterWrapper):
    async def ready(self) -> Ready:
        return Ready(ok=False)


class AlwaysReady(AdapterWrapper):
    async def ready(self) -> Ready:
        return Ready(ok=True)


#: check, adapter, platform, its settings
BROKEN: list[tuple[str, type[AdapterWrapper], str, str]] = [
    ("identity", Shouting, "discord", ""),
    ("capabilities", Boasting, "discord", ""),
    ("capabilities", HasNoAct, "discord", ""),
    ("send", Tidying, "discord", ""),
    ("two-sends", KnowsWords, "discord", ""),
    ("same-key", NewKeys, "discord", ""),
    ("same-key-later", KeysInMemory, "telegram", ""),
    ("longest", Narrow, "discord", ""),
    ("too-long", Cutting, "discord", ""),
    ("media", Reversing, "discord", ""),
    ("poll", LeavesPollsOut, "discord", ""),
    ("payload", LeavesPayloadsOut, "discord", ""),
    ("unsupported", LeavesPollsOut, "slack", ""),
    ("markup", Plain, "telegram", ""),
    ("markup", Plain, "signal", ""),
    ("thread", ToTheRoom, "telegram", ""),
    ("open-thread", OpensNothing, "discord", ""),
    ("transport", OneWay, "discord", "mode: hybrid"),
    ("edit", EditsBySending, "discord", ""),
    ("edit", MindsRepeats, "slack", ""),
    ("delete", KeepsEverything, "telegram", ""),
    ("delete", DeletesTwoAtOnce, "discord", ""),
    ("react", EditsBySending, "discord", ""),
    ("react", MindsRepeats, "slack", ""),
    ("pin", KeepsEverything, "matrix", ""),
    ("unknown-message", KeepsEverything, "discord", ""),
    ("unknown-message", LeaksItsErrors, "signal", ""),
    ("unclaimed-action", KeepsEverything, "signal", ""),
    ("questions", AnswersInObjects, "discord", ""),
    ("questions", KnowsEveryMessage, "slack", ""),
    ("look-up", FindsNothing, "telegram", "idempotency: lookup"),
    ("look-up-fails", SilentLookUps, "telegram", "idempotency: lookup"),
    ("lost-response", Sure, "discord", ""),
    ("found-after-loss", FindsItsOwn, "telegram", "idempotency: lookup"),
    ("resent-after-loss", NewKeyAfterLoss, "discord", ""),
    ("reset", Sure, "discord", ""),
    ("not-sent", Unsure, "discord", ""),
    ("no-fallback", FallsBack, "discord", "mode: hybrid"),
    ("rate-limited", Impatient, "discord", ""),
    ("refusal", Optimist, "discord", ""),
    ("nowhere", Elsewhere, "discord", ""),
    ("goes-on", Offended, "discord", ""),
    ("no-retry", TriesTwice, "telegram", ""),
    ("cancelled", KeepsTheLock, "discord", ""),
    ("cancelled", AnswersMix, "discord", ""),
    ("side-by-side", OneAddress, "discord", ""),
    ("inbound", NamesThePerson, "discord", ""),
    ("unacked", AcksAtOnce, "discord", ""),
    ("unacked", NewIds, "discord", ""),
    ("acked", AcksNothing, "discord", ""),
    ("own-messages", HearsItself, "discord", ""),
    ("broken-stream", EndsQuietly, "discord", ""),
    ("ready", NeverReady, "discord", ""),
    ("not-ready", AlwaysReady, "discord", ""),
]

"""Checks of inbound messages and readiness. The first line of each docstring is its sentence in the report."""

import msgspec

from trunkline.core.channels.adapter import Readiness, Ready
from trunkline.core.testing.adapter_kit.check_run import CheckFailed, CheckRun, describe
from trunkline.core.testing.adapter_kit.platform_double import NotTried
from trunkline.core.values import Address, Envelope


async def inbound(trial: CheckRun) -> None:
    """A message arrives with its text, and with an address that can be sent to."""
    text = trial.request(text="zwölf 👩\u200d🔧 .").text
    place = trial.bench.places[0]
    async with trial.connect() as inbox:
        await trial.bench.say(place, text)
        envelope = await trial.wait_for(inbox, text)
    if not envelope.message_id or not envelope.peer.id:
        raise CheckFailed(f"it names no message or no peer: {envelope}")
    answer = trial.request(_where(envelope))
    message = await trial.check_only_message(answer, await trial.send_accepted(answer))
    if message.address.lane != place.lane:
        raise CheckFailed(f"it was said at {place}, and the answer is at {message.address}")


def _where(envelope: Envelope) -> Address:
    """The address for an answer. A reply chain is not a thread, see `Envelope.threaded`."""
    address = envelope.address
    return address if envelope.threaded else msgspec.structs.replace(address, thread=None)


async def unacked(trial: CheckRun) -> None:
    """An unacknowledged message is redelivered on the next connection."""
    if not trial.bench.comes_again:
        raise NotTried("the platform delivers nothing again")
    text = trial.request().text
    async with trial.connect() as inbox:
        await trial.bench.say(trial.bench.places[0], text)
        first = await trial.wait_for(inbox, text)
    async with trial.connect() as inbox:
        again = await trial.wait_for(inbox, text)
    if trial.adapter.capabilities.stable_ids and again.message_id != first.message_id:
        raise CheckFailed(f"ids are stable, it says, and {first.message_id!r} came again as {again.message_id!r}")
    if again.address != first.address:
        raise CheckFailed(f"it came from {first.address}, and again from {again.address}")


async def acked(trial: CheckRun) -> None:
    """An acknowledged message is not redelivered, and the others are."""
    kept, text = (trial.request().text for _ in range(2))
    async with trial.connect() as inbox:
        for words in (kept, text):
            await trial.bench.say(trial.bench.places[0], words)
        await trial.wait_for(inbox, kept)
        outcome = await trial.outcome(trial.adapter.ack(await trial.wait_for(inbox, text)))
        if outcome is not None:
            raise CheckFailed(f"an acknowledgement failed: {describe(outcome)}")
    async with trial.connect() as inbox:
        if trial.bench.comes_again:
            await trial.wait_for(inbox, kept)
        await trial.settle()
        if inbox.saying(text):
            raise CheckFailed("it was acknowledged, and came again")


async def own_messages(trial: CheckRun) -> None:
    """The gateway's own messages are not delivered as inbound messages."""
    request = trial.request()
    async with trial.connect() as inbox:
        await trial.send_accepted(request)
        await trial.settle()
        if inbox.saying(request.text):
            raise CheckFailed("a message of its own came back")


async def broken_stream(trial: CheckRun) -> None:
    """A broken connection ends with an error; without one, the gateway would stop listening for good."""
    text = trial.request().text
    async with trial.connect() as inbox:
        await trial.bench.break_stream()
        if not await inbox.until(lambda: inbox.over is not None, trial.patience):
            raise CheckFailed("the connection broke, and the stream goes on")
        if not isinstance(inbox.over, Exception):
            raise CheckFailed("the connection broke, and the stream ended as if it were over")
    async with trial.connect() as inbox:
        await trial.bench.say(trial.bench.places[0], text)
        await trial.wait_for(inbox, text)


async def ready(trial: CheckRun) -> None:
    """An account that can send reports that it is ready."""
    says = await _ask_ready(trial)
    if not says.ok:
        raise CheckFailed(f"it says that it is not ready: {says.reason!r}")


async def not_ready(trial: CheckRun) -> None:
    """An account that cannot send reports that it is not ready, and why."""
    await _ask_ready(trial)
    await trial.bench.unready()
    says = await _ask_ready(trial)
    if says.ok or not says.reason.strip():
        raise CheckFailed(f"it cannot send, and says {says}")


async def _ask_ready(trial: CheckRun) -> Ready:
    if not isinstance(trial.adapter, Readiness):
        raise NotTried("it does not say whether it is ready")
    says = await trial.outcome(trial.adapter.ready())
    if not isinstance(says, Ready):
        raise CheckFailed(f"asked whether it is ready, it says {describe(says)}")
    return says

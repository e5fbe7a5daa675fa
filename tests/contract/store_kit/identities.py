"""What every store must do with messages that are known by more than one identity."""

from tests.contract.store_kit.bench import Bench, check, same
from tests.support.factories import work
from trunkline.core.store.commands import FinishTurn, Prune


@check
async def a_message_is_known_by_each_of_its_identities(bench: Bench) -> None:
    async with bench.opened() as it:
        assert (await it.admit("m1", "content", also=("id-1",))).first is None
        assert (await it.admit("proxy", "id-1", also=("id-9",))).first == "m1"
        assert (await it.admit("again", "content", also=("id-2",))).first == "m1"
        assert len(await it.lines()) == 1


@check
async def what_repeats_a_message_gives_it_its_own_identities(bench: Bench) -> None:
    """The proxy's message comes first, then the message that it stands for, then that one under another id."""
    async with bench.opened() as it:
        assert (await it.admit("proxy", "id-1", also=("id-9",))).first is None
        assert (await it.admit("m1", "content", also=("id-1",))).first == "proxy"
        assert (await it.admit("again", "content", also=("id-2",))).first == "proxy"
        assert (await it.admit("other", "content of another", also=("id-3",))).first is None


@check
async def identities_go_with_what_is_remembered_of_messages(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1", "content", also=("id-1",))
        await it.store.write(FinishTurn(work=work("m1"), intents=[], now=3.0), same)
        await it.store.write(Prune(cutoff=2.0), same)
        assert (await it.admit("proxy", "id-1", also=("id-9",))).first == "m1"
        assert (await it.store.write(Prune(cutoff=1000.0), same)).inbounds == 1
        assert (await it.admit("proxy", "id-1", also=("id-9",))).first is None

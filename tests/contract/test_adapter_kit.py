"""The adapter kit: every fake platform passes it, and each of its checks finds the defect that it is for."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

import anyio
import pytest

from tests.support.contract.broken_adapters import BROKEN
from tests.support.contract.fake_platform_double import FakeBench, fake_bench
from tests.support.for_each import for_each
from trunkline.core.channels import ChannelAdapter
from trunkline.core.errors import UnknownName
from trunkline.core.testing.adapter_kit import (
    CHECKS,
    Bench,
    CheckResult,
    CheckVerdict,
    ContractBroken,
    KitReport,
    check_channel_adapter,
)
from trunkline.core.values import Address, Envelope
from trunkline.sim.bugs.wrappers import AdapterWrapper
from trunkline.sim.loop import SimLoop, run
from trunkline.sim.platforms import PLATFORMS
from trunkline.sim.scenario.model.world import CALLS

#: fakes that can something else than usually
VARIANTS = {
    "telegram with look-up": ("telegram", "idempotency: lookup"),
    "slack with keys": ("slack", "idempotency: key"),
    "discord by the gateway path": ("discord", "mode: gateway"),
    "discord by both paths": ("discord", "mode: hybrid"),
    "telegram by both paths, with look-up": ("telegram", "accounts: {default: {mode: hybrid, idempotency: lookup}}"),
    "discord that can only speak": ("discord", "cannot: [media, poll, payload, edit, reactions]"),
    "matrix without message ids": ("matrix", "cannot: [message-ids]"),
    "telegram that makes new ids": ("telegram", "stable_ids: false"),
    "calls with look-up": ("voice", "idempotency: lookup"),
}


def kit(
    platform: str,
    settings: str = "",
    *,
    only: Collection[str] | None = None,
    kind: type[FakeBench] = FakeBench,
    seed: int = 1,
) -> KitReport:
    """The report on a fake platform, in virtual time."""

    async def main(loop: SimLoop) -> KitReport:
        # To say the longest text takes eight seconds.
        patience = 15.0 if platform in CALLS else 5.0
        make = partial(fake_bench, loop, platform, settings, kind)
        return await check_channel_adapter(make, only=only, patience=patience)

    return run(main, seed=seed)


def one(report: KitReport) -> CheckResult:
    [found] = report.checks
    return found


def wrapped(wrapper: Callable[[Any], ChannelAdapter]) -> type[FakeBench]:
    """A bench whose adapters are wrapped."""

    class Wrapped(FakeBench):
        wrap = staticmethod(wrapper)

    return Wrapped


# ---------------------------------------------------------------- the fakes


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_fake_keeps_the_contract(platform: str, seed: int) -> None:
    kit(platform, seed=seed).raise_for_failures()


@pytest.mark.parametrize(("platform", "settings"), VARIANTS.values(), ids=VARIANTS)
def test_every_variant_of_a_fake_keeps_the_contract(platform: str, settings: str) -> None:
    kit(platform, settings).raise_for_failures()


@pytest.mark.slow
def test_every_check_is_passed_by_some_fake() -> None:
    reports = [*map(kit, PLATFORMS), *(kit(*variant) for variant in VARIANTS.values())]
    passed = {check.id for report in reports for check in report.checks if check.verdict is CheckVerdict.PASSED}
    assert passed == set(CHECKS)


# ---------------------------------------------------------------- the checks


@for_each(
    ("check", "wrapper", "platform", "settings"),
    BROKEN,
    ids=[f"{check}-{wrapper.__name__}-{platform}" for check, wrapper, platform, _ in BROKEN],
)
def test_a_check_finds_its_defect(check: str, wrapper: type[AdapterWrapper], platform: str, settings: str) -> None:
    found = one(kit(platform, settings, only=[check], kind=wrapped(wrapper)))
    assert (found.id, found.verdict) == (check, CheckVerdict.FAILED)
    assert found.sentence == CHECKS[check] and all(found.evidence)
    assert not any("raised" in line for line in found.evidence)


def test_every_check_has_a_defect_that_it_finds() -> None:
    assert {check for check, *_ in BROKEN} == set(CHECKS)


#: what is not tried without something that a bench need not have; on the platform where it is tried otherwise
OPTIONAL = {
    "requests": ("discord", "", {"no-retry"}),
    "restart": ("discord", "", {"same-key-later"}),
    "lose_response": ("discord", "", {"lost-response", "resent-after-loss"}),
    "lose_response on look-ups": ("telegram", "idempotency: lookup", {"lost-response", "found-after-loss"}),
    "delay_response": ("discord", "", {"cancelled"}),
    "reset_connection": ("discord", "", {"reset"}),
    "refuse_connection": ("discord", "mode: hybrid", {"not-sent", "no-fallback"}),
    "rate_limit": ("discord", "", {"rate-limited"}),
    "refuse": ("discord", "", {"refusal"}),
    "fail_look_up": ("telegram", "idempotency: lookup", {"look-up-fails"}),
    "say": ("discord", "", {"inbound", "unacked", "acked", "broken-stream"}),
    "break_stream": ("discord", "", {"broken-stream"}),
    "unready": ("discord", "", {"not-ready"}),
    "thread": ("discord", "", {"thread"}),
    "nowhere": ("discord", "", {"nowhere"}),
    "payload": ("discord", "", {"payload"}),
    "shows": ("discord", "", {"media", "poll", "payload", "delete", "pin", "react"}),
    "shows on telegram": ("telegram", "", {"media", "poll", "payload", "delete", "pin", "react", "markup"}),
}


@pytest.mark.slow(every=6)
@pytest.mark.parametrize("name", OPTIONAL)
def test_what_a_bench_cannot_do_is_not_tried(name: str) -> None:
    platform, settings, expected = OPTIONAL[name]
    member = name.split(maxsplit=1)[0]

    class Lacking(FakeBench):
        def __init__(self, *world: Any) -> None:
            super().__init__(*world)
            missing = getattr(Bench, member)
            setattr(self, member, missing.__get__(self) if callable(missing) else missing)

    without, usual = kit(platform, settings, kind=Lacking), kit(platform, settings)
    assert without.failures == ()
    assert {check.id for check in without.not_tried} - {check.id for check in usual.not_tried} == expected
    assert all(check.evidence for check in without.not_tried)


def test_a_bench_that_can_make_nothing_fail_leaves_two_more_untried() -> None:
    hooks = ("lose_response", "reset_connection", "refuse_connection", "rate_limit", "refuse")

    class Gentle(FakeBench):
        def __init__(self, *world: Any) -> None:
            super().__init__(*world)
            for hook in hooks:
                setattr(self, hook, partial(getattr(Bench, hook), self))

    report = kit("discord", only=["goes-on", "no-retry"], kind=Gentle)
    assert [check.verdict for check in report.checks] == [CheckVerdict.NOT_TRIED] * 2


# ---------------------------------------------------------------- the report


def test_failures_are_raised_with_their_evidence() -> None:
    report = kit("discord", only=["send", "identity"], kind=wrapped(AdapterWrapper))
    report.raise_for_failures()
    broken = next(wrapper for check, wrapper, *_ in BROKEN if check == "identity")
    report = kit("discord", only=["identity", "send"], kind=wrapped(broken))
    with pytest.raises(ContractBroken, match="DISCORD:default: identity: the channel is not in lower case: 'DISCORD'"):
        report.raise_for_failures()
    assert [check.id for check in report.failures] == ["identity"]


def test_a_report_can_be_read() -> None:
    lines = str(kit("telegram", only=["send", "open-thread"])).splitlines()
    assert lines[0] == "telegram:default: 1 passed, 0 failed, 1 not tried"
    assert lines[1].split()[:2] == ["passed", "send"] and CHECKS["send"] in lines[1]
    assert lines[2].split()[:3] == ["not", "tried", "open-thread"]
    assert lines[3].strip() == "it opens no threads"


def test_a_check_that_is_not_there_is_reported() -> None:
    with pytest.raises(UnknownName, match="no check is called 'sned'"):
        kit("discord", only=["sned"])


def test_checks_have_sentences_for_people() -> None:
    assert all(sentence.endswith(".") and "\n" not in sentence for sentence in CHECKS.values())


class _Hanging(AdapterWrapper):
    def connect(self) -> AbstractAsyncContextManager[AsyncIterator[Envelope]]:
        return self._connect()

    @asynccontextmanager
    async def _connect(self) -> AsyncGenerator[AsyncIterator[Envelope], None]:
        await anyio.sleep_forever()
        yield self._nothing()

    async def _nothing(self) -> AsyncIterator[Envelope]:
        return
        yield


def test_an_adapter_that_hangs_fails_and_the_other_checks_go_on() -> None:
    report = kit("discord", only=["unacked", "send"], kind=wrapped(_Hanging))
    assert [check.verdict for check in report.checks] == [CheckVerdict.FAILED, CheckVerdict.PASSED]
    assert report.failures[0].evidence == ("it does not come to an end",)


class _Defect(AdapterWrapper):
    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        raise KeyError("thread")


def test_whatever_an_adapter_raises_is_evidence() -> None:
    found = one(kit("discord", only=["open-thread"], kind=wrapped(_Defect)))
    assert (found.verdict, found.evidence) == (CheckVerdict.FAILED, ("it raised KeyError: 'thread'",))


def test_a_bench_with_a_task_group_of_its_own_changes_no_evidence() -> None:
    broken = next(wrapper for check, wrapper, *_ in BROKEN if check == "send")

    async def main(loop: SimLoop) -> KitReport:
        @asynccontextmanager
        async def make() -> AsyncGenerator[Bench, None]:
            async with anyio.create_task_group(), fake_bench(loop, "discord", "", wrapped(broken)) as bench:
                yield bench

        return await check_channel_adapter(make, only=["send"])

    assert one(run(main, seed=1)) == one(kit("discord", only=["send"], kind=wrapped(broken)))


def test_a_bench_that_breaks_fails_its_check_only() -> None:
    made: list[int] = []

    async def main(loop: SimLoop) -> KitReport:
        @asynccontextmanager
        async def make() -> AsyncGenerator[Bench, None]:
            made.append(1)
            if len(made) == 2:
                raise OSError("no sandbox today")
            async with fake_bench(loop, "discord") as bench:
                yield bench

        return await check_channel_adapter(make, only=["send", "identity"])

    report = run(main, seed=1)
    assert [check.verdict for check in report.checks] == [CheckVerdict.FAILED, CheckVerdict.PASSED]
    assert report.failures[0].evidence == ("the bench raised OSError: no sandbox today",)

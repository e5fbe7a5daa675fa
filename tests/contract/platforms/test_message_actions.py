"""Edits, deletions, reactions and pins on fake platforms: the rules of each, and what the world records."""

from collections.abc import Awaitable
from typing import Any

import anyio
import pytest

from tests.support.contract.stage import ALL, Stage, act, change, play, request
from tests.support.for_each import for_each
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionQuery
from trunkline.core.errors import Ambiguous, NotSent, PlatformError, RateLimited, Refused, Unauthorized
from trunkline.core.reasons import Reason
from trunkline.core.values import Receipt
from trunkline.sim.events.actions import WireActed, WireAnswered
from trunkline.sim.events.wire import WireRefused, WireResponseLost
from trunkline.sim.platforms import PLATFORMS


def having(action: Action) -> list[str]:
    return [name for name in ALL if action in PLATFORMS[name].actions_of()]


@for_each("platform", ALL)
@for_each("action", [Action.EDIT, Action.DELETE, Action.UNSEND, Action.REACT, Action.PIN])
def test_a_platform_carries_out_the_actions_that_it_declares_and_refuses_the_others(
    platform: str, action: Action
) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        receipt = await adapter.send(request(place))
        done = await act(adapter, action, receipt, "👍")
        if action in adapter.capabilities.actions:
            assert done == Receipt(provider_id=receipt.provider_id, address=place)
            [acted] = stage.recorded(WireActed)
            assert (acted.action, acted.message_id, acted.author) == (action, receipt.provider_id, "bot")
        else:
            assert isinstance(done, Refused) and f"there is no {action.value} here" in str(done)
            [refused] = stage.recorded(WireRefused)
            assert (refused.action, refused.reason) == (action, Reason.REFUSED)

    play(test)


@for_each("platform", having(Action.EDIT))
def test_only_its_author_edits_a_message_within_its_limits(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/both")
        receipt = await adapter.send(request(place))
        await adapter.act(change(Action.EDIT, receipt, "another text"))
        message = stage.message(receipt)
        assert (message.text, message.edits) == ("another text", 1)
        for text, problem in (("x" * 70_000, "longer than"), (" ", "empty")):
            assert problem in str(await act(adapter, Action.EDIT, receipt, text))
        said = Receipt(provider_id=stage.say("m1", f"{platform}/both"), address=place)
        assert "only its author" in str(await act(adapter, Action.EDIT, said, "of Ana"))
        # the other account sees the message, and cannot edit it either
        there = Receipt(provider_id=receipt.provider_id, address=stage.place(f"{platform}:second/both"))
        assert "only its author" in str(await act(stage.adapter(platform, "second"), Action.EDIT, there, "of another"))
        assert message.text == "another text"
        [acted] = stage.recorded(WireActed)
        assert (acted.before, acted.text, acted.repeated) == ("hello", "another text", False)

    play(test)


@for_each("platform", [name for name in ALL if PLATFORMS[name].actions_of() & {Action.EDIT, Action.PIN}])
def test_a_deleted_message_cannot_be_changed(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter(platform)
        receipt = await adapter.send(request(stage.place(f"{platform}/mine")))
        delete = Action.DELETE if Action.DELETE in adapter.capabilities.actions else Action.UNSEND
        await adapter.act(change(delete, receipt))
        for action in (Action.EDIT, Action.REACT, Action.PIN):
            if action in adapter.capabilities.actions:
                assert "was deleted" in str(await act(adapter, action, receipt, "👍"))
        assert not stage.world.platforms[platform].board.sent

    play(test)


@for_each("platform", ALL)
def test_an_action_concerns_the_message_of_its_own_conversation(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter(platform)
        receipt = await adapter.send(request(stage.place(f"{platform}/mine")))
        elsewhere = Receipt(provider_id=receipt.provider_id, address=stage.place(f"{platform}/both"))
        action = next(iter(sorted(adapter.capabilities.actions & {Action.REACT, Action.EDIT})), None)
        if action is not None:
            assert "no such message" in str(await act(adapter, action, elsewhere, "👍"))
            assert not stage.message(receipt).reactions

    play(test)


@for_each("platform", having(Action.REACT))
def test_a_bot_has_as_many_reactions_on_a_message_as_its_platform_allows(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/both")
        said = Receipt(provider_id=stage.say("m1", f"{platform}/both"), address=place)
        for emoji in ("👍", "👍", "💡"):
            await adapter.act(change(Action.REACT, said, emoji))
        alone = PLATFORMS[platform].rules.one_reaction
        assert stage.message(said).emoji == (("💡",) if alone else ("👍", "💡"))
        assert [acted.repeated for acted in stage.recorded(WireActed)] == [False, True, False]
        assert {acted.author for acted in stage.recorded(WireActed)} == {"other"}
        # Of two bots, each has its own.
        there = Receipt(provider_id=said.provider_id, address=stage.place(f"{platform}:second/both"))
        await stage.adapter(platform, "second").act(change(Action.REACT, there, "💡"))
        assert len(stage.message(said).reactions["💡"]) == 2
        for emoji in ("💡", "💡", ""):
            await adapter.act(change(Action.REACT, said, emoji, remove=True))
        assert stage.message(said).emoji == ("💡",)
        assert [acted.repeated for acted in stage.recorded(WireActed)][-3:] == [False, True, alone]
        assert "no emoji" in str(await act(adapter, Action.REACT, said, " "))

    play(test)


def test_whose_messages_a_bot_may_delete_depends_on_platform_and_conversation() -> None:
    async def test(stage: Stage) -> None:
        for platform, room in (("discord", True), ("telegram", True), ("slack", False)):
            adapter = stage.adapter(platform)
            for spot, allowed in (("mine", room), ("@ana", False)):
                name = f"{platform}-{spot}"
                place = stage.place(f"{platform}:default/{spot}")
                said = Receipt(provider_id=stage.say(name, f"{platform}:default/{spot}"), address=place)
                done = await act(adapter, Action.DELETE, said)
                assert isinstance(done, Receipt if allowed else Refused), name

    play(test)


def test_telegram_deletes_no_message_older_than_two_days() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("telegram"), stage.place("telegram/mine")
        old = await adapter.send(request(place))
        await anyio.sleep(47 * 3600.0)
        young = await adapter.send(request(place, key="k2/0"))
        await anyio.sleep(3600.0)
        assert "too old" in str(await act(adapter, Action.DELETE, old))
        assert isinstance(await act(adapter, Action.DELETE, young), Receipt)
        # A deletion that is repeated after that time finds nothing left to do.
        await anyio.sleep(48 * 3600.0)
        assert isinstance(await act(adapter, Action.DELETE, young), Receipt)

    play(test)


def test_a_channel_has_a_limited_number_of_pins() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("discord"), stage.place("discord/mine")
        most = PLATFORMS["discord"].rules.pins or 0
        sent = [await adapter.send(request(place, key=f"k{n}/0")) for n in range(most + 1)]
        for receipt in sent[:-1]:
            await adapter.act(change(Action.PIN, receipt))
        assert f"{most} pinned" in str(await act(adapter, Action.PIN, sent[-1]))
        assert isinstance(await act(adapter, Action.PIN, sent[0]), Receipt)
        await adapter.act(change(Action.UNPIN, sent[0]))
        assert isinstance(await act(adapter, Action.PIN, sent[-1]), Receipt)

    play(test)


# ---------------------------------------------------------------- faults


@for_each(
    ("do", "error", "carried_out"),
    [
        ("lose-response", TimeoutError, True),
        ("drop", TimeoutError, False),
        ("reset", Ambiguous, True),
        ("reset-before", Ambiguous, False),
        ("refuse-connection", NotSent, False),
        ("refuse", Refused, False),
        ("rate-limit", RateLimited, False),
        ("error", PlatformError, False),
    ],
)
def test_a_fault_strikes_an_action(do: str, error: type[Exception], carried_out: bool) -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter("telegram")
        receipt = await adapter.send(request(stage.place("telegram/mine")))
        stage.fault(do, on="act", action="edit")
        assert isinstance(await act(adapter, Action.REACT, receipt, "👍"), Receipt)
        with pytest.raises(error), anyio.fail_after(20.0):
            await adapter.act(change(Action.EDIT, receipt, "another text"))
        assert (stage.message(receipt).text == "another text") is carried_out
        lost = [body.action for body in stage.recorded(WireResponseLost)]
        assert lost == ([Action.EDIT] if carried_out else [])

    play(test)


def test_a_fault_on_send_leaves_actions_alone_and_the_other_way_round() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("discord"), stage.place("discord/mine")
        stage.fault("refuse", on="act")
        receipt = await adapter.send(request(place))
        stage.fault("refuse", on="send")
        assert isinstance(await act(adapter, Action.PIN, receipt), Refused)
        assert isinstance(await act(adapter, Action.PIN, receipt), Receipt)

    play(test)


def test_a_change_that_left_a_process_arrives_although_nobody_waits() -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter("slack")
        receipt = await adapter.send(request(stage.place("slack/mine")))
        stage.fault("slow", on="act", **{"for": 10.0})
        with pytest.raises(TimeoutError), anyio.fail_after(1.0):
            await adapter.act(change(Action.EDIT, receipt, "late"))
        assert stage.message(receipt).text == "hello"
        await anyio.sleep(20.0)
        assert stage.message(receipt).text == "late"

    play(test)


def test_an_old_token_changes_nothing() -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter("discord")
        receipt = await adapter.send(request(stage.place("discord/mine")))
        stage.world.platforms["discord"].tokens.rotate("default", None)
        assert isinstance(await act(adapter, Action.PIN, receipt), Unauthorized)
        adapter.renew(2)
        assert isinstance(await act(adapter, Action.PIN, receipt), Receipt)
        assert [body.credential for body in stage.recorded(WireActed)] == [2]

    play(test)


def test_whatsapp_has_no_actions_while_its_connection_is_down() -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter("whatsapp")
        receipt = await adapter.send(request(stage.place("whatsapp/mine")))
        stage.fault("error", on="connect")
        assert isinstance(await act(adapter, Action.REACT, receipt, "👍"), NotSent)

    play(test)


# ---------------------------------------------------------------- questions


def answer(stage: Stage, platform: str, action: Action, receipt: Receipt, **fields: Any) -> Awaitable[Any]:
    query = ActionQuery(action=action, address=receipt.address, message_id=receipt.provider_id, **fields)
    return stage.adapter(platform).ask(query)


def test_a_platform_answers_questions_about_messages() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("discord"), stage.place("discord/mine")
        said = stage.say("m1", "discord/mine", "who is there?")
        receipt = await adapter.send(request(place))
        for action, text in ((Action.REACT, "👍"), (Action.PIN, "")):
            await adapter.act(change(action, receipt, text))
        assert [(one["emoji"], one["count"]) for one in await answer(stage, "discord", Action.REACTIONS, receipt)] == [
            ("👍", 1)
        ]
        read = await answer(stage, "discord", Action.READ, receipt)
        assert [one["messageId"] for one in read] == [receipt.provider_id, said]
        assert [one["text"] for one in await answer(stage, "discord", Action.READ, receipt, fields='{"limit": 1}')] == [
            "hello"
        ]
        assert len(await answer(stage, "discord", Action.LIST_PINS, receipt)) == 1
        assert [(body.action, body.found) for body in stage.recorded(WireAnswered)] == [
            (Action.REACTIONS, 1),
            (Action.READ, 2),
            (Action.READ, 1),
            (Action.LIST_PINS, 1),
        ]
        with pytest.raises(Refused, match="the message has no poll"):
            await answer(stage, "discord", Action.POLL_RESULTS, receipt)
        with pytest.raises(Refused, match="no JSON object"):
            await answer(stage, "discord", Action.READ, receipt, fields="[]")

    play(test)


def test_what_a_file_takes_away_is_refused() -> None:
    async def test(stage: Stage) -> None:
        for platform, kept in (("discord", {Action.EDIT, Action.PIN}), ("slack", {Action.REACT})):
            adapter = stage.adapter(platform)
            usual = {Action.EDIT, Action.PIN, Action.REACT, Action.REACTIONS} & adapter.capabilities.actions
            assert usual - {Action.REACTIONS} == kept
            receipt = await adapter.send(request(stage.place(f"{platform}/mine")))
            for action in (Action.EDIT, Action.PIN, Action.REACT):
                done = await act(adapter, action, receipt, "👍")
                assert isinstance(done, Receipt if action in kept else Refused)

    play(test, {"discord": "cannot: [reactions]", "slack": "cannot: [edit, pin]"})

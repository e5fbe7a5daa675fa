"""Webhooks and rotating tokens of fake platforms."""

from typing import Any

import pytest

from tests.support.contract.stage import ALL, Stage, play, request
from tests.support.contract.thread_cases import refused, webhook
from tests.support.for_each import for_each
from trunkline.core.errors import IdentityGone, Refused, Unauthorized
from trunkline.core.reasons import Reason
from trunkline.core.values import Identity
from trunkline.sim.bugs.wrappers import AdapterWrapper
from trunkline.sim.events.wire import WireAccepted, WireDeduplicated, WireRefused
from trunkline.sim.events.world import CredentialRotated, PeerSaid, ThreadOpened, WebhookGone
from trunkline.sim.platforms.api.inbound_pushes import Speaker

# ---------------------------------------------------------------- webhooks


@for_each("platform", ALL)
def test_only_discord_has_webhooks(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter(platform)
        found = await adapter.identity(stage.place(f"{platform}/mine"), "clerk")
        assert (found is not None) is (platform == "discord")
        assert (adapter.capabilities.identities is not None) is (platform == "discord")
        assert await adapter.identity(stage.place(f"{platform}/@ana"), "clerk") is None

    play(test)


def test_a_webhook_belongs_to_a_room_and_is_found_again() -> None:
    async def test(stage: Stage) -> None:
        in_room = await webhook(stage, stage.place("discord/both"))
        in_thread = await webhook(stage, stage.place("discord/both/deploy"), "smith")
        elsewhere = await webhook(stage, stage.place("discord/mine"))
        of_another = await webhook(stage, stage.place("discord:second/both"))
        assert in_room.id == in_thread.id
        assert in_room.name != in_thread.name
        assert len({in_room.id, elsewhere.id, of_another.id}) == 3

    play(test)


def test_a_webhook_speaks_under_its_name_and_knows_no_keys() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("discord"), stage.place("discord/both/deploy")
        who = await webhook(stage, place)
        first = await adapter.send(request(place, identity=who))
        again = await adapter.send(request(place, identity=who, attempt=2))
        assert first.provider_id != again.provider_id
        assert await adapter.find(place, "k1/0") is None
        assert stage.recorded(WireDeduplicated) == []
        await adapter.send(request(place, attempt=3))
        assert [body.identity for body in stage.recorded(WireAccepted)] == [str(who), str(who), None]
        assert stage.recorded(PeerSaid) == []

    play(test)


@pytest.mark.parametrize("state", ["deleted", "forbidden"])
def test_a_webhook_that_is_gone_says_nothing(state: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("discord"), stage.place("discord/both/deploy")
        who = await adapter.identity(place, "clerk")
        assert who is not None
        assert stage.world.platforms["discord"].webhooks.end(place, state, None)
        assert not stage.world.platforms["discord"].webhooks.end(place, state, None)
        assert [(body.webhook, body.how) for body in stage.recorded(WebhookGone)] == [(who.id, state)]
        assert isinstance(await refused(adapter.send(request(place, identity=who))), IdentityGone)
        assert [body.reason for body in stage.recorded(WireRefused)] == [Reason.IDENTITY_GONE]
        assert stage.recorded(WireAccepted) == []
        await adapter.send(request(place))
        if state == "deleted":
            other = await adapter.identity(place, "clerk")
            assert other is not None
            assert other.id != who.id
            await adapter.send(request(place, key="k2/0", identity=other))
        else:
            assert isinstance(await refused(stage.adapter("discord").identity(place, "clerk")), Refused)

    play(test)


def test_a_webhook_does_not_speak_in_other_rooms() -> None:
    async def test(stage: Stage) -> None:
        who = await webhook(stage, stage.place("discord/both"))
        adapter, other = stage.adapter("discord"), stage.place("discord/mine")
        assert isinstance(await refused(adapter.send(request(other, identity=who))), IdentityGone)
        stranger = Identity(id="404", name="clerk")
        error = await refused(adapter.send(request(stage.place("discord/both"), identity=stranger)))
        assert isinstance(error, IdentityGone)
        assert stage.recorded(WireAccepted) == []

    play(test)


@pytest.mark.parametrize("echoes", [False, True])
def test_what_a_webhook_says_comes_back_where_the_platform_does_so(echoes: bool) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("discord"), stage.place("discord/both/deploy")
        who = await webhook(stage, place)
        receipt = await adapter.send(request(place, "lamps are lit", identity=who))
        await adapter.send(request(place, "said by the bot", key="k2/0"))
        taken = await stage.taken(adapter, ack=True)
        assert [(one.message_id, one.text, one.webhook, one.bot) for one in taken] == (
            [(receipt.provider_id, "lamps are lit", who.id, True)] if echoes else []
        )
        assert [(body.echo_of, body.bot) for body in stage.recorded(PeerSaid)] == ([(who.id, True)] if echoes else [])

    play(test, {"discord": f"echoes: {str(echoes).lower()}"})


def test_bots_and_webhooks_of_others_say_who_they_are() -> None:
    async def test(stage: Stage) -> None:
        stage.say("m1", "discord/both", speaker=Speaker(bot=True))
        stage.say("m2", "discord/both", speaker=Speaker(bot=True, webhook="77", stands_for="1"))
        stage.say("m3", "discord/both")
        taken = await stage.taken(stage.adapter("discord"), ack=True)
        found = [(one.bot, one.webhook, one.stands_for) for one in sorted(taken, key=lambda one: one.sent_at)]
        assert sorted(found, key=str) == sorted([(True, None, None), (True, "77", "1"), (False, None, None)], key=str)
        assert [(body.bot, body.stands_for, body.echo_of) for body in stage.recorded(PeerSaid)] == [
            (True, None, None),
            (True, "1", None),
            (False, None, None),
        ]

    play(test)


# ---------------------------------------------------------------- tokens


def test_an_older_token_is_not_taken() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("discord"), stage.place("discord/both/deploy")
        who = await adapter.identity(place, "clerk")
        message = stage.say("m1", "discord/both")
        assert stage.world.platforms["discord"].tokens.rotate("default", None) == 2
        [rotated] = stage.recorded(CredentialRotated)
        assert (rotated.channel, rotated.account, rotated.number) == ("discord", "default", 2)
        calls: list[Any] = [
            adapter.send(request(place)),
            adapter.send(request(place, identity=who)),
            adapter.open_child(place, "lamps", "m1.hand1"),
            adapter.open_thread(stage.place("discord/both"), message, "lamps"),
            adapter.inspect(place),
            adapter.reopen(place),
            adapter.identity(stage.place("discord/mine"), "clerk"),
            adapter.find(place, "k1/0"),
        ]
        for call in calls:
            assert isinstance(await refused(call), Unauthorized)
        with pytest.raises(Unauthorized):
            async with adapter.connect():
                pass
        assert stage.recorded(WireAccepted) == stage.recorded(ThreadOpened) == []
        assert [(body.reason, body.credential) for body in stage.recorded(WireRefused)] == [
            (Reason.UNAUTHORIZED, 1),
            (Reason.UNAUTHORIZED, 1),
        ]
        await stage.adapter("discord", "second").send(request(stage.place("discord:second/both")))

    play(test)


@pytest.mark.parametrize("wrapped", [False, True])
def test_an_adapter_is_given_the_newest_token(wrapped: bool) -> None:
    async def test(stage: Stage) -> None:
        inner, place = stage.adapter("discord"), stage.place("discord/both/deploy")
        adapter = AdapterWrapper(inner) if wrapped else inner
        who = await webhook(stage, place)
        tokens = stage.world.platforms["discord"].tokens
        tokens.rotate("default", None)
        tokens.rotate("default", None)
        adapter.renew(3)
        adapter.renew(2)
        await adapter.send(request(place))
        await adapter.send(request(place, key="k2/0", identity=who))
        assert await adapter.open_child(place, "lamps", "m1.hand1")
        assert [body.credential for body in stage.recorded(WireAccepted)] == [3, 3]
        await stage.adapter("discord").send(request(place, key="k3/0"))

    play(test)


def test_tokens_are_announced_only_where_they_are_counted() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("discord"), stage.place("discord/both/deploy")
        await adapter.send(request(place))
        stage.world.platforms["discord"].tokens.declare("default")
        await adapter.send(request(place, key="k2/0"))
        assert [body.credential for body in stage.recorded(WireAccepted)] == [0, 1]

    play(test)

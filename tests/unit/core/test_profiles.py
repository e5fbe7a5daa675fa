"""A program brings the rules of a gateway of its own as a profile: through the public door, and nothing else."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.support.factories import envelope
from tests.support.sending import Platform, Running, message, serving
from trunkline import (
    Address,
    ChannelRulebook,
    ChatKind,
    ConfigChecks,
    Decisions,
    GatewayConfig,
    Hints,
    KeyCodec,
    OutboundQuestion,
    ParsedTarget,
    Profile,
    ProfileRules,
    Reason,
    SessionKey,
    TargetError,
    parse_v1,
    register_profile,
    registered_profile,
    resolve_outbound_route,
    resolve_route,
)
from trunkline.core.channels.platforms.discord import Discord
from trunkline.core.errors import ConfigError, UsageError
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.gateway import InboundDropped, ProcessStarted

PLACE = Address(channel="discord", account="default", kind=ChatKind.DIRECT, conversation="100")


class AcmeDiscord(Discord):
    """Digits alone are a person, where ours asks which they are."""

    def bare(self, id: str, text: str, hints: Hints) -> ParsedTarget:  # noqa: A002 -- the word
        return self.target(ChatKind.DIRECT, id, text, "by the rules of Acme")


class AcmeKeys(KeyCodec):
    name = "acme"
    migrates = False

    def write(self, key: SessionKey, main_key: str) -> str:
        return f"acme/{main_key}/{super().write(key, main_key)}"

    def read(self, text: str, main_key: str) -> SessionKey:
        return parse_v1(text.removeprefix(f"acme/{main_key}/"))


class AcmeChecks(ConfigChecks):
    def check_agents(self, config: GatewayConfig) -> None:
        super().check_agents(config)
        if len(config.agents) > 1:
            raise ValueError("agents: a gateway of Acme has one")


ACME = ProfileRules(
    "acme",
    ChannelRulebook(AcmeDiscord),
    AcmeKeys(),
    AcmeChecks(),
    Decisions(identify=lambda envelope, can: envelope.text),
)


@pytest.fixture
def acme() -> Iterator[ProfileRules]:
    with registered_profile(ACME) as rules:
        yield rules


@pytest.fixture
def platform() -> Iterator[Platform]:
    made = Platform()
    yield made
    made.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "gateway.db"


async def said(running: Running, platform: Platform, name: str, text: str) -> None:
    platform.say(name, PLACE, text)
    await running.until(IntentSettled, 1)


@pytest.mark.usefixtures("acme")
@pytest.mark.anyio
async def test_a_gateway_runs_by_the_rules_of_its_profile(path: Path, platform: Platform) -> None:
    async with serving(path, platform, profile="acme", session={"main_key": "home"}) as running:
        # The rule of the channel: digits alone are a person.
        sent = await running.gateway.send(message("100", key="k1"))
        assert running.recorded(ProcessStarted)[0].profile == "acme"
        # The codec of keys.
        assert sent.session_key == "acme/home/main:discord:default:direct:100"
        # The decision: two messages with one text are one.
        await said(running, platform, "m1", "hello")
        await said(running, platform, "m2", "hello")
        await running.until(InboundDropped, 1)
        with pytest.raises(ConfigError, match="the form of session keys cannot change"):
            running.gateway.reload(GatewayConfig())
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT session_key, codec FROM session_map").fetchall() == [(sent.session_key, "acme")]


@pytest.mark.usefixtures("acme")
@pytest.mark.anyio
async def test_the_keys_of_an_earlier_process_are_read_in_the_form_of_the_profile(
    path: Path, platform: Platform
) -> None:
    for key in ("k1", "k2"):
        async with serving(path, platform, profile="acme") as running:
            await running.gateway.send(message("100", key=key))
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM session_map").fetchone() == (1,)


@pytest.mark.usefixtures("acme")
@pytest.mark.anyio
async def test_decisions_of_a_user_stand_over_those_of_the_profile(path: Path, platform: Platform) -> None:
    silent = Decisions(decide_answer=lambda facts: Reason.NO_REPLY)
    async with serving(path, platform, profile="acme", decisions=silent) as running:
        platform.say("m1", PLACE, "hello")
        platform.say("m2", PLACE, "hello")
        await running.until(InboundDropped, 1)
    assert platform.sent == []


@pytest.mark.usefixtures("acme")
def test_pure_decisions_follow_the_profile_of_their_configuration() -> None:
    question = OutboundQuestion(agent="main", channel="discord", target="100")
    assert resolve_outbound_route(question, GatewayConfig(profile=Profile("acme"))).address == PLACE
    with pytest.raises(TargetError):
        resolve_outbound_route(question, GatewayConfig())


@pytest.mark.usefixtures("acme")
def test_a_configuration_is_checked_by_the_profile() -> None:
    two = {"agents": [{"id": "a"}, {"id": "b"}]}
    with pytest.raises(ValidationError, match="a gateway of Acme has one"):
        GatewayConfig.model_validate({"profile": "acme", **two})
    with pytest.raises(ValidationError, match="there are none; the profile acme needs at least one"):
        GatewayConfig.model_validate({"profile": "acme", "agents": []})
    assert len(GatewayConfig.model_validate(two).agents) == 2


def test_a_name_that_nobody_registered_is_refused() -> None:
    with registered_profile(ACME):
        config = GatewayConfig.model_validate({"profile": "acme"})
    assert config.profile == "acme"
    with pytest.raises(ValidationError, match="'trunkline', 'openclaw' or 'openclaw-2026-08'"):
        GatewayConfig.model_validate({"profile": "acme"})


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize("name", ["acme", *Profile])
def test_a_name_means_one_set_of_rules(name: str) -> None:
    with pytest.raises(UsageError, match=f"a profile '{name}' exists already"):
        register_profile(ProfileRules(name))
    register_profile(ACME)


@pytest.mark.usefixtures("acme")
def test_rules_on_top_of_others_replace_some_of_them() -> None:
    top = ProfileRules("acme-2", Decisions(), base=ACME)
    assert isinstance(top[KeyCodec], AcmeKeys)
    assert top[Decisions] == Decisions() != ACME[Decisions]
    assert isinstance(top[AcmeKeys], AcmeKeys)


@pytest.mark.usefixtures("acme")
def test_a_route_of_a_profile_without_rules_of_its_own_is_ours() -> None:
    said_there = envelope(PLACE)
    route = resolve_route(said_there, GatewayConfig(profile=Profile("acme")))
    assert route == resolve_route(said_there, GatewayConfig())

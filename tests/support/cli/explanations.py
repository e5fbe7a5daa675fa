"""What the tests of explain share."""

import json

from trunkline.core.events.gateway import InboundReceived
from trunkline.core.explain.decide import InboundQuestion
from trunkline.sim import ScenarioFile

CONFIG = """\
agents: [{id: main}, {id: ops}]
bindings:
  - {agent: ops, name: peer, match: {channel: discord, peer: {kind: channel, id: "777"}}}
  - {agent: ops, name: parent, match: {channel: discord, peer: {kind: channel, id: "500"}}}
  - {agent: ops, name: anybody, match: {channel: discord, peer: {kind: direct, id: "*"}}}
  - {agent: ops, name: roles, match: {channel: discord, guild: acme, roles: [dev]}}
  - {agent: ops, name: guild, match: {channel: discord, guild: acme}}
  - {agent: ops, name: team, match: {channel: slack, team: t1}}
  - {agent: ops, name: account, match: {channel: slack, account: work}}
  - {agent: ops, name: channel, match: {channel: telegram, account: "*"}}
"""


INBOUND = ("explain", "inbound", "--channel", "discord", "--kind", "direct", "--peer", "1")


def explanation(trunkline, *arguments) -> dict:
    """The JSON of an answer."""
    code, out, err = trunkline("explain", *arguments, "--json")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer.pop("trunkline_explain") == 1
    return answer


def asked(file: ScenarioFile, received: InboundReceived) -> InboundQuestion:
    """The question of a message that a run took: from its events, and what the world knows of who wrote it."""
    world, place = file.scenario.world, received.address
    platform = world.platforms[place.channel]
    person = world.people.get(received.peer.name)
    return InboundQuestion(
        channel=place.channel,
        kind=place.kind,
        peer=place.conversation,
        account=place.account,
        thread=place.thread,
        parent=place.parent,
        guild=platform.guild,
        role=() if person is None else person.roles,
        sender=received.peer.id,
        message=received.message_id,
    )

"""The tool adapts to the channels: their tables, their gates, their adapters, and the current one."""

from typing import Any

from trunkline.core.action_catalogue import Action
from trunkline.core.config import GatewayConfig
from trunkline.core.message_tool.schema import SchemaForm, Surroundings, ToolSchema, tool_schema
from trunkline.core.values import Capabilities, Capability

NOTHING = GatewayConfig()


def tool(*channels: str, config: GatewayConfig = NOTHING, **around: Any) -> ToolSchema:
    return tool_schema(config, Surroundings(channels=dict.fromkeys(channels), **around))


def actions(schema: ToolSchema) -> set[str]:
    return set(schema.parameters["properties"]["action"]["enum"])


def fields(schema: ToolSchema) -> set[str]:
    return set(schema.parameters["properties"])


def test_without_channels_there_are_sends_and_broadcasts() -> None:
    schema = tool()
    assert actions(schema) == {"send", "broadcast"}
    assert {"message", "media", "target", "targets", "dryRun"} <= fields(schema)
    assert not {"pollQuestion", "emoji", "guildId", "buttons", "to", "text"} & fields(schema)


def test_the_actions_are_those_of_all_channels() -> None:
    schema = tool("whatsapp", "signal")
    assert {"send", "broadcast", "react", "poll", "reply"} <= actions(schema)
    assert not {"pin", "kick", "thread-create", "sendWithEffect"} & actions(schema)
    assert "pin" in actions(tool("whatsapp", "slack"))
    assert "guildId" not in fields(schema) and "guildId" in fields(tool("discord"))


def test_gates_decide() -> None:
    config = GatewayConfig.model_validate(
        {"channels": {"discord": {"actions": {"moderation": True, "pins": False}}, "slack": {}}}
    )
    assert {"kick", "ban", "timeout"} <= actions(tool("discord", config=config))
    assert not {"kick", "ban", "timeout"} & actions(tool("discord"))
    assert not {"pin", "unpin", "list-pins"} & actions(tool("discord", config=config))
    # Another channel has them.
    assert "pin" in actions(tool("discord", "slack", config=config))
    assert "durationMin" in fields(tool("discord", config=config)) and "durationMin" not in fields(tool("discord"))


def test_adapters_decide() -> None:
    bare, able = Capabilities(), Capabilities(actions=frozenset({Action.PIN, Action.KICK}))
    schema = tool_schema(NOTHING, Surroundings(channels={"discord": (bare, able)}))
    # Moderation is closed.
    assert actions(schema) == {"send", "broadcast", "reply", "thread-reply", "sendAttachment", "upload-file", "pin"}
    polls = Capabilities(can=frozenset({Capability.TEXT, Capability.POLL}))
    assert actions(tool_schema(NOTHING, Surroundings(channels={"telegram": (polls,)}))) == {
        *("send", "broadcast", "reply", "poll")
    }
    assert actions(tool_schema(NOTHING, Surroundings(channels={"own": (able,)}))) >= {"pin", "kick"}


def test_an_agent_may_be_denied_actions() -> None:
    denied = {"tools": {"message": {"disabled_actions": ["delete"], "broadcast": {"enabled": False}}}}
    config = GatewayConfig.model_validate({"agents": [{"id": "main"}, {"id": "ops", **denied}]})
    assert {"delete", "broadcast"} <= actions(tool("slack", config=config, agent="main"))
    limited = tool("slack", config=config, agent="ops")
    assert not {"delete", "broadcast"} & actions(limited) and "targets" not in fields(limited)
    assert limited.parameters["properties"]["channel"]["enum"] == ["slack"]


def test_what_only_some_channels_can_put_into_a_message() -> None:
    assert "buttons" in fields(tool("telegram", "signal")) and "buttons" not in fields(tool("signal"))
    assert "card" in fields(tool("msteams")) and "card" not in fields(tool("discord", "telegram"))
    assert "components" in fields(tool("discord")) and "components" not in fields(tool("telegram"))
    seconds = {"pollDurationSeconds", "pollAnonymous"}
    assert seconds <= fields(tool("telegram")) and not seconds & fields(tool("discord", "whatsapp"))
    assert "pollDurationHours" in fields(tool("discord")) and "pollDurationHours" not in fields(tool("telegram"))
    assert {"effect", "effectId"} <= fields(tool("bluebubbles")) and "effect" not in fields(tool("telegram"))


def test_it_is_scoped_to_the_current_channel() -> None:
    here = tool("discord", "telegram", current="discord")
    assert "components" in fields(here)
    assert not {"buttons", "pollAnonymous", "pollDurationSeconds"} & fields(here)
    there = tool("discord", "telegram", current="telegram")
    assert {"buttons", "pollAnonymous", "pollDurationSeconds"} <= fields(there) and "components" not in fields(there)
    assert actions(here) == actions(there)
    # A heartbeat works on no channel.
    assert {"buttons", "components"} <= fields(tool("discord", "telegram"))


def test_adapters_decide_what_messages_can_have() -> None:
    bare = Capabilities()
    able = Capabilities(can=frozenset({Capability.TEXT, Capability.BUTTONS, Capability.SILENT}))
    assert not {"buttons", "silent"} & fields(tool_schema(NOTHING, Surroundings(channels={"telegram": (bare,)})))
    assert {"buttons", "silent"} <= fields(tool_schema(NOTHING, Surroundings(channels={"own": (bare, able)})))
    effects = Capabilities(actions=frozenset({Action.SEND_WITH_EFFECT}))
    assert "effectId" in fields(tool_schema(NOTHING, Surroundings(channels={"imessage": (effects,)})))


def test_actions_on_groups_are_hidden_in_a_direct_conversation() -> None:
    group = {"renameGroup", "setGroupIcon", "addParticipant", "removeParticipant", "leaveGroup"}
    assert group <= actions(tool("bluebubbles", current="bluebubbles"))
    assert not group & actions(tool("bluebubbles", current="bluebubbles", direct=True))
    assert group <= actions(tool("bluebubbles", "slack", current="slack", direct=True))


def test_the_description_lists_what_the_current_channel_has() -> None:
    text = tool("slack", "signal", current="signal").description
    assert "Current channel (signal) has: send, reply, sendAttachment" in text
    assert "Other channels: slack (send, " in text
    assert "Channels: signal (send, " in tool("slack", "signal").description


def test_the_forms() -> None:
    schema = tool("slack")
    openai = schema.form()
    assert openai["type"] == "function"
    assert openai["function"] == {"name": "message", "description": schema.description, "parameters": schema.parameters}
    anthropic = schema.form(SchemaForm.ANTHROPIC)
    assert anthropic == {"name": "message", "description": schema.description, "input_schema": schema.parameters}
    assert schema.form(SchemaForm.PLAIN) == schema.parameters
    assert schema.parameters["type"] == "object" and schema.parameters["additionalProperties"] is False


def test_lists_say_what_they_hold() -> None:
    properties = tool("telegram").parameters["properties"]
    arrays = [one for one in properties.values() if one["type"] == "array"]
    assert arrays and all("items" in one for one in arrays)
    assert properties["targets"]["minItems"] == 1
    assert properties["buttons"]["items"]["items"]["required"] == ["text"]

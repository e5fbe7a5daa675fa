"""Rules that a program registers for its own channels."""

from typing import Any

import pytest

from tests.support.for_each import for_each
from tests.support.pages import DOCS, only_block
from tests.support.routes import key, read, route, seen
from trunkline import Address, ChannelConflict, ChannelRules, ChatKind, place_key, register_channel, registered_channel
from trunkline.core.channels import known_channels, rules_for
from trunkline.core.config import GatewayConfig
from trunkline.core.delivery.prepare import recipe_for
from trunkline.core.errors import TargetError, UsageError
from trunkline.core.values import Capabilities


class Radio(ChannelRules):
    channel = "radio"
    forms = ("a call sign",)
    case_sensitive = False
    chunk_limit = 60


def test_registered_rules_decide_targets_keys_and_limits() -> None:
    assert rules_for("radio").generic
    with registered_channel(Radio()) as rules:
        assert rules_for("radio") is rules
        assert "radio" in known_channels()
        place = Address(channel="radio", account="default", kind=ChatKind.DIRECT, conversation="DL1ABC")
        config = GatewayConfig()
        wanted = "main:radio:default:direct:dl1abc"
        assert str(place_key("main", place, config)) == wanted == key("radio", "user:DL1ABC")
        assert recipe_for("radio", "default", config, Capabilities()).limit == 60
        with pytest.raises(TargetError, match="Accepted: a call sign"):
            read("radio", "")
    assert rules_for("radio").generic
    assert "radio" not in known_channels()


def test_a_channel_has_one_set_of_rules() -> None:
    with registered_channel(Radio()) as rules:
        register_channel(rules)
        with pytest.raises(ChannelConflict, match="radio has the rules Radio already"):
            register_channel(Radio())
        assert rules_for("radio") is rules
        with registered_channel(Radio(), replace=True) as other:
            assert rules_for("radio") is other
        assert rules_for("radio") is rules


def test_shipped_rules_are_replaced_only_where_that_is_meant() -> None:
    class Chat(type(rules_for("telegram"))):
        case_sensitive = True

    shipped = rules_for("telegram")
    with pytest.raises(ChannelConflict, match=r"telegram has the rules Telegram already: .*replace=True"):
        register_channel(Chat())
    with registered_channel(Chat(), replace=True) as own:
        assert rules_for("telegram") is own
    assert rules_for("telegram") is shipped


@for_each("name", ["", "Radio", "ra:dio", " radio", "ra/dio", None, 7, "é"])
def test_a_name_must_be_usable_in_keys_and_targets(name: Any) -> None:
    rules = Radio()
    rules.channel = name
    with pytest.raises(UsageError, match=r"Radio\.channel is .*: give a name in lower case"):
        register_channel(rules)


@pytest.mark.parametrize("rules", [Radio, None, "radio", object()])
def test_what_are_no_rules_are_refused(rules: Any) -> None:
    with pytest.raises(UsageError, match="is no ChannelRules"):
        register_channel(rules)


def test_the_example_of_the_page_works() -> None:
    block = only_block(DOCS / "routing.md", "python", "register_channel")
    assert "register_channel(Irc())\n" in block.text
    names: dict[str, Any] = {}
    exec(block.text.replace("register_channel(Irc())\n", ""), names)
    with registered_channel(names["Irc"]()):
        assert seen("irc", "#Ops") == ("channel", "#Ops")
        assert seen("irc", "irc:ana") == ("direct", "ana")
        assert key("irc", "#Ops") == key("irc", "#ops") == "main:irc:default:channel:%23ops"
        for text in ("#Ops", "ana"):
            found = route("irc", text)
            assert route("irc", found.to).address == found.address

"""Laws of the rules of ten channels, besides those that `test_channels` has for all."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.profiles import rules_under
from tests.support.property.channel_places_more import STRATEGIES
from tests.support.scale import scaled
from trunkline.core.channels import ChannelRules, Hints, rules_for
from trunkline.core.errors import TargetError
from trunkline.core.profile_rules import Profile

OURS = Profile.TRUNKLINE
#: each law runs for every channel
few = settings(max_examples=scaled(25, 8))
RULES: dict[str, ChannelRules] = {
    name: rules_for(name)
    for name in (
        *("whatsapp", "signal", "imessage", "bluebubbles", "nextcloud-talk"),
        *("zalo", "zalouser", "nostr", "tlon", "msteams"),
    )
}


@pytest.mark.parametrize("channel", RULES)
@few
@given(data=st.data())
def test_to_and_written_target_are_one(channel: str, data: st.DataObject) -> None:
    rules, address = RULES[channel], data.draw(STRATEGIES[channel])
    written = rules.write(address)
    placed = rules.place(rules.read(written.target, Hints()), written.thread, None)
    assert placed.to == written.target


@pytest.mark.parametrize("channel", RULES)
@few
@given(data=st.data())
def test_the_name_of_the_platform_may_stand_in_front_in_any_case_and_number(channel: str, data: st.DataObject) -> None:
    rules, address = RULES[channel], data.draw(STRATEGIES[channel])
    written = rules.write(address).target
    names = st.sampled_from([channel, channel.upper(), *rules.prefixes])
    fronts = "".join(f"{name}: " for name in data.draw(st.lists(names, max_size=3)))
    assert rules.read(f"  {fronts}{written}  ", Hints()) == rules.read(written, Hints())


@pytest.mark.parametrize("channel", RULES)
@few
@given(data=st.data())
def test_folding_twice_is_folding_once(channel: str, data: st.DataObject) -> None:
    address = data.draw(STRATEGIES[channel])
    for profile in Profile:
        fold = rules_under(profile, channel).fold
        once = fold(address.kind, address.conversation)
        assert fold(address.kind, once) == once


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("channel", RULES)
@few
@given(text=st.text(max_size=30) | st.text(alphabet=":;/@+-~guc hat_id 019", max_size=20))
def test_any_text_is_a_target_or_refused(channel: str, profile: Profile, text: str) -> None:
    rules = rules_under(profile, channel)
    try:
        target = rules.read(text, Hints())
    except TargetError:
        return
    placed = rules.place(target, None, None)
    assert target.understood
    assert rules.fold(target.kind, target.id)
    if profile is OURS:
        # What was read can be written, and means the same.
        again = rules.read(placed.to, Hints())
        assert (again.kind, again.id) == (target.kind, target.id)

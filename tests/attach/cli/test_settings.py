"""Settings and variants of profiles, names of gateways, and commands that repeat what they say."""

from tests.attach.cli.toys import toy_profile
from trunkline.app.attach.cells import attached, own_gateway
from trunkline.sim import load_scenario
from trunkline.sim.attach.fit import attach_unfit
from trunkline.sim.attach.profile_files import load_profile, profile_path, shipped_profiles
from trunkline.sim.scenario import scenario_home

SECRET = scenario_home() / "attach" / "secret-of-another-person.yaml"


def test_a_variant_is_its_profile_with_settings_of_its_own():
    plain, variant = (load_profile(profile_path(name)) for name in ("openclaw", "openclaw@multi-user"))
    assert "session" not in plain.files["openclaw.json"].content
    assert variant.files["openclaw.json"].content["session"] == {"dmScope": "per-channel-peer"}
    assert variant.files["openclaw.json"].content["gateway"] == plain.files["openclaw.json"].content["gateway"]
    assert (variant.name, variant.title) == ("openclaw-multi-user", "OpenClaw (multi-user)")
    assert variant.install.folder == "openclaw"
    assert "recommend" in str(variant.settings)


def test_a_scenario_of_several_people_accuses_no_gateway_whose_default_promises_one():
    file = load_scenario(SECRET)
    (reason,) = attach_unfit(file, load_profile(profile_path("openclaw")))
    assert "many-people" in reason and "for one person" in reason and "--gateway openclaw@multi-user" in reason
    for name in (*shipped_profiles(), "openclaw@multi-user"):
        if name != "openclaw":
            assert attach_unfit(file, load_profile(profile_path(name))) == ()


def test_a_variant_that_does_not_exist_is_wrong_usage_with_the_nearest(trunkline, calm):
    code, _, err = trunkline("attach", calm, "--gateway", "openclaw@multi")
    assert code == 2
    assert "has no variant 'multi' (nearest valid word: 'multi-user')" in err


def test_settings_are_on_the_page_of_a_finding(trunkline, lost, tmp_path):
    reason = "{why: it is tried as its documentation has it, docs: docs/setup.md}"
    profile = toy_profile(tmp_path, "resends-after-reset", name="set", settings=reason)
    code, _, _ = trunkline("attach", lost, "--gateway", profile, "--report", tmp_path / "report")
    assert code == 1
    for ending in ("md", "html"):
        page = (tmp_path / "report" / "findings" / f"set-lost-x1.{ending}").read_text()
        assert "it is tried as its documentation has it" in page
        assert "scenario comes from" in page and "public report" not in page


def test_the_repeat_command_names_where_the_gateway_is_installed(tmp_path):
    gateway = attached(str(toy_profile(tmp_path)), tmp_path)
    assert gateway.option[-2:] == ("--install", str(tmp_path))


def test_a_gateway_of_ones_own_has_the_name_that_it_is_given(tmp_path):
    own = own_gateway("sh -c true", tmp_path, ["⚠️ *"], "my-bot")
    assert (own.name, own.profile.title) == ("my-bot", "my-bot")
    assert own.option == ("--command", "sh -c true", "--notice", "⚠️ *", "--name", "my-bot")
    assert own_gateway("sh -c true", tmp_path).profile.title == "sh"


def test_a_name_goes_with_a_command(trunkline, calm, toy):
    code, _, err = trunkline("attach", calm, "--gateway", toy, "--name", "x")
    assert (code, "--name goes with --command" in err) == (2, True)

"""``trunkline serve --check``: whether a server would start, without starting it, and nothing is written."""

import pytest

from tests.support.for_each import for_each

GOOD = "accounts: [{channel: webchat}]\nstore: gateway.db\n"
#: what is wrong -> the configuration, and what the message names
WRONG = {
    "no mapping": ("- 1\n", "expected a mapping"),
    "an unknown section": ("acounts: []\n", "acounts"),
    "an unknown field": ("http: {listn: 127.0.0.1:1}\n", "http.listn"),
    "a port that is none": ("http: {listen: 127.0.0.1:99999}\n", "99999"),
    "no port": ("http: {listen: localhost:x}\n", "localhost:x"),
    "everybody may come in": ("http: {listen: 0.0.0.0:8420}\n", "token_file"),
    "a token that is not there": ("http: {tokens: [{name: m, scopes: [read], token: {env: NO_SUCH}}]}\n", "NO_SUCH"),
    "a short token": ("http: {tokens: [{name: m, scopes: [read], token: {env: SHORT}}]}\n", "fewer than 16"),
    "an unknown scope": ("http: {tokens: [{name: m, scopes: [all], token: {env: LONG}}]}\n", "scopes"),
    "no certificate": ("http: {tls: {certificate: c.pem, key: k.pem}}\n", "http.tls"),
    "a secret that is not there": ("accounts: [{telegram: {token: {env: NO_SUCH}}}]\n", "accounts[0].telegram.token"),
    "a token of no bot": ("accounts: [{telegram: {token: {env: LONG}}}]\n", "accounts[0].telegram"),
    "one bot twice": (
        "accounts: [{telegram: {token: {env: BOT}}}, {account: b, telegram: {token: {env: BOT}}}]\n",
        "accounts[1].telegram.token",
    ),
    "one account twice": ("accounts: [{channel: webchat}, {channel: webchat}]\n", "accounts[1]"),
    "a key of a model": (
        "agents: {main: {openai: {model: x, base_url: 'http://127.0.0.1:1/v1', api_key: {file: none}}}}\n",
        "agents.main.openai",
    ),
    "nothing answers": ("gateway: {agents: [{id: other}]}\n", "gateway.agents[0].id"),
    "a rule for nobody": ("gateway: {bindings: [{agent: x, match: {channel: webchat}}]}\n", "gateway.bindings[0]"),
    "a word for a boolean": ("gateway: {control: {enabled: yes}}\n", "gateway.control.enabled"),
    "a time that is none": ("finish_within: soon\n", "finish_within"),
    "a person of no channel": (
        "http: {tokens: [{name: m, scopes: [send], token: {env: LONG}, people: [fax:1]}]}\n",
        "http.tokens[0].people",
    ),
}


@pytest.fixture
def check(tmp_path, trunkline, monkeypatch):
    for name, value in {"SHORT": "abc", "LONG": "a" * 20, "BOT": "123:abc"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_SUCH", raising=False)

    def run(text):
        (tmp_path / "gateway.yaml").write_text(text)
        found = trunkline("serve", "--check", "--config", tmp_path / "gateway.yaml", "--state", tmp_path / "state")
        assert [path.name for path in tmp_path.iterdir()] == ["gateway.yaml"], "nothing is written"
        return found

    return run


@for_each(("text", "named"), list(WRONG.values()), ids=list(WRONG))
def test_what_keeps_a_server_from_starting_is_named(text, named, check):
    code, out, err = check(text)
    assert (code, out) == (2, "")
    assert named in err


def test_all_that_is_wrong_is_named_at_once(check):
    code, _, err = check(
        "http: {listen: 127.0.0.1:99999, tls: {certificate: c.pem, key: k.pem}}\n"
        "accounts: [{telegram: {token: {env: NO_SUCH}}}]\n"
    )
    assert code == 2
    assert all(named in err for named in ("99999", "http.tls", "accounts[0].telegram.token"))


def test_a_configuration_that_would_be_served_is_said_to_be(check, tmp_path):
    code, out, err = check(GOOD)
    assert (code, err) == (0, "")
    assert out == f"{tmp_path}/gateway.yaml: ready to serve. Accounts: webchat:default. Store: {tmp_path}/gateway.db\n"


def test_a_channel_that_nothing_knows_is_warned_about(check, caplog):
    assert check(f"{GOOD}gateway: {{channels: {{discrod: {{}}}}}}\n")[0] == 0
    assert "did you mean 'discord'?" in caplog.text


def test_a_store_that_cannot_be_written_is_named(tmp_path, trunkline, monkeypatch):
    (tmp_path / "gateway.yaml").write_text(GOOD)
    (tmp_path / "gateway.db").write_bytes(b"")
    # As for a user who is no superuser.
    monkeypatch.setattr("os.access", lambda *_: False)
    code, _, err = trunkline("serve", "--check", "--config", tmp_path / "gateway.yaml")
    assert code == 2
    assert "gateway.db cannot be written" in err

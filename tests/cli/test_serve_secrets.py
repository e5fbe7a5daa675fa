"""Secrets of a real ``trunkline serve``: tokens that change while it runs, and a log that has none of them."""

import signal
import sys
from pathlib import Path

import pytest

from tests.support.serve.processes import ask, say, serve, token_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and file modes of POSIX")


def test_a_token_can_be_replaced_without_a_restart(tmp_path: Path) -> None:
    with serve(tmp_path, "--port", "0", "--state", "state") as server:
        url = server.ready().url
        old = token_of(tmp_path)
        (tmp_path / "state" / "token").unlink()
        assert ask(f"{url}/v1/admin/reload", old, method="POST")[0] == 200
        new = token_of(tmp_path)
        assert new != old
        assert ask(f"{url}/v1/admin/reload", old, method="POST")[0] == 401
        assert ask(f"{url}/v1/admin/reload", new, method="POST")[0] == 200
        assert old not in server.log
        assert new not in server.log


def test_a_log_with_every_text_has_no_secret(tmp_path: Path) -> None:
    path = tmp_path / "g.yaml"
    tokens = (
        "http: {{token_file: token, tokens: [{{name: ci, scopes: [send], token: {{{source}}}}}]}}\n"
        "log: {{level: debug}}\n"
    )
    path.write_text(tokens.format(source="env: CI_TOKEN"))
    first, second = "ci-token-of-the-environment", "ci-token-of-a-file"
    (tmp_path / "ci.token").write_text(f"{second}\n")
    with serve(tmp_path, "--config", "g.yaml", "--port", "0", "--state", "s", environ={"CI_TOKEN": first}) as server:
        url = server.ready().url
        owner = token_of(tmp_path, "token")
        # People say them, so that every event of the message has them.
        assert say(url, first, f"one {first} {owner}", "1")[0] == 200
        path.write_text(tokens.format(source="file: ci.token"))
        server.signal(signal.SIGHUP)
        server.logged("the configuration was read again")
        assert say(url, second, f"two {first} {second}", "2")[0] == 200
        server.signal(signal.SIGTERM)
        assert server.ended() == 0
        assert "one [secret] [secret]" in server.log
        assert "two [secret] [secret]" in server.log
        assert not [one for one in (first, second, owner) if one in server.log + server.output]

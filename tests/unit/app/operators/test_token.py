"""Which token a command sends, and to whom."""

from pathlib import Path

import pytest

from trunkline.app.operators.http_client import token_for
from trunkline.core.errors import UsageError

OWN = "token-of-the-own-gateway"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment whose state folder has the token of a gateway."""
    (tmp_path / "trunkline").mkdir()
    (tmp_path / "trunkline" / "token").write_text(f"{OWN}\n")
    return {"XDG_STATE_HOME": str(tmp_path)}


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.3.2.1", "::1", "[::1]"])
def test_a_gateway_of_this_machine_gets_the_token_of_the_state_folder(environ: dict[str, str], host: str) -> None:
    assert token_for(host, None, environ).secret == OWN


@pytest.mark.parametrize(
    "host", ["192.168.1.5", "0.0.0.0", "gateway.example.org", "localhost.example.org", "127.0.0.1.example.org", ""]
)
def test_no_stranger_gets_it(environ: dict[str, str], host: str) -> None:
    assert token_for(host, None, environ).secret == ""


def test_a_named_token_goes_wherever_it_is_to_go(environ: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "other"
    file.write_text("token-of-a-file")
    environ = {**environ, "TRUNKLINE_TOKEN": "token-of-the-environment"}
    for host in ("127.0.0.1", "gateway.example.org"):
        assert token_for(host, None, environ).secret == "token-of-the-environment"
        assert token_for(host, file, environ).secret == "token-of-a-file"


def test_what_is_no_token_is_refused_and_a_token_is_not_printed(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("two words")
    with pytest.raises(UsageError, match="holds no token") as caught:
        token_for("127.0.0.1", tmp_path / "bad", environ)
    assert "two words" not in str(caught.value)
    assert OWN not in repr(token_for("127.0.0.1", None, environ))

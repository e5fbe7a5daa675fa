"""Where the server listens."""

from pathlib import Path

import pytest

from trunkline.app.serve.server import address_of, listen, url_of
from trunkline.app.serve.settings import Overrides, Settings, load_settings
from trunkline.core.config.base import is_loopback
from trunkline.core.errors import ConfigError, UsageError


def settings(listen_at: str | None = None, port: int | None = None, token_file: Path | None = None) -> Settings:
    overrides = Overrides(listen=listen_at, port=port, token_file=token_file)
    return load_settings(None, state=Path("/nowhere"), overrides=overrides)


@pytest.mark.parametrize(
    ("given", "port", "address"),
    [
        (None, None, ("127.0.0.1", 8420)),
        (None, 0, ("127.0.0.1", 0)),
        ("127.0.0.1:9000", None, ("127.0.0.1", 9000)),
        ("127.0.0.1:9000", 9001, ("127.0.0.1", 9001)),
        ("localhost", None, ("localhost", 8420)),
        ("[::1]:9000", None, ("::1", 9000)),
        ("::1", None, ("::1", 8420)),
        ("[::1]", 1, ("::1", 1)),
    ],
)
def test_addresses(given: str | None, port: int | None, address: tuple[str, int]) -> None:
    assert address_of(settings(given, port)) == address


@pytest.mark.parametrize("given", ["", ":9000", "127.0.0.1:x", "127.0.0.1:", "127.0.0.1:123456", "127.0.0.1:-1"])
def test_what_is_no_address(given: str) -> None:
    with pytest.raises(ConfigError, match="is not an address to listen on: expected HOST:PORT"):
        address_of(settings(given))


def test_a_port_alone_is_answered_with_the_address_to_write() -> None:
    with pytest.raises(ConfigError, match=r"'8421' is a port without a host: write 127\.0\.0\.1:8421$"):
        address_of(settings("8421"))


@pytest.mark.parametrize("port", [-1, 65536])
def test_what_is_no_port(port: int) -> None:
    with pytest.raises(ConfigError, match="is not a port: expected 0 to 65535"):
        address_of(settings(None, port))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "gateway.example.org"])
def test_other_machines_get_in_only_with_a_token_that_somebody_chose(host: str) -> None:
    with pytest.raises(ConfigError, match="is not a loopback address, so other machines could reach"):
        address_of(settings(f"[{host}]:80" if ":" in host else f"{host}:80"))
    assert address_of(settings(f"[{host}]:80", token_file=Path("/chosen")))[1] == 80


def test_loopback() -> None:
    assert is_loopback("localhost")
    assert is_loopback("127.3.2.1")
    assert is_loopback("::1")
    assert not is_loopback("localhost.example.org")


def test_a_port_that_is_taken() -> None:
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        assert url_of(first, "127.0.0.1", tls=False) == f"http://127.0.0.1:{port}"
        with pytest.raises(UsageError, match=rf"port {port} on 127.0.0.1 is taken, .*--port 0 takes a free one"):
            listen("127.0.0.1", port)


def test_an_address_of_another_machine() -> None:
    with pytest.raises(UsageError, match=r"cannot listen on port 0 of 203\.0\.113\.1"):
        listen("203.0.113.1", 0)


def test_the_address_for_people() -> None:
    with listen("127.0.0.1", 0) as made:
        port = made.getsockname()[1]
        assert url_of(made, "0.0.0.0", tls=True) == f"https://127.0.0.1:{port}"
        assert url_of(made, "::1", tls=False) == f"http://[::1]:{port}"

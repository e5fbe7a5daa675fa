"""What the control interface refuses: with the place and the remedy, and nothing is changed."""

import urllib.error
import urllib.request
from typing import Any

import pytest

from trunkline.app.fakes.client import FakesClient, FakesError


@pytest.mark.parametrize(
    ("step", "status", "at", "remedy"),
    [
        ({"as": "ana", "in": "telegram/opps", "say": "x"}, 422, "in", "nearest: telegram/ops"),
        ({"as": "anna", "in": "telegram/ops", "say": "x"}, 422, "as", "nearest"),
        ({"as": "ana", "in": "telegram/ops", "sya": "x"}, 422, "sya", "nearest valid word: 'say'"),
        ({"crash": {}}, 422, "crash", "your own gateway"),
        ({"fault": {"on": "store", "do": "error"}}, 422, "fault.on", "your own gateway"),
        ({"fault": {"on": "send", "do": "lose-respons"}}, 422, "fault.do", "lose-response"),
        ({"at": "1s", "as": "ana", "in": "telegram/ops", "say": "x"}, 422, "", "leave `at`"),
        ("say", 422, "", ""),
        ({"as": "ana", "in": "telegram/ops", "say": "\ud83d"}, 400, "", "in UTF-8"),
        ({"as": "ana", "in": "telegram/ops", "edit": "x"}, 409, "", ""),
        ({"as": "ana", "in": "telegram/ops", "press": "Yes"}, 409, "", ""),
    ],
)
def test_a_wrong_step_names_its_place_and_the_remedy(
    fakes: FakesClient, step: Any, status: int, at: str, remedy: str
) -> None:
    with pytest.raises(FakesError) as caught:
        fakes.call("POST", "/steps", step)
    assert caught.value.status == status
    [problem] = [one for one in caught.value.problems if one["at"] == at][:1]
    assert problem["problem"]
    assert remedy in problem["remedy"]
    assert fakes.messages() == []


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/nothing", None, 404),
        ("PUT", "/steps", {}, 405),
        ("GET", "/messages?place=telegram/ops", None, 400),
        ("GET", "/messages?in=nowhere", None, 422),
        ("GET", "/messages?by=nobody", None, 422),
        ("GET", "/messages/wait?count=-1", None, 400),
        ("GET", "/messages/wait?timeout=soon", None, 400),
        ("GET", "/messages/wait?timeout=1e9", None, 400),
        ("POST", "/servers/discord/restart", {}, 404),
        ("POST", "/servers/telegram/restart", {"down": "soon"}, 400),
        ("POST", "/servers/telegram/restart", {"dwn": 1}, 400),
        ("POST", "/servers/telegram/explode", {}, 404),
        ("POST", "/tokens/telegram", {"account": "other"}, 400),
        ("POST", "/tokens/signal", {}, 404),
        ("POST", "/model/answers", [{"says": 5}], 400),
        ("POST", "/model/answers", {"ends": "break"}, 400),
        ("POST", "/faults", [1], 422),
    ],
)
def test_a_wrong_request_is_a_4xx_with_the_reason(
    fakes: FakesClient, method: str, path: str, body: Any, status: int
) -> None:
    with pytest.raises(FakesError) as caught:
        fakes.call(method, path, body)
    assert caught.value.status == status
    assert caught.value.problems


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_json_is_refused(fakes: FakesClient, body: bytes) -> None:
    request = urllib.request.Request(f"{fakes.overview['control']}/steps", body)
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=10)
    assert caught.value.code == 400
    caught.value.close()


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("Host", "evil.example", 403),
        ("Host", "127.0.0.1.evil.example", 403),
        ("Origin", "https://evil.example", 403),
        ("Origin", "null", 403),
        ("Origin", "http://localhost:3000", 200),
        ("Host", "localhost", 200),
    ],
)
def test_only_this_machine_may_ask(fakes: FakesClient, header: str, value: str, status: int) -> None:
    request = urllib.request.Request(fakes.overview["control"], headers={header: value})
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            found = response.status
    except urllib.error.HTTPError as error:
        found = error.code
        error.close()
    assert found == status

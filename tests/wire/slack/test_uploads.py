"""Files: uploaded first, and only the last request is in doubt."""

from pathlib import Path

import pytest

from tests.support.wire.slack import SlackBench, on_slack
from trunkline.core.adapters.slack.web import SlackWeb
from trunkline.core.errors import Ambiguous, NotSent, RateLimited, Refused
from trunkline.sim.events.wire import WireAccepted


def texts(bench: SlackBench) -> list[str]:
    return [body.text for body in bench.events(WireAccepted)]


def with_files(folder: Path) -> type[SlackBench]:
    """A bench whose agents may send the files of a folder."""
    return type("WithFiles", (SlackBench,), {"config": {**SlackBench.config, "files": str(folder)}})


def test_files_are_uploaded_and_posted_as_one_message(tmp_path: Path) -> None:
    (tmp_path / "plan.txt").write_bytes(b"the plan")

    async def test(bench: SlackBench) -> None:
        media = ("plan.txt", "data:text/plain;name=two%20words.txt;base64,aGVsbG8=")
        receipt = await bench.real.send(bench.message("see", bench.thread, media=media))
        [seen] = bench.server.platform.board.sent
        assert (seen.text, seen.media) == ("see", ("plan.txt", "two words.txt"))
        assert (receipt.provider_id, receipt.address) == (seen.id, bench.thread)
        contents = [file.content for file in bench.server.files.files.values()]
        assert contents == [b"the plan", b"hello"]

    on_slack(test, with_files(tmp_path))


@pytest.mark.parametrize("media", ["../secret.txt", "link.txt", "/etc/hostname", "file:///etc/hostname", "none.txt"])
def test_only_files_of_the_folder_are_sent(media: str, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("a secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")

    async def test(bench: SlackBench) -> None:
        with pytest.raises(Refused):
            await bench.real.send(bench.message("see", media=(media,)))
        assert texts(bench) == []

    on_slack(test, with_files(folder))
    on_slack(test)


@pytest.mark.parametrize(
    ("do", "error", "accepted"), [("reset", Ambiguous, 1), ("refuse", Refused, 0), ("rate-limit", RateLimited, 0)]
)
def test_only_the_last_request_of_an_upload_is_in_doubt(do: str, error: type[Exception], accepted: int) -> None:
    async def test(bench: SlackBench) -> None:
        bench.fault(do, **({"for": "7s"} if do == "rate-limit" else {}))
        with pytest.raises(error):
            await bench.real.send(bench.message("see", media=("data:text/plain,hello",)))
        assert texts(bench) == ["see"] * accepted

    on_slack(test)


def test_an_upload_that_breaks_before_the_message_was_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    async def upload(web: SlackWeb, url: str, content: bytes) -> None:
        raise Ambiguous("no response")

    async def test(bench: SlackBench) -> None:
        with pytest.raises(NotSent):
            await bench.real.send(bench.message("see", media=("data:text/plain,hello",)))
        assert texts(bench) == []

    monkeypatch.setattr(SlackWeb, "upload", upload)
    on_slack(test)


@pytest.mark.parametrize("media", ["no-such-file.txt", "data:text/plain;base64,%%%", "data:text/plain,"])
def test_a_file_that_is_none_is_refused(media: str) -> None:
    async def test(bench: SlackBench) -> None:
        with pytest.raises(Refused):
            await bench.real.send(bench.message("see", media=(media,)))
        assert texts(bench) == []

    on_slack(test)

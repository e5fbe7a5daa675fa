"""The files of the web chat's page: what is sent, and what they may load."""

import re
from pathlib import Path

import httpx
import pytest

import trunkline.core.http.page as page
from tests.support.for_each import for_each
from tests.support.http import api
from trunkline.core.http.page.routes import page_routes

pytestmark = pytest.mark.anyio

FOLDER = Path(page.__file__).parent
FILES = sorted(file.name for file in FOLDER.iterdir() if file.suffix in {".html", ".css", ".js", ".svg"})


async def get(path: str, tmp_path: Path, **headers: str) -> httpx.Response:
    async with api(tmp_path / "gateway.db", more=page_routes()) as one:
        return await one.http.get(path, headers={"Authorization": "", **headers})


async def test_the_root_leads_to_the_page(tmp_path: Path) -> None:
    answer = await get("/", tmp_path)
    assert (answer.status_code, answer.headers["location"]) == (307, "/chat")


@pytest.mark.parametrize("name", FILES)
async def test_every_file_is_sent_without_a_token_and_with_its_type(tmp_path: Path, name: str) -> None:
    answer = await get("/chat" if name == "index.html" else f"/chat/{name}", tmp_path)
    assert answer.status_code == 200
    assert answer.content == (FOLDER / name).read_bytes()
    types = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
    assert answer.headers["content-type"].startswith(types[name.rpartition(".")[2]])
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_the_page_may_load_from_this_server_only(tmp_path: Path) -> None:
    policy = (await get("/chat", tmp_path)).headers["content-security-policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules.pop("default-src") == "'none'"
    assert rules.pop("frame-ancestors") == "'none'"
    assert set(rules.values()) <= {"'self'", "'none'"}, "nothing inline, no other host"


async def test_a_file_that_has_not_changed_is_not_sent_again(tmp_path: Path) -> None:
    first = await get("/chat/chat.js", tmp_path)
    again = await get("/chat/chat.js", tmp_path, **{"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert first.headers["cache-control"] == "no-cache", "a browser asks whether it has changed"


PATHS = ["/chat/", "/chat/../routes.py", "/chat/routes.py", "/chat/nothing.js", "/chat/%2e%2e/routes.py"]


@pytest.mark.parametrize("path", PATHS)
async def test_nothing_else_of_the_folder_is_sent(tmp_path: Path, path: str) -> None:
    assert (await get(path, tmp_path)).status_code == 404


@for_each("name", FILES)
def test_no_file_names_another_address(name: str) -> None:
    text = (FOLDER / name).read_text().replace("http://www.w3.org/2000/svg", "")
    assert not re.findall(r"https?://\w[\w.-]*", text)


def test_the_page_has_no_inline_script_or_style() -> None:
    html = (FOLDER / "index.html").read_text()
    assert not re.findall(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", html)


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".js")])
def test_no_script_turns_text_into_elements(name: str) -> None:
    script = (FOLDER / name).read_text()
    assert not re.findall(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc", script
    )

"""A checkup of a server before it serves: machine, configuration and surroundings. Writes nothing, shows no secret."""

import os
import re
import shutil
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from trunkline.app.serve.asking import Heard, ask, probe_of
from trunkline.app.serve.machine import MORE_FILES, connection_limit, raise_descriptor_limit
from trunkline.app.serve.redaction import Redaction, named_secrets, secrets_of
from trunkline.app.serve.settings import Settings, load_settings
from trunkline.core import VERSION
from trunkline.core.errors import ConfigError, StoreError, UsageError
from trunkline.core.store.sqlite import copies, damage, lease
from trunkline.core.store.sqlite.offline.opening import reading

#: an answer, and when it came by the clock of this machine
_Heard = tuple[Heard, float]
#: seconds for all questions together; one of them gives up a little earlier
_WITHIN = 12.0
#: seconds by which a clock may differ: signatures of platforms and times of messages allow about as much
_OFF = 30.0
#: bytes of free disk, and open files, below which a gateway soon stands still
_DISK, _FILES = 512 * 1024**2, 1024


class Checked(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the checkup."""

    #: `ok`, `warning`, `failed` or `left out`
    state: str
    what: str
    seen: str
    remedy: str = ""


def checkup(config: Path | None, state: Path | None = None) -> list[Checked]:
    """Check all that a server with this configuration needs; without one, what the defaults of `serve` need."""
    hide = Redaction()
    try:
        settings = load_settings(config, state=state)
    except UsageError as error:
        lines = [*_installation({"http"})]
        lines += [Checked("failed", "configuration", problem) for problem in error.facts.splitlines()]
        lines += [Checked("left out", "the rest", "secrets, platforms, models, clock and store"), _limits(None)]
    else:
        hide.add(secrets_of(settings))
        extras = {"http", *(agent.kind for agent in settings.config.agents.values())}
        extras |= {account.on for account in settings.config.accounts}
        lines = [*_installation(extras), *_secrets(settings)]
        lines += [*_configuration(settings, lines), *_surroundings(settings), *_store(settings)]
        lines.append(_limits(settings.config.http.max_connections))
    return [Checked(line.state, line.what, hide.of(line.seen), hide.of(line.remedy)) for line in lines]


def _installation(extras: set[str]) -> Iterator[Checked]:
    yield Checked("ok", "Python", f"{sys.version.split()[0]}, {sys.executable}")
    try:
        found = metadata.distribution("trunkline")
    except metadata.PackageNotFoundError:
        yield Checked("warning", "Trunkline", f"{VERSION}, not installed by pip", "in a clone: make install")
        return
    linked = re.search(r'"editable":\s*true', found.read_text("direct_url.json") or "")
    # The package itself, as the link of an editable installation leads to the clone.
    home = Path(__file__).resolve().parents[2]
    yield Checked("ok", "Trunkline", f"{VERSION}, {f'linked to {home} (editable)' if linked else f'a copy, {home}'}")
    # What an extra brings is said by the distribution itself.
    needs = (re.match(r"([\w.-]+).*extra == .(\w+)", need) for need in found.requires or ())
    wanted = [(need[1], need[2]) for need in needs if need is not None and need[2] in extras]
    missing = [need for need in wanted if not any(metadata.distributions(name=need[0]))]
    names, lacking = (",".join(dict.fromkeys(each)) for each in zip(*missing, strict=True)) if missing else ("", "")
    source = f"--editable '{home}[{lacking}]'" if linked else f"'trunkline[{lacking}]'"
    if missing:
        yield Checked("failed", "packages", f"not installed: {names}", f"{sys.executable} -m pip install {source}")
    else:
        yield Checked("ok", "packages", "what this configuration needs is installed")


def _configuration(settings: Settings, told: list[Checked]) -> Iterator[Checked]:
    if settings.path is None:
        seen = "no file is named: these are the defaults of `trunkline serve`, a web chat and an echo"
        yield Checked(
            "left out", "configuration", seen, "name it with --config gateway.yaml; trunkline init writes one"
        )
    try:
        from trunkline.app.serve.server import problems_of
    except ModuleNotFoundError as error:
        yield Checked("left out", "configuration", f"whether a server would start: that needs {error.name}")
        return
    wrong = [line for problem in problems_of(settings) for line in problem.splitlines()]
    # What is said of a secret or a package is not said again.
    seen = [line.seen for line in told if line.state == "failed"]
    packages = any(line.what == "packages" and line.state == "failed" for line in told)
    wrong = [line for line in wrong if not line.endswith(tuple(seen)) and not (packages and "pip install" in line)]
    yield from (Checked("failed", "configuration", line) for line in wrong)
    if not wrong and settings.path is not None:
        yield Checked("ok", "configuration", f"{settings.path}: nothing else is wrong with it")


def _secrets(settings: Settings) -> Iterator[Checked]:
    for at, secret in named_secrets(settings.config):
        file = None if secret.file is None else settings.folder / secret.file
        where = f"the variable {secret.env}" if file is None else f"the file {file}"
        put = f"export {secret.env}=..." if file is None else f"write the secret into {file}, and chmod 600 it"
        try:
            secret.read(settings.folder, settings.environ)
        except ConfigError as error:
            yield Checked("failed", at, error.facts, put)
            continue
        mode = 0 if file is None or sys.platform == "win32" else file.stat().st_mode & 0o777
        if mode & 0o007:
            yield Checked("warning", at, f"everybody can read {where} (mode {mode:03o})", f"chmod 600 {file}")
        else:
            yield Checked("ok", at, f"{where} is set")
    file = settings.token_file
    if file is not None:
        yield Checked("ok", "token", f"it is in {file}" if file.exists() else f"{file} is made at the first start")


def _surroundings(settings: Settings) -> Iterator[Checked]:
    """Ask the platforms and models, side by side, and compare the clock with theirs."""
    asked = dict[str, Callable[[], _Heard]]()
    agents = {f"agents.{name}.{agent.kind}": agent for name, agent in settings.config.agents.items()}
    accounts = {f"accounts[{n}].{account.on}": account for n, account in enumerate(settings.config.accounts)}
    probed = accounts | {at: agent.openai for at, agent in agents.items() if agent.openai is not None}
    for at, config in probed.items():
        try:
            probe = probe_of(config, lambda secret: secret.read(settings.folder, settings.environ))
        except ConfigError:
            yield Checked("left out", at, "it was not asked: its secret comes first")
            continue
        if probe is not None and not any(metadata.distributions(name="httpx")):
            yield Checked("left out", at, "it was not asked: that needs httpx")
        elif probe is not None:
            asked[at] = lambda probe=probe: (ask(probe), time.time())
    for at, agent in agents.items():
        if agent.webhook is not None:
            asked[at] = lambda url=agent.webhook.url: (_connect(url), time.time())
    behind = dict[str, float]()
    for at, found in _side_by_side(asked).items():
        heard, now = found or (Heard(there=False, text=f"no answer within {_WITHIN:g} s"), 0.0)
        remedy = "put the right secret in its place" if heard.there else "see its address, the network and the proxy"
        yield Checked("ok" if heard.taken else "failed", at, heard.text, "" if heard.taken else remedy)
        if heard.time is not None:
            behind[at] = heard.time - now
    if not behind:
        yield Checked("left out", "clock", "nobody has answered who says the time")
        return
    at, most = max(behind.items(), key=lambda item: abs(item[1]))
    if abs(most) > _OFF:
        off = f"{abs(most):.0f} s {'behind' if most > 0 else 'ahead of'} that of {at}"
        yield Checked("warning", "clock", f"the clock of this machine is {off}", "set it: timedatectl set-ntp true")
    else:
        yield Checked("ok", "clock", f"it agrees with that of {', '.join(behind)}")


def _connect(url: str) -> Heard:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), timeout=_WITHIN - 2).close()
    except (OSError, UnicodeError) as error:
        return Heard(there=False, text=f"no connection to {parts.hostname}:{port}: {error}")
    return Heard(taken=True, text=f"{parts.hostname}:{port} takes connections")


def _side_by_side(work: Mapping[str, Callable[[], _Heard]]) -> dict[str, _Heard | None]:
    """Do all of it in threads; None for what raises or takes too long, which holds nothing up."""
    done = dict[str, _Heard]()

    def run(name: str) -> None:
        # A thread would print the error, whose text may have a secret.
        with suppress(Exception):
            done[name] = work[name]()

    threads = [threading.Thread(target=run, args=(name,), daemon=True) for name in work]
    for thread in threads:
        thread.start()
    end = time.monotonic() + _WITHIN
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    return {name: done.get(name) for name in work}


def _store(settings: Settings) -> Iterator[Checked]:
    path = settings.store
    folder = next(above for above in (path.absolute(), *path.absolute().parents) if above.is_dir())
    free = shutil.disk_usage(folder).free
    room = f"{free / 1024**3:.1f} GiB are free in {folder}"
    yield Checked("ok", "disk", room) if free >= _DISK else Checked("warning", "disk", room, "make room")
    if not os.access(folder, os.W_OK | os.X_OK):
        yield Checked("failed", "store", f"{folder} cannot be written by this user", "name another one with `store:`")
    if not path.exists():
        yield Checked("ok", "store", f"{path} is made at the first start")
        return
    try:
        facts = copies.check_store(path, still=True)
        # A gateway that has opened it meanwhile looks like damage.
        facts = copies.check_store(path) if facts.findings else facts
        with reading(path, still=True) as connection:
            holder = lease.holder_of(connection, time.time()) if lease.is_held(connection) else None
    except StoreError as error:
        yield Checked("failed", "store", str(error), "see trunkline store check")
        return
    yield from (Checked("failed", "store", damage.damaged(path, finding).facts) for finding in facts.findings)
    if not facts.findings:
        yield Checked("ok", "store", f"{path} is sound, version {facts.version} of {facts.newest}")
    yield Checked("ok", "lease", f"{holder} works the store" if holder else "no process works the store")


def _limits(configured: int | None) -> Checked:
    descriptors = raise_descriptor_limit()
    connections = connection_limit(configured, descriptors)
    seen = f"{descriptors:,} open files, which allow {connections:,} connections"
    few = descriptors < _FILES or connections < (configured or 0)
    return Checked("warning" if few else "ok", "limits", seen, MORE_FILES if few else "")

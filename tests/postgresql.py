"""A PostgreSQL server of the tests' own, on loopback."""

import contextlib
import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.ports import NoServerError, free_port

# Debian keeps the server's programs off the PATH.
DEBIAN = Path("/usr/lib/postgresql")
# PostgreSQL does not run as root; Debian's package makes this user.
UNPRIVILEGED = "postgres"
START_SECONDS = 60
MISSING = "PostgreSQL's initdb was not found: apt-get install postgresql, or put its folder on the PATH"


@contextlib.contextmanager
def serving(*options: str) -> Iterator[str]:
    """Start a server with no data; the SQLAlchemy URL of its database.

    :param options: of the server, as NAME=VALUE
    :raises NoServerError: if there is none
    """
    programs = _programs()
    with tempfile.TemporaryDirectory(prefix="fhcrawl-postgresql-", ignore_cleanup_errors=True) as name:
        folder, password = Path(name), secrets.token_urlsafe()
        (folder / "password").write_text(password)
        user = _user()
        if user is not None:
            for path in (folder, folder / "password"):
                shutil.chown(path, user)
        cluster, log = folder / "data", folder / "log"
        _run(
            user,
            *(programs / "initdb", "-D", cluster, "-U", "fhcrawl", "-A", "scram-sha-256"),
            *("--pwfile", folder / "password", "-E", "UTF8", "--locale", "C.UTF-8", "--no-sync"),
        )
        port = free_port()
        words = (
            f"listen_addresses=127.0.0.1 port={port} unix_socket_directories='' " + " ".join(options)
        ).split()
        given = " ".join(f"-c {word}" for word in words)
        wait = ("-w", "-t", str(START_SECONDS))
        _run(user, programs / "pg_ctl", "-D", cluster, "-l", log, "-o", given, *wait, "start")
        try:
            yield f"postgresql://fhcrawl:{password}@127.0.0.1:{port}/postgres"
        finally:
            _run(user, programs / "pg_ctl", "-D", cluster, "-m", "immediate", *wait, "stop")


def _programs() -> Path:
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    versions = sorted(DEBIAN.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if not versions:
        raise NoServerError(MISSING)
    return versions[-1].parent


def _user() -> str | None:
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(UNPRIVILEGED).pw_name
    except KeyError:
        raise NoServerError(f"PostgreSQL does not run as root, and there is no user {UNPRIVILEGED}") from None


def _run(user: str | None, *command: object) -> None:
    # What the server inherits of the output would keep a pipe open: it goes to a file.
    with tempfile.TemporaryFile("w+") as output:
        done = subprocess.run(
            [str(word) for word in command],
            user=user,
            group=user,
            extra_groups=None if user is None else [],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            check=False,
        )
        output.seek(0)
        if done.returncode:
            raise NoServerError(f"{command[0]} failed: {output.read().strip()}")

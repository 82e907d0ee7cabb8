"""Servers of other places that exports go to, S3's and FTP's, in processes of their own.

`python -m tests.elsewhere KIND FOLDER` serves one on a free port of loopback, and states which; with a number
of octets, it dies in the middle of an upload that is longer.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from tests.projects import ROOT
from tests.servers import library

USER, PASSWORD = "ann", "hidden-s3cret"
BUCKET = "bucket"
LIBRARIES = {"s3": ("boto3", "moto.moto_server"), "ftp": ("pyftpdlib",)}


@dataclass
class Place:
    """Where a server keeps files.

    :param root: URL that names are below, for `-o`
    :param settings: what Scrapy has to know of it
    """

    root: str
    settings: dict[str, str]
    folder: Path
    client: Any = None

    def read(self, name: str) -> bytes | None:
        if self.client is not None:
            try:
                return cast("bytes", self.client.get_object(Bucket=BUCKET, Key=name)["Body"].read())
            except self.client.exceptions.NoSuchKey:
                return None
        path = self.folder / name
        return path.read_bytes() if path.exists() else None


@contextlib.contextmanager
def serving(kind: str, folder: Path, dies_after: int | None = None) -> Iterator[Place]:
    """A server of a kind, `s3` or `ftp`.

    :param folder: what FTP serves; S3 begins with an empty bucket
    :param dies_after: octets of an upload; None: it lives
    """
    for name in LIBRARIES[kind]:
        library(name)
    more = () if dies_after is None else (str(dies_after),)
    command = [sys.executable, "-m", "tests.elsewhere", kind, str(folder), *more]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield _place(kind, int(cast("IO[str]", process.stdout).readline()), folder)
        finally:
            process.kill()


def _place(kind: str, port: int, folder: Path) -> Place:
    if kind == "ftp":
        return Place(f"ftp://{USER}:{PASSWORD}@127.0.0.1:{port}", {}, folder)
    endpoint, region = f"http://127.0.0.1:{port}", "us-east-1"
    client = library("boto3").client(
        "s3",
        endpoint_url=endpoint,
        region_name=region,
        aws_access_key_id=USER,
        aws_secret_access_key=PASSWORD,
    )
    client.create_bucket(Bucket=BUCKET)
    settings = {"AWS_ENDPOINT_URL": endpoint, "AWS_REGION_NAME": region}
    return Place(f"s3://{USER}:{PASSWORD}@{BUCKET}", settings, folder, client)


def serve_s3(dies_after: int | None) -> None:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    application = DomainDispatcherApplication(create_backend_app)

    def dying(environ: dict[str, Any], start_response: Any) -> Any:
        size = int(environ.get("CONTENT_LENGTH") or 0)
        if dies_after is not None and environ["REQUEST_METHOD"] == "PUT" and size > dies_after:
            environ["wsgi.input"].read(dies_after)
            os._exit(1)
        return application(environ, start_response)

    server = make_server("127.0.0.1", 0, dying, threaded=True)
    print(server.server_port, flush=True)
    server.serve_forever()


def serve_ftp(folder: str, dies_after: int | None) -> None:
    from pyftpdlib.authorizers import DummyAuthorizer
    from pyftpdlib.handlers import DTPHandler, FTPHandler
    from pyftpdlib.servers import FTPServer

    class Dying(DTPHandler):  # type: ignore[misc]
        def handle_read(self) -> None:
            super().handle_read()
            if dies_after is not None and self.get_transmitted_bytes() > dies_after:
                self.file_obj.flush()
                os._exit(1)

        handle_read_event = handle_read

    FTPHandler.authorizer, FTPHandler.dtp_handler = DummyAuthorizer(), Dying
    FTPHandler.authorizer.add_user(USER, PASSWORD, folder, perm="elradfmwMT")
    server = FTPServer(("127.0.0.1", 0), FTPHandler)
    print(server.address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    given_kind, given_folder, *rest = sys.argv[1:]
    limit = int(rest[0]) if rest else None
    if given_kind == "s3":
        serve_s3(limit)
    else:
        serve_ftp(given_folder, limit)

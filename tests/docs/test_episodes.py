"""The spider that downloads episodes can be stopped."""

import json
import shutil
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from tests.docs import shell
from tests.docs.pages import DOCS
from tests.server import Answer, FeedServer

pytestmark = [pytest.mark.sqlite_only("has no store"), pytest.mark.full_lane("starts Scrapy, and stops it")]
# A second each, at least: they cannot all be there when the signal arrives.
EPISODES = 60


def test_a_signal_ends_the_download_after_the_files_in_progress(server: FeedServer, tmp_path: Path) -> None:
    shell.install(tmp_path / "bin")
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(DOCS / "examples" / "episodes.py", home)
    lines = []
    for number in range(EPISODES):
        server.answers[f"/{number}.mp3"] = Answer(b"not music", content_type="audio/mpeg")
        enclosures = [{"url": f"{server.root}/{number}.mp3"}]
        lines.append(json.dumps({"change": "new", "published": "2003-02-01", "enclosures": enclosures}))
    (home / "podcast.jsonl").write_text("\n".join(lines), "utf-8")
    begun = threading.Event()
    server.on_request = lambda path: begun.set() if path == "/1.mp3" else None
    command = [str(tmp_path / "bin" / "scrapy"), "runspider", "episodes.py", "-a", "entries=podcast.jsonl"]
    with subprocess.Popen(command, cwd=home, env=shell.environment(home)) as spider:
        try:
            assert begun.wait(60)
            spider.send_signal(signal.SIGTERM)
            assert spider.wait(60) == 0
        finally:
            spider.kill()
    assert 0 < len(list((home / "episodes").iterdir())) < EPISODES

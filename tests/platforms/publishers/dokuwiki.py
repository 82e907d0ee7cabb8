"""DokuWiki: its feed of recent changes, which shows as many as are requested."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.platforms.publisher import Change, Feed, Post, Publisher, run

PLACE = Path("/usr/share/dokuwiki")
FOLDERS = (
    *("attic", "cache", "index", "locks", "log", "media"),
    *("media_attic", "media_meta", "meta", "pages", "tmp"),
)
# `rss_update`: the feed is not kept for some minutes. `rss_show_deleted`: with PHP 8, this release answers
# with a TypeError once the feed has a deleted page.
SETTINGS = """<?php
$conf['title'] = 'Site';
$conf['savedir'] = '{folder}/data';
$conf['useacl'] = 0;
$conf['useheading'] = 1;
$conf['rss_update'] = -1;
$conf['rss_show_deleted'] = 0;
"""
# A page's first revision is given its date. Who saves a page sees it, which fills its metadata.
SAVE = """<?php
define('NOSESSION', 1);
require '/usr/share/dokuwiki/inc/init.php';
foreach (json_decode(stream_get_contents(STDIN), true) as [$id, $text, $at]) {
    $is_new = !page_exists($id);
    saveWikiText($id, $text, $text && $is_new ? $lang['created'] : '');
    if (!$text) continue;
    if ($is_new) {
        rename(wikiFN($id, filemtime(wikiFN($id))), wikiFN($id, $at));
        touch(wikiFN($id), $at);
        foreach ([metaFN($id, '.changes'), $conf['changelog']] as $file) {
            $line = "/^[0-9]+(?=\\\\t[^\\\\t]*\\\\tC\\\\t$id\\\\t)/m";
            file_put_contents($file, preg_replace($line, $at, file_get_contents($file)));
        }
        clearstatcache();
    }
    p_get_metadata($id, '', METADATA_RENDER_UNLIMITED);
}
$lines = file($conf['changelog']);
usort($lines, fn($one, $other) => (int) $one <=> (int) $other);
file_put_contents($conf['changelog'], $lines);
"""


class DokuWiki(Publisher):
    name, program = "DokuWiki", PLACE
    # The feed itself, and all changes at once. A wiki sets the times of changes: none is in the past.
    feeds = (Feed("", "/feed.php", pages=2, shows=frozenset(Change) - {Change.BACKDATE}),)

    @property
    def version(self) -> str:
        return (PLACE / "VERSION").read_text(encoding="utf-8").split()[0]

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        for name in FOLDERS:
            (self.folder / "data" / name).mkdir(parents=True)
        settings = SETTINGS.format(folder=self.folder)
        (self.folder / "local.php").write_text(settings, encoding="utf-8")
        (self.folder / "first.php").write_text(f"<?php define('DOKU_CONF', '{self.folder}/');", "utf-8")
        (self.folder / "save.php").write_text(SAVE, encoding="utf-8")
        with self.process(*self._php, "-S", f"127.0.0.1:{self.port}", "-t", str(PLACE)):
            yield

    @property
    def _php(self) -> Sequence[str]:
        return ("php", "-d", f"auto_prepend_file={self.folder}/first.php")

    def _save(self, *pages: tuple[str, str, int]) -> None:
        run(*self._php, "save.php", cwd=self.folder, text=json.dumps(pages))

    def write(self, posts: Sequence[Post]) -> None:
        texts = {post.number: f"====== {post.title} ======\n{post.text}" for post in posts}
        self._save(*((f"post{p.number}", texts[p.number], int(p.published.timestamp())) for p in posts))

    def remove(self, number: int) -> None:
        self._save((f"post{number}", "", 0))

"""WordPress, of the tests' own server (`.ci/servers` installs it)."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Iterator, Sequence

from tests import wordpress_server
from tests.platforms.publisher import Feed, Post, Publisher

# As an author does in the editor: a post keeps its number and its date, and gets a new time of change.
WRITING = """
foreach (json_decode(base64_decode('%s')) as [$title, $time, $text]) {
    $found = get_posts(['title' => $title, 'fields' => 'ids']);
    $post = ['post_title' => $title, 'post_content' => $text, 'post_status' => 'publish', 'post_author' => 1];
    $post += $found ? ['ID' => $found[0]] : [];
    wp_insert_post($post + ['post_date' => $time, 'post_date_gmt' => $time], true);
}
"""
REMOVING = "wp_delete_post(get_posts(['title' => 'Post %d', 'fields' => 'ids'])[0], true);"


class WordPress(Publisher):
    name = "WordPress"
    feeds = (Feed("", "/feed/"),)
    _server: wordpress_server.WordPress

    @property
    def version(self) -> str:
        return self._server.run("echo get_bloginfo('version');")

    @property
    def root(self) -> str:
        return self._server.root

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        with wordpress_server.serving() as self._server:
            self._server.use_permalinks()
            yield

    def write(self, posts: Sequence[Post]) -> None:
        rows = [(post.title, f"{post.published:%Y-%m-%d %H:%M:%S}", post.text) for post in posts]
        # Base64 needs no escapes within PHP's quotes.
        self._server.run(WRITING % base64.b64encode(json.dumps(rows).encode()).decode())

    def remove(self, number: int) -> None:
        self._server.run(REMOVING % number)

"""ikiwiki, a wiki that is compiled to files: a blog of ten posts with a feed, and no sitemap."""

from __future__ import annotations

from tests.platforms.publisher import Feed, StaticSite, run

POST = """[[!meta title="{post.title}"]]
[[!meta date="{post.published:%Y-%m-%d %H:%M:%S} UTC"]]
[[!meta updated="{post.published:%Y-%m-%d %H:%M:%S} UTC"]]

{post.text}
"""
# As in its example of a blog.
INDEX = '[[!inline pages="page(posts/*)" show="10" rootpage="posts"]]\n'
ARCHIVES = '[[!inline pages="page(posts/*)" archive=yes feedshow=10 quick=yes]]\n'


class Ikiwiki(StaticSite):
    name, package = "ikiwiki", "ikiwiki"
    feeds = (Feed("", "/index.atom", answers=False),)
    file, post = "posts/post-{number}.mdwn", POST

    def set_up(self) -> None:
        self.put("index.mdwn", INDEX)
        self.put("archives.mdwn", ARCHIVES)

    def build(self) -> None:
        options = (
            "--rebuild",
            "--rss",
            "--atom",
            f"--url={self.root}",
            "--wikiname=A site",
            "--plugin=goodstuff",
        )
        run("ikiwiki", *options, self.source, self.dist, cwd=self.folder, LC_ALL="C.UTF-8", TZ="UTC")

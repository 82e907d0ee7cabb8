"""Docusaurus with its classic preset: a feed of the blog's last 20 posts."""

from __future__ import annotations

from tests.platforms.publisher import Feed, NodeSite

CONFIG = """
export default {{
    title: "A site",
    url: "{root}",
    baseUrl: "/",
    onBrokenLinks: "ignore",
    presets: [["classic", {{ docs: {{}}, blog: {{ onInlineAuthors: "ignore" }} }}]],
}};
"""


class Docusaurus(NodeSite):
    name = "Docusaurus"
    feeds = (Feed("", "/blog/rss.xml", answers=False),)
    file = "blog/post-{number}.md"
    head = ("slug: post-{number}", "tags: [news]")
    module, command = "@docusaurus/core", "docusaurus"

    def set_up(self) -> None:
        super().set_up()
        self.put("docusaurus.config.mjs", CONFIG.format(root=self.root))
        self.put("docs/intro.md", "---\ntitle: Intro\nslug: /intro\n---\n\nThis site.\n")

    def build(self) -> None:
        self.execute("build", "--config", "docusaurus.config.mjs", "--out-dir", str(self.dist))

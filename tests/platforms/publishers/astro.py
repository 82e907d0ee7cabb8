"""Astro with @astrojs/rss and @astrojs/sitemap: a limited feed, and one of all posts."""

from __future__ import annotations

from tests.platforms.publisher import Feed, NodeSite

CONFIG = """
import sitemap from '@astrojs/sitemap'
import {{ defineConfig }} from 'astro/config'

export default defineConfig({{ site: '{root}', outDir: '{dist}', integrations: [sitemap()] }})
"""
CONTENT = """
import { defineCollection, z } from 'astro:content'
import { glob } from 'astro/loaders'

const schema = z.object({ title: z.string(), date: z.coerce.date() })
const loader = glob({ base: './src/content/blog', pattern: '*.md' })
export const collections = { blog: defineCollection({ loader, schema }) }
"""
FEED = """
import rss from '@astrojs/rss'
import {{ getCollection }} from 'astro:content'

export async function GET(context) {{
  const posts = await getCollection('blog')
  posts.sort((one, other) => other.data.date - one.data.date)
  const items = posts{limit}.map((post) => ({{
    title: post.data.title, pubDate: post.data.date, link: `/blog/${{post.id}}/`, content: post.rendered.html,
  }}))
  return rss({{ title: 'A site', description: 'Posts', site: context.site, items }})
}}
"""
PAGE = """---
import { getCollection, render } from 'astro:content'

export async function getStaticPaths() {
  const posts = await getCollection('blog')
  return posts.map((post) => ({ params: { id: post.id }, props: { post } }))
}
const { post } = Astro.props
const { Content } = await render(post)
---
<html lang="en">
  <head><meta charset="utf-8" /><title>{post.data.title}</title></head>
  <body>
    <main>
      <article>
        <h1>{post.data.title}</h1>
        <time datetime={post.data.date.toISOString()}>{post.data.date.toDateString()}</time>
        <Content />
      </article>
    </main>
  </body>
</html>
"""
INDEX = """---
import { getCollection } from 'astro:content'
const posts = await getCollection('blog')
---
<html lang="en">
  <head><title>A site</title></head>
  <body>{posts.map((post) => <a href={`/blog/${post.id}/`}>{post.data.title}</a>)}</body>
</html>
"""


class Astro(NodeSite):
    name = "Astro"
    feeds = (Feed("limited", "/rss.xml", answers=False), Feed("all", "/all.xml", pages=1))
    file = "src/content/blog/post-{number}.md"
    module, command = "astro", "astro"

    def set_up(self) -> None:
        super().set_up()
        self.put("package.json", '{"name": "site", "type": "module", "private": true}')
        self.put("astro.config.mjs", CONFIG.format(root=self.root, dist=self.dist))
        # As its documentation recommends: the sitemap has a name of its own.
        self.put("public/robots.txt", f"User-agent: *\nAllow: /\n\nSitemap: {self.root}/sitemap-index.xml\n")
        self.put("src/content.config.ts", CONTENT)
        self.put("src/pages/rss.xml.js", FEED.format(limit=".slice(0, 20)"))
        self.put("src/pages/all.xml.js", FEED.format(limit=""))
        self.put("src/pages/blog/[id].astro", PAGE)
        self.put("src/pages/index.astro", INDEX)

    def build(self) -> None:
        self.execute("build", "--silent")

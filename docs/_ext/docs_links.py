"""Checks that each link inside the built site leads to a page, and to an element of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urldefrag, urlsplit

from lxml import html
from sphinx.errors import SphinxError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx


def broken(folder: Path) -> Iterator[str]:
    """Yield a sentence for each link between the pages of a folder that leads nowhere."""
    pages = {path.resolve(): html.parse(path) for path in sorted(folder.rglob("*.html"))}
    anchors = {path: {*page.xpath("//@id"), *page.xpath("//a/@name")} for path, page in pages.items()}
    for path, page in pages.items():
        for link in {*page.xpath("//a/@href"), *page.xpath("//img/@src")}:
            target, anchor = urldefrag(link)
            if urlsplit(link).scheme or urlsplit(link).netloc:
                continue
            file = (path.parent / unquote(target)).resolve() if target else path
            if not file.exists():
                yield f"{path.name}: there is no {link}"
            elif anchor and file in anchors and unquote(anchor) not in anchors[file]:
                yield f"{path.name}: {target or path.name} has no #{anchor}"


def _check(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html" and app.builder.name == "html":
        found = list(broken(Path(app.outdir)))
        if found:
            raise SphinxError("Broken links:\n" + "\n".join(found))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("build-finished", _check)
    return {"parallel_read_safe": True}

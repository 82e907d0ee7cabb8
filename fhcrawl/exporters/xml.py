"""Entries as XML: Scrapy's, with every text as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import XMLGenerator

from scrapy import exporters

from fhcrawl.exporters.entries import cleaned
from fhcrawl.exporters.terminal import shown

if TYPE_CHECKING:
    from io import BytesIO


class Generator(XMLGenerator):
    """The standard library's, which leaves U+000D and what is no character as they are."""

    # XML 1.0, 2.11: a parser makes a line end of U+000D, unless it is a character reference.
    def characters(self, content: str) -> None:
        """Write a text."""
        first, *others = cleaned(content).split("\r")
        super().characters(first)
        for text in others:
            self.ignorableWhitespace("&#13;")
            super().characters(text)


class XmlItemExporter(exporters.XmlItemExporter):
    """XML."""

    def __init__(self, file: BytesIO, **kwargs: Any) -> None:
        super().__init__(shown(file), **kwargs)
        self.xg = Generator(self.stream, encoding=self.encoding or "utf-8")

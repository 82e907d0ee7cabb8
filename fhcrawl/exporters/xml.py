"""Exports entries as XML: Scrapy's exporter, with U+000D preserved."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import XMLGenerator

from scrapy import exporters

from fhcrawl.exporters.entries import cleaned
from fhcrawl.exporters.terminal import shown
from fhcrawl.items import EXTENSIONS

if TYPE_CHECKING:
    from io import BytesIO


class Generator(XMLGenerator):
    """The standard library's generator; it keeps U+000D and replaces characters that XML does not allow."""

    # XML 1.0, 2.11: a parser normalises U+000D to a line feed unless it is a character reference.
    def characters(self, content: str) -> None:
        """Write text."""
        first, *others = cleaned(content).split("\r")
        super().characters(first)
        for text in others:
            self.ignorableWhitespace("&#13;")
            super().characters(text)


class XmlItemExporter(exporters.XmlItemExporter):
    """XML; see `Generator`. Extensions are JSON text, because URIs of namespaces cannot name elements."""

    def __init__(self, file: BytesIO, **kwargs: Any) -> None:
        super().__init__(shown(file), **kwargs)
        self.xg = Generator(self.stream, encoding=self.encoding or "utf-8")

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        """Return extensions as JSON text, and other values as they are."""
        if name == EXTENSIONS and value is not None:
            return json.dumps(value, ensure_ascii=False)
        return super().serialize_field(field, name, value)

"""The items that the spider yields."""

from __future__ import annotations

from collections import deque
from collections.abc import MutableMapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from itemadapter.adapter import DataclassAdapter

from fhcrawl.documents.model import DETAILS

if TYPE_CHECKING:
    from collections.abc import Iterator, KeysView, Mapping

    from fhcrawl.documents import Enclosure


@dataclass
class EntryItem(MutableMapping[str, Any]):
    """An entry of a logical feed, as pipelines receive it and as it is exported.

    Its fields are attributes and, as in Scrapy's items, keys: `item.title` is `item["title"]`. Each item has
    all of them, and those that pipelines add. Only `feed` and `id` have no default.

    :param feed: URL of the subscription document, as given
    :param id: Atom's `id`, RSS 2.0's `guid`, RSS 1.0's `rdf:about`, JSON Feed's `id` or a Content-ID;
        RSS without these: the link; without a link: a digest of title, date and description (`urn:sha256:…`)
    :param title: a string, unchanged from the feed
    :param link: absolute URL of the alternate link
    :param published: time of publication, in ISO 8601 and UTC, ending in `Z`, with the feed's fractions of a
        second; `pubDate` in RSS
    :param updated: time of the last update, in the same form; in RSS only `atom:updated` or
        `dcterms:modified`
    :param authors: a list of strings; in Atom and JSON Feed, entries without authors have those of the feed
    :param categories: a list of strings
    :param summary: a string, including markup
    :param content: a string, including markup; XHTML is serialised, without the `div` around it
    :param content_type: `text`, `html`, `xhtml` or a media type; if it ends in `;base64`, `content` is base64
    :param enclosures: a list of objects with `url`, `type` and `length` (octets); includes Atom's external
        content (`src`)
    :param operation: `PUT`, `DELETE`, `PATCH` or `POST`, if the feed is an event feed
    :param document: URL of the document that this version came from
    :param document_updated: update time of that document
    :param change: `new`, `updated` or `deleted` since the last export; only in exports of crawls
    :param title_type: `text` or `html`; null if the feed does not specify it, as in RSS
    :param summary_type: `text`, `html`, `xhtml` or a media type; null as for `title_type`
    :param base: base URL of relative references in `content` (or in `summary`, without content): the
        `xml:base` in effect, else `document`
    :param language: the `xml:lang` in effect, else the feed's language
    :param shared_id: the id that the publisher gave to several entries; `id` is this, `#` and a digest of the
        link, else of title, `published` and text

    The following are not fields of the item, but of exports that select them:

    :param original: the original XML or JSON of the entry; null if it is not kept
    :param extensions: everything in the entry that has no field, as a tree; JSON text in CSV, Parquet and XML
    :param former_ids: a sorted list of the ids that the publisher replaced
    :param first_seen: when a crawl first read any version of the entry, or a tombstone
    :param fetched: when a crawl first read this version, or that the entry is deleted
    :param deleted: when the entry was deleted: by its tombstone, else when a crawl first found it missing;
        null if it is not deleted
    :param state: `current`, `superseded` or `deleted`; `absent` if the publisher no longer has the entry, in
        `fhcrawl export --deleted`
    """

    feed: str
    id: str
    title: str | None = None
    link: str | None = None
    published: str | None = None
    updated: str | None = None
    authors: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    summary: str | None = None
    content: str | None = None
    content_type: str | None = None
    enclosures: list[Enclosure] = field(default_factory=list)
    operation: str | None = None
    document: str = ""
    document_updated: str | None = None
    change: str | None = None
    title_type: str | None = None
    summary_type: str | None = None
    base: str | None = None
    language: str | None = None
    shared_id: str | None = None

    def __getitem__(self, name: str) -> Any:
        if name in vars(self) and name not in INTERNAL:
            return vars(self)[name]
        raise KeyError(name)

    def __setitem__(self, name: str, value: Any) -> None:
        if name in INTERNAL:
            raise KeyError(f"a field cannot have the name {name}; choose another one")
        setattr(self, name, value)

    # Only fields that a pipeline has added can be removed.
    def __delitem__(self, name: str) -> None:
        if name in ALL_FIELDS:
            raise TypeError(f"the field {name} cannot be removed; set it to None")
        self[name]
        delattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name in vars(self) if name not in INTERNAL])

    def __len__(self) -> int:
        return len(list(iter(self)))


# `ItemAdapter(item)` has the fields that pipelines add, too, such as `files` of Scrapy's FilesPipeline.
class EntryItemAdapter(DataclassAdapter):
    @classmethod
    def is_item_class(cls, item_class: type) -> bool:
        return issubclass(item_class, EntryItem)

    @classmethod
    def is_item(cls, item: Any) -> bool:
        return isinstance(item, EntryItem)

    @classmethod
    def get_field_meta_from_class(cls, item_class: type, field_name: str) -> MappingProxyType[str, Any]:
        is_declared = field_name in {declared.name for declared in fields(item_class)}
        inherited = super().get_field_meta_from_class
        return inherited(item_class, field_name) if is_declared else MappingProxyType({})

    def __getitem__(self, field_name: str) -> Any:
        return self.item[field_name]

    def __setitem__(self, field_name: str, value: Any) -> None:
        self.item[field_name] = value

    def __delitem__(self, field_name: str) -> None:
        del self.item[field_name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.item)

    def __len__(self) -> int:
        return len(self.item)

    def get_field_meta(self, field_name: str) -> MappingProxyType[str, Any]:
        return self.get_field_meta_from_class(self.item.__class__, field_name)

    def field_names(self) -> KeysView[str]:
        return self.keys()


ItemAdapter.ADAPTER_CLASSES = deque([EntryItemAdapter, *ItemAdapter.ADAPTER_CLASSES])


def stored_item(fields: Mapping[str, Any]) -> EntryItem:
    """Return the item of a stored entry, with the fields that pipelines have added; `change` is None."""
    item = EntryItem(fields["feed"], fields["id"])
    item.update({name: value for name, value in fields.items() if name not in COMPUTED_FIELDS}, change=None)
    return item


# The fields that exports have only if they are chosen.
OPTIONAL_FIELDS = [*DETAILS]
# Fields of exports that are computed from the original and the store; items do not have them.
STORED_TIMES = ("first_seen", "fetched", "deleted")
STORED_FIELDS = (*STORED_TIMES, "state")
COMPUTED_FIELDS = ("original", "extensions", "former_ids", *STORED_FIELDS)
ORIGINAL, EXTENSIONS, FORMER_IDS = COMPUTED_FIELDS[:3]
ALL_FIELDS = [f.name for f in fields(EntryItem)]
FIELDS = [name for name in ALL_FIELDS if name not in OPTIONAL_FIELDS]
# Attributes of `EntryVersion` that are not fields.
INTERNAL = frozenset({"version", "pending"})
ATTRIBUTES = frozenset({*ALL_FIELDS, *INTERNAL})


def added_fields(item: EntryItem) -> dict[str, Any]:
    """Return the fields that pipelines have added to an item, as attributes or as fields of a subclass."""
    return {name: value for name, value in vars(item).items() if name not in ATTRIBUTES}

"""Reads collections of ActivityStreams 2.0 and their pages: outboxes of ActivityPub (Mastodon and others)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fhcrawl.documents.dates import utc
from fhcrawl.documents.formats.jsonfeed import Number, clean, line, lost_items, original, string, unique
from fhcrawl.documents.links import Links
from fhcrawl.documents.model import Entry, FeedDocument, Problem, Tombstone, identifier
from fhcrawl.documents.modules import date_problem, enclosure, unsigned
from fhcrawl.documents.xml import elements

if TYPE_CHECKING:
    from fhcrawl.documents.formats.jsonfeed import Json, Object
    from fhcrawl.documents.model import Enclosure

NAMESPACE = "www.w3.org/ns/activitystreams"
ORDERED, ORDERED_PAGE = "OrderedCollection", "OrderedCollectionPage"
# Other vocabularies have these names too.
UNORDERED, PAGE = "Collection", "CollectionPage"
ITEMS = ("orderedItems", "items")
# ActivityPub, 5: a collection is "in reverse chronological order"; `partOf` has the link to the newest items.
LINKS = {"next": "next", "prev": "prev", "partOf": "first"}
POSTED = frozenset({"Create", "Update"})  # Activity Vocabulary, 3.1
ACTORS = frozenset({"Application", "Group", "Organization", "Person", "Service"})
MEDIA = ("audio/", "image/", "video/")  # files among the representations of a post
HTML = "text/html"


class Target(NamedTuple):
    url: str
    media_type: str
    size: str | None

    def is_media(self) -> bool:
        return self.media_type.startswith(MEDIA)


def read(document: Json, url: str, keep_originals: bool) -> FeedDocument | None:
    """Read a collection or a page of one, and remove its items from `document`; None for other JSON."""
    collection = document.members
    types = _types(collection)
    contexts = [each for each in _list(collection.get("@context")) if isinstance(each, str)]
    if not types & {ORDERED, ORDERED_PAGE} and not (
        types & {UNORDERED, PAGE} and any(NAMESPACE in each for each in contexts)
    ):
        return None
    page, items = collection, _take_items(collection) if document.items is None else document.items
    # ActivityStreams 2.0, 5.1: `first` is the page, or a link to it.
    first = collection.get("first")
    if not items and isinstance(first, dict) and (inner := _take_items(first)) is not None:
        page, items = first, inner
    total = unsigned(line(collection, "totalItems"))
    is_page = bool(types & {ORDERED_PAGE, PAGE})
    links = Links()
    for name, relation in LINKS.items():
        _add_link(links, relation, page.get(name), url)
    is_part = page is collection and not is_page and len(items or ()) < (total or 1)
    if is_part and "next" not in links.first:
        _add_link(links, "next", first, url)
    activities = _Activities(url, keep_originals, list(lost_items(document)))
    for position, item in enumerate(items or (), 1):
        activities.read(item, f"item {position}")
    return FeedDocument(
        format="activitystreams",
        title=_line(collection, "name"),
        updated=utc(string(collection, "updated") or ""),
        links=links.first,
        other_links=links.others,
        entries=activities.newest(),
        problems=activities.problems,
        fault=None if is_page or items is not None or links.first or total == 0 else "it has no items",
        tombstones=list(activities.tombstones.values()),
        total=total,
    )


# JSON-LD, 2.3: an array with a single value may be written as that value.
def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _types(holder: Object) -> set[str]:
    types = (each for each in _list(holder.get("type", holder.get("@type"))) if isinstance(each, str))
    return {name.rpartition("#")[2].removeprefix("as:") for name in types}


def _take_items(page: Object) -> list[Any] | None:
    for name in ITEMS:
        if isinstance(page.get(name), (dict, list)):
            return _list(page.pop(name))
    return None


def _add_link(links: Links, relation: str, value: Any, url: str) -> None:
    for target in _targets(value, url)[:1]:
        links.add(relation, target.url.partition("#")[0])


def _targets(value: Any, url: str) -> list[Target]:
    targets = []
    for item in _list(value):
        link = item if isinstance(item, dict) else {"href": item}
        reference = link.get("href") or link.get("id")
        if isinstance(reference, str) and not isinstance(reference, Number) and reference.strip():
            target = elements.resolve(clean(reference).strip(), url)
            targets.append(Target(target, line(link, "mediaType") or "", line(link, "size")))
    return targets


def _line(holder: Object, name: str) -> str | None:
    text, _language = _text_and_language(holder, name)
    return text and text.strip()


# ActivityStreams 2.0, 4.7: a natural language value is a string, or a map with a string for each language.
def _text_and_language(holder: Object, name: str) -> tuple[str | None, str | None]:
    text, translations = string(holder, name), holder.get(f"{name}Map")
    texts = translations if isinstance(translations, dict) else {}
    for language in texts:
        translation = string(texts, language)
        if translation and text in (None, translation):
            is_tag = 0 < len(language) <= elements.LONGEST_LANGUAGE and language != "und"
            return translation, clean(language) if is_tag else None
    return text, None


class _Activities:
    def __init__(self, url: str, keep_originals: bool, problems: list[Problem]) -> None:
        self._url = url
        self._keep_originals = keep_originals
        self._entries: list[Entry] = []
        self.problems = problems
        self.tombstones: dict[str, Tombstone] = {}

    # One document may have the Create of a post, its Update, and (ActivityPub, 6.4) its Tombstone.
    def newest(self) -> list[Entry]:
        latest: dict[str | None, str] = {}
        for entry in self._entries:
            latest[entry.id] = max(latest.get(entry.id, ""), entry.updated or "")
        return [
            entry
            for entry in self._entries
            if entry.id is None
            or (entry.id not in self.tombstones and (entry.updated or "") == latest[entry.id])
        ]

    def read(self, item: Any, name: str) -> None:
        if not isinstance(item, dict):
            detail = "it is only a URL, which is not fetched" if _is_url(item) else "it is not an object"
            self.problems.append(Problem("entry-lost", name, detail))
        elif (entry := self._entry_of_item(item, _types(item), name)) is not None:
            entry.original = original(item) if self._keep_originals else None
            self._entries.append(entry)

    def _entry_of_item(self, item: Object, types: set[str], name: str) -> Entry | None:
        if "Announce" in types:
            return self._entry_of_announce(item, name)
        if types & POSTED:
            return self._entry_of_create(item, name)
        if "Delete" in types:
            self._add_tombstone(_object(item), item, name)
        elif "Tombstone" in types:
            self._add_tombstone(item, {}, name)
        # Activity Vocabulary, 3.1: only a Question can be a post, or an activity (with an actor).
        elif "object" not in item and "actor" not in item:
            return self._entry_of_post(item, {}, name)
        return None

    def _entry_of_create(self, activity: Object, name: str) -> Entry | None:
        target = _object(activity)
        if isinstance(target, dict):
            if "Tombstone" in _types(target):
                self._add_tombstone(target, activity, name)
                return None
            entry = None if _types(target) & ACTORS else self._entry_of_post(target, activity, name)
            if entry is not None and "Update" in _types(activity) and entry.updated is None:
                entry.updated = self._time(activity, "published", name)
            return entry
        if not _is_url(target):
            self.problems.append(Problem("entry-lost", name, "its activity has no object"))
            return None
        if target in (_id(each) for each in _list(activity.get("actor"))):
            return None
        self.problems.append(Problem("nonstandard", name, "its post is only a URL, which is not fetched"))
        return Entry(
            id=identifier(target),
            link=elements.resolve(clean(target), self._url),
            published=self._time(activity, "published", name),
            authors=_actor_names(activity.get("actor")),
        )

    def _entry_of_post(self, post: Object, activity: Object, name: str) -> Entry:
        entry = self._entry_of_fields(post)
        post_id = _id(post)
        entry.id = identifier(post_id) if post_id else entry.link
        name = entry.id or entry.title or name
        if entry.id is None:
            self.problems.append(Problem("no-id", name, "it has no id"))
        dated = post if post.get("published") is not None else activity
        entry.published = self._time(dated, "published", name)
        entry.updated = self._time(post, "updated", name)
        entry.authors = entry.authors or _actor_names(activity.get("actor"))
        return entry

    # ActivityPub, 7.11: an Announce shares another post, which has another author.
    def _entry_of_announce(self, activity: Object, name: str) -> Entry:
        post = _object(activity)
        if isinstance(post, dict) and _types(post) & POSTED:
            post = _object(post)
        entry = self._entry_of_fields(post) if isinstance(post, dict) else Entry()
        if _is_url(post):
            entry.link = elements.resolve(clean(post), self._url)
        entry.id = identifier(_id(activity))
        if entry.id is None:
            self.problems.append(Problem("no-id", entry.link or name, "its Announce has no id"))
        entry.published = self._time(activity, "published", entry.id or name)
        entry.updated = None
        entry.authors = entry.authors or _actor_names(activity.get("actor"))
        return entry

    def _entry_of_fields(self, post: Object) -> Entry:
        title, summary = _line(post, "name"), _text_and_language(post, "summary")[0]
        content, language = _text_and_language(post, "content")
        pages = _targets(post.get("url"), self._url)
        html_pages = [page for page in pages if page.media_type.startswith(HTML)] or pages
        link = html_pages[0].url if html_pages else _id(post)
        media_type = line(post, "mediaType") or HTML
        is_text = media_type.startswith("text/") and not media_type.startswith(HTML)
        return Entry(
            title=title,
            link=elements.resolve(link, self._url) if link else None,
            authors=_actor_names(post.get("attributedTo")),
            categories=_hashtags(post),
            summary=summary,
            content=content,
            content_type=("text" if is_text else "html") if content else None,
            enclosures=[*self._attachments(post), *(enclosure(*page) for page in pages if page.is_media())],
            # Activity Vocabulary, 4: a name is plain text, a summary "may include HTML markup".
            title_type="text" if title else None,
            summary_type="html" if summary else None,
            language=language,
        )

    def _attachments(self, post: Object) -> list[Enclosure]:
        files: list[Enclosure] = []
        for attachment in _list(post.get("attachment")):
            file = attachment if isinstance(attachment, dict) else {"url": attachment}
            # Links are previews of web pages, unless their media type is that of a file.
            targets = _targets(file.get("url"), self._url)[:1]
            targets = targets or [target for target in _targets(file, self._url) if target.is_media()]
            kind, size = line(file, "mediaType"), line(file, "size")
            files.extend(
                enclosure(target.url, target.media_type or kind, target.size or size) for target in targets
            )
        return files

    def _add_tombstone(self, target: Any, activity: Object, name: str) -> None:
        tombstone = target if isinstance(target, dict) else {"id": target}
        ref = identifier(_id(tombstone))
        if ref is None:
            self.problems.append(Problem("no-ref", name, "its Delete names no object"))
            return
        if ref in (_id(each) for each in _list(activity.get("actor"))) or _types(tombstone) & ACTORS:
            return
        when = self._time(tombstone, "deleted", ref) or self._time(activity, "published", ref)
        self.tombstones.setdefault(ref, Tombstone(ref, when))

    def _time(self, holder: Object, key: str, name: str) -> str | None:
        time = utc(string(holder, key) or "")
        if holder.get(key) is not None:
            self.problems.extend(date_problem(name, key, holder[key], time))
        return time


def _is_url(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, Number) and bool(value.strip())


def _object(activity: Object) -> Any:
    return next((each for each in _list(activity.get("object")) if each), None)


def _id(value: Any) -> str | None:
    item_id = value.get("id", value.get("@id")) if isinstance(value, dict) else value
    return item_id if _is_url(item_id) else None


def _actor_names(actors: Any) -> list[str]:
    holders = (actor if isinstance(actor, dict) else {"id": actor} for actor in _list(actors))
    names = (_line(holder, "name") or line(holder, "preferredUsername") or _id(holder) for holder in holders)
    return unique(clean(name).strip() for name in names if name)


def _hashtags(post: Object) -> list[str]:
    tags = (tag for tag in _list(post.get("tag")) if isinstance(tag, dict) and "Hashtag" in _types(tag))
    return unique((_line(tag, "name") or "").removeprefix("#").strip() for tag in tags)

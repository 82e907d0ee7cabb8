"""What entries and heads of generated documents have, and how often."""


def _percents(text: str) -> dict[str, int]:
    found = (each.rsplit(" ", 1) for each in text.split(", "))
    return {tag: int(percent) for tag, percent in found}


# Children of an entry, with how many of a hundred entries have them.
RSS_ITEM = _percents(
    "guid 70, title 85, link 80, description 80, pubDate 70, content:encoded 30, author 20, "
    "dc:creator 25, category 35, enclosure 15, dc:date 15, dc:subject 10, dcterms:creator 2, "
    "dcterms:subject 2, dcterms:date 2, dcterms:modified 4, dcterms:issued 4, dcterms:created 3, "
    "atom:updated 6, atom:published 3, atom:author 3, atom:link 6, atom:summary 3, atom:content 3, "
    "media:content 6, media:group 3, media:title 4, media:description 4, media:thumbnail 4, "
    "media:player 3, itunes:author 4, itunes:summary 4, itunes:title 3, itunes:keywords 3, "
    "itunes:duration 4, slash:comments 5, dc:title 3, dc:description 3, dc:identifier 3, comments 5, "
    "source 4, other:link 3, other:title 3, image 2"
)
ATOM_ENTRY = _percents(
    "id 92, title 92, link 90, updated 90, published 50, author 50, category 35, summary 50, content 60, "
    "contributor 6, rights 8, source 8, enclosure link 12, media:content 5, media:group 4, media:title 3, "
    "media:description 4, media:thumbnail 4, media:player 3, dc:creator 4, dc:date 3, dc:subject 4, "
    "other:title 3, slash:comments 4, content:encoded 3"
)
ATOM_03 = {"published": "issued", "updated": "modified", "enclosure link": "link", "source": "created"}
RSS_HEAD = _percents(
    "title 95, link 90, description 80, lastBuildDate 40, pubDate 20, dc:date 10, atom:link 40, "
    "language 20, image 15, textInput 3, managingEditor 5, category 5, atom:updated 4, itunes:author 4, "
    "dc:title 3, dc:creator 3, generator 10"
)
ATOM_HEAD = _percents(
    "id 95, title 95, link 90, updated 90, author 30, subtitle 20, rights 10, generator 20, logo 5, "
    "category 5, contributor 3, atom self 40"
)
DOUBLE = 0.03
RELATIONS = (None, "alternate", "alternate", "related", "self", "replies", "Alternate", "via")
MEDIA_TEXTS = ("media:title", "media:description")
# What publishers leave unescaped.
NAKED = ("description", "content:encoded")
TIMES = frozenset(
    ("pubDate", "lastBuildDate", "updated", "published", "issued", "modified", "created", "date")
)
NAMES = (("Jo Doe", None, None), ("Mü Ller", "mu@example.org", None), ("A. & B.", None, "http://a.example/"))
MAILS = ("jo@example.org (Jo Doe)", "jo@example.org", "Jo Doe", "Jo Doe <jo@example.org>")
# Media RSS, medium, and the type that it stands for.
MEDIUMS = ((None, None), (None, None), ("video", "video/*"), ("Image", "image/*"), ("document", None))
ENCLOSURES = (("audio/mpeg", "1234"), ("video/mp4", "0"), ("image/png", ""), (None, None), ("a/b", "many"))

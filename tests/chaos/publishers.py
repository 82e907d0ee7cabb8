"""Publishers of generated feeds, which change as they are requested. They know the expected result."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from random import Random

from tests.chaos.documents import Document, Style, Version, http_date, iso, render

# Few, so that texts repeat.
TEXTS = ("one", "two", "three")
SHOWN = 6
KEPT = 18


@dataclass(frozen=True)
class Answer:
    body: bytes = b""
    status: int = 200
    location: str | None = None
    content_type: str = "application/xml"
    modified: str | None = None


@dataclass
class Publisher(ABC):
    """A feed.

    :param root: of its URLs
    :param elsewhere: of the URLs of its archives
    :param latest: the newest version of each entry; without text if it is no more
    :param all_versions: all versions
    :param snapshots: `latest`, by revision
    :param held: what the documents held together, by revision
    :param size: how many entries a page has
    :param shown: what any document has ever held: its URL and time, the entry's id and text
    :param answers: all answers with a document so far, by path, with the ids of its entries
    :param restated: ids of entries that a stale copy has shown as they were, which no reader can know: the
        copy came last, and nothing in it has a time
    :param incomplete: revisions in which the chain skipped archives
    """

    name: str
    root: str
    elsewhere: str
    style: Style
    rng: Random
    validator: str
    number: int = 0
    tick: int = 0
    revision: int = 0
    latest: dict[str, Version] = field(default_factory=dict)
    all_versions: dict[str, list[Version]] = field(default_factory=dict)
    snapshots: list[dict[str, Version]] = field(default_factory=list)
    held: list[list[Version]] = field(default_factory=list)
    size: int = 0
    shown: set[tuple[str, str | None, str, str | None]] = field(default_factory=set)
    moves: int = 0
    answers: dict[str, list[tuple[Answer, set[str]]]] = field(default_factory=dict)
    restated: set[str] = field(default_factory=set)
    incomplete: set[int] = field(default_factory=set)

    kind = ""

    def __post_init__(self) -> None:
        self.begin()
        self.note()

    @property
    def feed(self) -> str:
        return f"{self.root}/{self.name}/index0"

    @property
    def location(self) -> str:
        return f"/{self.name}/index{self.moves}"

    @property
    def title(self) -> str:
        """By which one sees which revision has been read."""
        return f"{self.name}, revision {self.revision}"

    @abstractmethod
    def begin(self) -> None: ...

    @abstractmethod
    def document(self, path: str) -> Document | None: ...

    @abstractmethod
    def place(self, version: Version) -> None: ...

    @abstractmethod
    def events(self) -> list[str]:
        """Names of the methods that change something."""

    # -- changes ----------------------------------------------------------------------------------

    def change(self) -> str:
        event = self.rng.choice(self.events())
        getattr(self, event)()
        self.note()
        return event

    def note(self) -> None:
        self.revision = len(self.snapshots)
        self.snapshots.append(dict(self.latest))
        self.held.append(list(self.present()))

    def pass_time(self, surely: bool = False) -> None:
        if surely or self.style.times != "coarse" or self.rng.random() < 0.4:
            self.tick += self.rng.randint(1, 30)

    def say(self, entry_id: str, text: str | None) -> None:
        before = self.latest.get(entry_id)
        # At the same time, a deletion is newer than what it deletes (RFC 6721, 4).
        self.pass_time(surely=before is not None and before.text is None)
        self.number += 1
        from_future = self.style.times == "own" and self.rng.random() < 0.05
        born = self.tick if before is None else before.born
        version = Version(entry_id, self.number, self.tick, text, born, from_future)
        self.latest[entry_id] = version
        self.all_versions.setdefault(entry_id, []).append(version)
        self.place(version)

    def add(self) -> None:
        for _ in range(self.rng.randint(1, 4)):
            self.say(f"{self.name}-{len(self.all_versions)}", self.rng.choice(TEXTS))

    def revise(self) -> None:
        live = self.live()
        if live:
            version = self.rng.choice(live)
            # The same text again, at a later time, is a version too.
            self.say(version.id, self.rng.choice(TEXTS))

    def delete(self) -> None:
        live = self.live()
        if len(live) > 1:
            self.say(self.rng.choice(live).id, None)

    def restore(self) -> None:
        deleted = [version.id for version in self.latest.values() if version.text is None]
        if deleted:
            self.say(self.rng.choice(deleted), self.rng.choice(TEXTS))

    def move(self) -> None:
        self.moves += 1

    def live(self) -> list[Version]:
        return [version for version in self.latest.values() if version.text is not None]

    def present(self) -> list[Version]:
        return self.live()

    # -- answers ----------------------------------------------------------------------------------

    def answer(self, path: str) -> Answer | None:
        old = [f"/{self.name}/index{n}" for n in range(self.moves)]
        if path in old:
            status = 301 if path == old[-1] else 308
            return Answer(status=status, location=self.root + self.location)
        found = self.document(path)
        if found is None:
            return self.forward(path)
        url = (self.root if path.startswith(self.location) else self.elsewhere) + path
        time = None if self.style.times == "none" else iso(found.tick)
        self.shown |= {(url, time, v.id, v.text) for v in found.versions}
        kind = f"application/{self.style.form}+xml"
        answer = Answer(render(found, self.style), content_type=kind, modified=http_date(self.revision))
        self.answers.setdefault(path, []).append((answer, {version.id for version in found.versions}))
        return answer

    def stale(self, path: str, rng: Random) -> Answer | None:
        """Return an answer of before, as a cache does; None if there is none."""
        if path not in self.answers:
            return None
        answer, ids = rng.choice(self.answers[path])
        self.restated |= ids
        return answer

    @property
    def unknowable(self) -> set[str]:
        # Each read of a paged or complete feed has all entries as they are now.
        is_told = self.kind != "archived" or self.style.times == "own"
        return set() if is_told else self.restated

    def settle(self) -> None:  # noqa: B027 - most hide nothing
        """End what hides documents for a while."""

    def forward(self, path: str) -> Answer | None:
        return None


class Complete(Publisher):
    """One document with all entries; what is not in it is no more."""

    kind = "complete"

    def begin(self) -> None:
        self.gone: list[Version] = []
        self.add()
        self.add()

    def place(self, version: Version) -> None:
        pass

    def events(self) -> list[str]:
        return ["add", "revise", "revise", "vanish", "vanish", "come_back", "move"]

    def vanish(self) -> None:
        live = self.live()
        if live:
            version = self.rng.choice(live)
            self.gone.append(version)
            self.pass_time()
            self.latest[version.id] = version._replace(text=None)

    def come_back(self) -> None:
        if self.gone:
            version = self.gone.pop(self.rng.randrange(len(self.gone)))
            self.pass_time()
            self.latest[version.id] = version

    def document(self, path: str) -> Document | None:
        if path != self.location:
            return None
        return Document(self.title, self.tick, tuple(self.live()), head="<fh:complete/>")


class Paged(Publisher):
    """Pages, the newest entries first; the oldest ones leave at the end."""

    kind = "paged"

    def begin(self) -> None:
        self.items: list[Version] = []
        self.size = self.rng.randint(2, 4)
        for _ in range(self.rng.randint(1, 4)):
            self.add()

    def place(self, version: Version) -> None:
        self.items = [version, *(v for v in self.items if v.id != version.id)][:KEPT]

    def events(self) -> list[str]:
        return ["add", "add", "revise", "move"]

    def revise(self) -> None:
        if self.items:
            self.say(self.rng.choice(self.items).id, self.rng.choice(TEXTS))

    def present(self) -> list[Version]:
        return self.items

    def document(self, path: str) -> Document | None:
        base, _, page = path.partition("?page=")
        number = int(page or 1)
        begin = (number - 1) * self.size
        if base != self.location or begin >= max(len(self.items), 1):
            return None
        links = {"first": f"{self.root}{self.location}"}
        if begin + self.size < len(self.items):
            links["next"] = f"{self.root}{self.location}?page={number + 1}"
        versions = tuple(self.items[begin : begin + self.size])
        return Document(self.title if number == 1 else self.name, self.tick, versions, links)

    def forward(self, path: str) -> Answer | None:
        base, question, page = path.partition("?page=")
        old = [f"/{self.name}/index{n}" for n in range(self.moves)]
        if base not in old or not question:
            return None
        return Answer(status=301, location=f"{self.root}{self.location}?page={page}")


@dataclass(frozen=True)
class Archive:
    path: str
    tick: int
    versions: tuple[Version, ...]


class Archived(Publisher):
    """A subscription document with archives written, which are rewritten under new URLs at times."""

    kind = "archived"

    def begin(self) -> None:
        self.current: list[Version] = []
        self.archives: list[Archive] = []
        self.old: dict[str, str | int] = {}
        self.skipped = 0
        self.closed = 0
        for _ in range(self.rng.randint(2, 7)):
            self.add()
            self.close()
        self.add()

    def place(self, version: Version) -> None:
        self.current = [version, *(v for v in self.current if v.id != version.id)]

    def events(self) -> list[str]:
        changes = ["add", "add", "revise", "revise", "close", "close", "rewrite", "move", "skip", "settle"]
        # A deletion has a time: without times, nothing could be newer than one.
        return changes if self.style.times == "none" else [*changes, "delete", "restore"]

    def skip(self) -> None:
        """The newest archives leave the chain, until it settles."""
        self.skipped = min(self.rng.randint(1, 2), len(self.archives))

    def settle(self) -> None:
        self.skipped = 0

    def note(self) -> None:
        super().note()
        if self.skipped:
            self.incomplete.add(self.revision)

    def close(self) -> None:
        self.settle()
        kept = self.rng.randint(0, len(self.current) // 2)
        closing = self.current[kept:]
        if closing:
            self.current = self.current[:kept]
            self.archives.append(self._archive(closing))

    def _archive(self, versions: list[Version]) -> Archive:
        self.closed += 1
        newest = sorted(versions, key=lambda v: -v.number)
        return Archive(f"/{self.name}/a{self.closed}", newest[0].tick, tuple(newest))

    def rewrite(self) -> None:
        """All archives get new URLs, and are cut anew; the old URLs are gone, or lead to the new ones."""
        self.settle()
        versions = [v for archive in self.archives for v in archive.versions]
        if self.rng.random() < 0.5:
            versions = [v for v in versions if self.latest[v.id] == v]
        versions.sort(key=lambda v: v.number)
        before, self.archives = self.archives, []
        while versions:
            count = self.rng.randint(1, 6)
            newest = {v.id: v for v in versions[:count]}
            self.archives.append(self._archive(list(newest.values())))
            versions = versions[count:]
        self._leave(before)

    def _leave(self, before: list[Archive]) -> None:
        way = self.rng.choice((404, 410, 301, 302))
        for archive in before:
            last = archive.versions[0].number
            later = [a for a in self.archives if a.versions[0].number >= last]
            leads = way in (301, 302) and later
            self.old[archive.path] = f"{way} {later[0].path}" if leads else way if way >= 400 else 404

    def document(self, path: str) -> Document | None:
        if path == self.location:
            return self._subscription()
        for number, archive in enumerate(self.archives):
            if archive.path == path:
                return self._archive_document(archive, number)
        return None

    def _subscription(self) -> Document:
        recent = [v for a in reversed(self.archives) for v in a.versions if self.latest[v.id] == v]
        shown = (self.current + recent)[: max(SHOWN, len(self.current))]
        return Document(self.title, self.tick, tuple(shown), self._prev(len(self.archives) - self.skipped))

    def _archive_document(self, archive: Archive, number: int) -> Document:
        links = {**self._prev(number), "current": self.root + self.location}
        if number + 1 < len(self.archives):
            links["next-archive"] = self.elsewhere + self.archives[number + 1].path
        head = "<fh:archive/>" if self.style.states_archive else ""
        return Document(self.name, archive.tick, archive.versions, links, head)

    def _prev(self, number: int) -> dict[str, str]:
        return {"prev-archive": self.elsewhere + self.archives[number - 1].path} if number else {}

    def forward(self, path: str) -> Answer | None:
        left = self.old.get(path)
        if isinstance(left, str):
            status, _, now = left.partition(" ")
            if self.document(now) is None:
                return self.forward(now)
            return Answer(status=int(status), location=self.elsewhere + now)
        return None if left is None else Answer(status=left)

"""A fault in a history that has none else."""

from dataclasses import dataclass, field, replace

from fhcrawl.validation import Fetched, Severity
from tests.validation.histories import ATOM_SET, SITE, served

ERROR, WARNING, ADVICE, GOOD = Severity
LINK_TO_2 = '<link rel="prev-archive" href="https://example.org/2"/>'
NEXT_TO_2 = '<link rel="next-archive" href="https://example.org/2"/>'
CURRENT = '<link rel="current" href="https://example.org/index"/>'
ID_9 = "<id>urn:9</id>"
HTML = "text/html; charset=utf-8"


@dataclass(frozen=True)
class Case:
    """A fault in a history: what is replaced in one of its documents, or how that is served.

    In its texts, `@` stands for the site.

    :param words: words of the sentence
    :param line: the line of the fault; None if the finding has none
    :param document: its path
    """

    rule: str
    severity: Severity
    words: str
    line: int | None = None
    old: str = ""
    new: str = ""
    document: str = "index"
    history: dict[str, str] = field(default_factory=lambda: ATOM_SET)
    headers: dict[str, str] = field(default_factory=dict)
    redirects: tuple[int, ...] = ()
    is_cut: bool = False
    leads_to: str = ""  # where a redirect leads

    def responses(self) -> dict[str, Fetched]:
        path = self.document
        old, new, leads_to = (text.replace("@", SITE) for text in (self.old, self.new, self.leads_to))
        text = self.history[path]
        assert old in text
        text = text.replace(old, new, 1) if old else text + new
        found = served({**self.history, path: text})
        url = f"{SITE}/{path}"
        here = replace(found[url], redirects=self.redirects, is_cut=self.is_cut, url=leads_to or url)
        return {**found, url: replace(here, headers={**here.headers, **self.headers})}

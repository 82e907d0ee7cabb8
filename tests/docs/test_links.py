"""Links inside the site are checked when it is built."""

from pathlib import Path

import docs_links
import pytest

HERE = '<p id="here"></p><a href="#here"></a><a href="https://example.org/#x"></a><a href="b.html#there"></a>'


@pytest.mark.parametrize(
    ("link", "sentences"),
    [
        ("b.html", []),
        ("b.html#nowhere", ["a.html: b.html has no #nowhere"]),
        ("#nowhere", ["a.html: a.html has no #nowhere"]),
        ("c.html", ["a.html: there is no c.html"]),
    ],
)
def test_link_that_leads_nowhere_is_a_sentence(tmp_path: Path, link: str, sentences: list[str]) -> None:
    (tmp_path / "a.html").write_text(f'{HERE}<a href="{link}"></a>')
    (tmp_path / "b.html").write_text('<p id="there"></p>')
    assert list(docs_links.broken(tmp_path)) == sentences

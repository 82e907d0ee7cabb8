"""Redmine: the news of a project, in numbered pages."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.platforms.publisher import Feed, Post, Publisher, run

PLACE = Path("/usr/share/redmine")
# Where Debian's Redmine looks for the configuration of a site.
SITE = Path("instances", "default")
DATABASE = """production:
  adapter: sqlite3
  database: {folder}/redmine.sqlite3
"""
SET_UP = """
Project.create!(name: "Site", identifier: "site", is_public: true, enabled_module_names: ["news"])
Role.anonymous.add_permission!(:view_news)
"""
WRITE = """
JSON.parse(STDIN.read).each do |title, text, at|
  one = Project.find("site").news.find_or_initialize_by(title: title)
  one.update!(description: text, author: User.find_by(login: "admin"), created_on: Time.parse(at))
end
"""
REMOVE = 'News.find_by!(title: "Post {number}").destroy'
ENVIRONMENT = {"RAILS_ENV": "production", "TZ": "UTC"}


class Redmine(Publisher):
    name, program, package = "Redmine", PLACE, "redmine"
    feeds = (Feed("", "/projects/site/news.atom"),)

    @property
    def _copy(self) -> Path:
        return self.folder / "redmine"

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        self._install()
        self._rails("db:migrate")
        self._rails("runner", "-", text=SET_UP)
        address = f"tcp://127.0.0.1:{self.port}"
        with self.process("puma", "-e", "production", "-b", address, cwd=self._copy, **ENVIRONMENT):
            yield

    def _install(self) -> None:
        kept = shutil.ignore_patterns("instances", "database.yml", "Gemfile.lock")
        shutil.copytree(PLACE, self._copy, ignore=kept)
        gems = self._copy / "Gemfile"
        gems.write_text(gems.read_text(encoding="utf-8").replace(str(PLACE), str(self._copy)), "utf-8")
        for name in ("config", "files", "log", "tmp"):
            (self._copy / SITE / name).mkdir(parents=True)
        configuration = self._copy / SITE / "config"
        (configuration / "secret_key.txt").write_text("x" * 64, encoding="utf-8")
        (configuration / "database.yml").write_text(DATABASE.format(folder=self.folder), encoding="utf-8")

    def _rails(self, *command: str, text: str | None = None) -> None:
        run("ruby", "bin/rails", *command, cwd=self._copy, text=text, **ENVIRONMENT)

    def write(self, posts: Sequence[Post]) -> None:
        given = [(one.title, one.text, one.published.isoformat()) for one in posts]
        self._rails("runner", WRITE, text=json.dumps(given))

    def remove(self, number: int) -> None:
        self._rails("runner", REMOVE.format(number=number))

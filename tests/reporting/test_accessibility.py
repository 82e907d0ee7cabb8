"""The report, as axe-core sees it: it looks for what makes a page hard to use with assistive technology.

axe-core comes from npm: `.ci/servers` installs it into the folder that the variable AXE_CORE names, or into
`~/.cache/fhcrawl-axe-core`.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.browser import Browser
from tests.servers import leave_out

pytestmark = [
    pytest.mark.browser,
    pytest.mark.any_store("what a browser makes of a report"),
    pytest.mark.nightly("starts a browser"),
]

FOLDER = Path(os.environ.get("AXE_CORE") or Path.home() / ".cache" / "fhcrawl-axe-core")
SCRIPT = FOLDER / "node_modules" / "axe-core" / "axe.min.js"
MISSING = f"axe-core is not in {FOLDER}: npm install --prefix {FOLDER} axe-core"
RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then(found => done({
  passes: found.passes.map(rule => rule.id),
  violations: found.violations.map(rule => [rule.id, rule.nodes.map(node => node.html.slice(0, 200))]),
}));
"""
OPEN = "document.querySelectorAll('details').forEach(details => { details.open = true; })"


@pytest.fixture(scope="module")
def axe() -> str:
    if not SCRIPT.exists():
        leave_out(MISSING)
    return SCRIPT.read_text(encoding="utf-8")


def look(browser: Browser, axe: str) -> dict[str, Any]:
    browser.driver.set_script_timeout(240)
    browser.run(axe)
    found: dict[str, Any] = browser.driver.execute_async_script(RUN)
    return found


@pytest.mark.parametrize("name", ["few", "several"])
@pytest.mark.parametrize(("width", "dark"), [(1100, False), (1100, True), (360, False)])
def test_axe_finds_nothing(
    browser: Browser, axe: str, request: pytest.FixtureRequest, name: str, width: int, dark: bool
) -> None:
    browser.open(request.getfixturevalue(name), width=width, dark=dark)
    for script in ("", OPEN):
        browser.run(script)
        found = look(browser, axe)
        assert found["violations"] == []
        assert {"color-contrast", "region"} <= set(found["passes"])

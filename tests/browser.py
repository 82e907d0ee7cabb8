"""A real browser for the tests: Chromium, driven by ChromeDriver.

A plugin of pytest's: where there is no Chromium, the tests that are marked `browser` are left out, and a line
reports it; in CI (CI is set) they fail.
"""

import base64
import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.terminal import TerminalReporter

PROGRAMS = ("chromium", "chromedriver")
PATIENCE = 60  # seconds
LEFT_OUT = (
    "The tests of the report in a browser were left out: chromium, chromedriver or selenium is missing "
    "(Debian's packages chromium and chromium-driver; pip install -e '.[test-all]')"
)
# No requests to the network.
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--disable-dev-shm-usage",
)


def is_missing() -> bool:
    return not all(map(shutil.which, PROGRAMS)) or importlib.util.find_spec("selenium") is None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not is_missing() or os.environ.get("CI"):
        return
    left_out = [item for item in items if item.get_closest_marker("browser")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    if is_missing() and not os.environ.get("CI"):
        terminalreporter.write_line(LEFT_OUT, yellow=True)


class Browser:
    def __init__(self, profile: Path) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        options.binary_location = str(shutil.which("chromium"))
        self.driver: Any = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))

    def open(self, path: Path, width: int = 1100, dark: bool = False, fragment: str = "") -> None:
        screen = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
        self.cdp("Emulation.setDeviceMetricsOverride", screen)
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.cdp("Emulation.setEmulatedMedia", {"media": "", "features": [theme]})
        self.driver.get("about:blank")
        self.driver.get(f"{path.as_uri()}{fragment}")
        from selenium.webdriver.support.wait import WebDriverWait

        # ChromeDriver may be satisfied with the page before.
        complete = "return document.readyState == 'complete' && location.protocol == 'file:'"
        WebDriverWait(self.driver, PATIENCE).until(lambda driver: driver.execute_script(complete))

    def cdp(self, command: str, parameters: dict[str, Any]) -> Any:
        return self.driver.execute_cdp_cmd(command, parameters)

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def log(self, kind: str) -> list[dict[str, Any]]:
        """What was logged since the last call.

        :param kind: browser (what the console states) or performance (what was sent)
        """
        logged: list[dict[str, Any]] = self.driver.get_log(kind)
        return logged

    def pdf(self) -> bytes:
        return base64.b64decode(self.cdp("Page.printToPDF", {"preferCSSPageSize": True})["data"])


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if is_missing():
        pytest.fail(LEFT_OUT)
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.driver.quit()

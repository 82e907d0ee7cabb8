from __future__ import annotations

import pytest
from scrapy.settings import Settings

from fhcrawl.core.checks import check_mistyped, check_settings
from fhcrawl.exceptions import ArgumentError


def test_settings_of_a_users_module_may_be_called_as_ours() -> None:
    own = {"FHCRAWL_OWN": 1}
    check_mistyped(Settings(own, "project"))
    with pytest.raises(ArgumentError, match="FHCRAWL_OWN"):
        check_mistyped(Settings(own, "cmdline"))


@pytest.mark.parametrize(("seconds", "is_allowed"), [(2, False), (3, True), (86400, True), (86401, False)])
def test_lease_that_ends_too_far_ahead_is_none(seconds: int, is_allowed: bool) -> None:
    """In the store it could not be told from one of a clock that was wrong."""
    settings = Settings()
    settings.setmodule("fhcrawl.settings")
    settings.set("FHCRAWL_LEASE_SECONDS", seconds)
    if is_allowed:
        check_settings(settings)
    else:
        with pytest.raises(ArgumentError, match=f"is '{seconds}': write a number of seconds, 3 to 86400"):
            check_settings(settings)

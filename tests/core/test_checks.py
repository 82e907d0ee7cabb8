import pytest
from scrapy.settings import Settings

from fhcrawl.core.checks import check_mistyped, check_settings
from fhcrawl.exceptions import ArgumentError


@pytest.mark.parametrize("priority", ["project", "spider", "cmdline"])
def test_mistyped_setting_is_refused_wherever_it_is_set(priority: str) -> None:
    message = "There is no setting FHCRAWL_MAX_PAGE; did you mean FHCRAWL_MAX_PAGES?"
    with pytest.raises(ArgumentError, match=message):
        check_mistyped(Settings({"FHCRAWL_MAX_PAGE": 3}, priority))
    check_mistyped(Settings({"FHCRAWL_MAX_PAGES": 3, "OWN_MAX_PAGE": 3}, priority))


@pytest.mark.parametrize(("seconds", "is_allowed"), [(2, False), (3, True), (86400, True), (86401, False)])
def test_lease_that_ends_too_far_ahead_is_none(seconds: int, is_allowed: bool) -> None:
    """In the store it could not be told from one of a clock that was wrong."""
    settings = Settings()
    settings.setmodule("fhcrawl.settings")
    settings.set("FHCRAWL_LEASE_SECONDS", seconds)
    if is_allowed:
        check_settings(settings)
    else:
        with pytest.raises(ArgumentError, match=f"of seconds from 3 to 86400, not '{seconds}'"):
            check_settings(settings)


@pytest.mark.parametrize("path", ["nowhere.Reactor", "twisted.internet.pollreactor.PollReactor", None])
def test_reactor_that_cannot_be_used_is_refused(path: str | None) -> None:
    settings = Settings()
    settings.setmodule("fhcrawl.settings")
    settings.set("TWISTED_REACTOR", path)
    with pytest.raises(ArgumentError, match=rf"TWISTED_REACTOR must be twisted\S+, not {path!r}$"):
        check_settings(settings)
    settings.set("TWISTED_REACTOR_ENABLED", False)
    check_settings(settings)

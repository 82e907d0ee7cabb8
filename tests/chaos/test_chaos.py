"""A few dozen seeds; `python -m tests.chaos --seeds 300` lives through more, and repeats one that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.chaos.scenario import live

if TYPE_CHECKING:
    from pathlib import Path

# The last ones have found something: archives that are cut anew while the oldest of them is read; entries
# that move on by a whole page while pages are read.
SEEDS = (*range(24), 5017, 6066)


@pytest.mark.usefixtures("new_project")
@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_goes_wrong_nothing_is_lost_and_nothing_is_claimed_that_is_not_so(
    seed: int, tmp_path: Path
) -> None:
    broken = live(seed, tmp_path / "world")
    assert broken is None, f"python -m tests.chaos --seeds 1 --first {seed}  # {tmp_path / 'world'}"

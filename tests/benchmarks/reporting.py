"""Tables of what contestants cost, and ratios of them."""

from collections.abc import Mapping
from statistics import median

from tests.benchmarks.measuring import Cost

Round = dict[str, Cost]

WIDTH = 28
RATIO_HEAD = f"{'ratio':{WIDTH}}{'wall':>8}{'CPU':>8}   target (of wall)"


def said(number: int, costs: Round) -> str:
    """A round in a line."""
    return f"round {number}: " + ", ".join(f"{name} {cost.wall:.2f} s" for name, cost in costs.items())


def table(contestants: Mapping[str, str], rounds: list[Round]) -> str:
    """The costs of those that have run.

    :param contestants: what each is, by the names that the rounds have
    """
    head = f"{'':{WIDTH}}{'wall s':^16}{'CPU s':^16}{'peak MiB':^16}".rstrip()
    columns = " " * WIDTH + f"{'median':>8}{'min':>8}" * 3
    lines = [
        f"{name}  {what:{WIDTH - 3}}{_columns([each[name] for each in rounds])}"
        for name, what in contestants.items()
        if name in rounds[0]
    ]
    return "\n".join(["", head, columns, *lines, ""])


def _columns(costs: list[Cost]) -> str:
    wall, cpu, memory = ([cost[i] for cost in costs] for i in range(3))
    times = "".join(f"{median(values):8.2f}{min(values):8.2f}" for values in (wall, cpu))
    return f"{times}{median(memory):8.1f}{min(memory):8.1f}"


def ratio(one: str, other: str, rounds: list[Round], aim: float) -> str:
    """How much more one costs than another: the median over the rounds."""
    wall = median(each[one].wall / each[other].wall for each in rounds)
    cpu = median(each[one].cpu / each[other].cpu for each in rounds)
    return f"{one + '/' + other:{WIDTH}}{wall:8.3f}{cpu:8.3f}   at most {aim}"

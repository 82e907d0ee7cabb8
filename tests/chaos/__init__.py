"""Everything that can go wrong at once, driven by a seed: `python -m tests.chaos --seeds 300`."""

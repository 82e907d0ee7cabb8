"""Output for users: progress, summary, terminal display, advice, the HTML report."""

"""What a crawl tells people: progress, summary, terminal, advice, the HTML report."""

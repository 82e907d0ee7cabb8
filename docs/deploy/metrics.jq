# fhcrawl feeds --json | jq -rf metrics.jq: metrics of the feeds in the store, for Prometheus
def word: if any(.reasons[]; .kind == "not-read") then "not-read" else .verdict end;
def unread: .crawled == null or any(.reasons[]; .last_read);
def metric(name; value): "# TYPE fhcrawl_\(name) gauge", "fhcrawl_\(name) \(value)";
"# TYPE fhcrawl_feeds gauge",
(("complete", "incomplete", "lossy", "unknown", "not-read") as $word
  | "fhcrawl_feeds{verdict=\"\($word)\"} \(map(select(word == $word)) | length)"),
metric("feeds_failed"; map(select(unread)) | length),
metric("feeds_due"; map(select(.subscribed and .due and (.due | fromdate) < now)) | length),
metric("entries"; map(.entries) | add // 0),
metric("changes_unexported"; map(.unexported) | add // 0),
metric("last_crawl_timestamp_seconds"; map(.crawled // empty | fromdate) | max // 0)

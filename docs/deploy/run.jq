# fhcrawl crawl --json | jq -cf run.jq: a line about the run
def word: if any(.reasons[]; .kind == "not-read") then "not-read" else .verdict end;
def total(name): map(.[name]) | add // 0;
{
  time: (now | todate),
  feeds: length,
  verdicts: (reduce (.[] | word) as $word ({}; .[$word] += 1)),
  failed: map(select(.crawled == null or any(.reasons[]; .last_read))) | length,
  skipped: map(select(.skipped)) | length,
  new: total("new"), updated: total("updated"), deleted: total("deleted"), unexported: total("unexported")
}

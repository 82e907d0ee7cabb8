CREATE TABLE store (
	schema_version INTEGER NOT NULL, 
	runs INTEGER NOT NULL, 
	keeps_versions INTEGER NOT NULL
);
CREATE TABLE runs (
	id INTEGER NOT NULL, 
	owner TEXT NOT NULL, 
	expires INTEGER NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE feeds (
	id INTEGER NOT NULL, 
	url TEXT NOT NULL, 
	address TEXT NOT NULL, 
	location TEXT NOT NULL, 
	title TEXT, 
	kind TEXT, 
	walk INTEGER NOT NULL, 
	run INTEGER NOT NULL, 
	since TEXT NOT NULL, 
	crawled TEXT, 
	etag TEXT, 
	last_modified TEXT, 
	validated_url TEXT, 
	body_digest TEXT, 
	not_modified_ignored TEXT, 
	subscription_id INTEGER, 
	verdict TEXT, 
	reasons TEXT, 
	subscribed TEXT, 
	options TEXT, 
	polled TEXT, 
	fresh_seconds INTEGER, 
	retry_after TEXT, 
	rhythm TEXT, 
	news TEXT, 
	changed TEXT, 
	change_seconds INTEGER, 
	due TEXT, 
	released INTEGER, 
	special INTEGER, 
	total INTEGER, 
	unkept INTEGER, 
	counted TEXT, 
	software TEXT, 
	listing TEXT, 
	confirmation TEXT, 
	complete_as_of TEXT, 
	site TEXT, 
	sitemap TEXT, 
	merge_renamed INTEGER, 
	ids TEXT DEFAULT 'id' NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (url), 
	UNIQUE (address)
);
CREATE TABLE sites (
	site TEXT NOT NULL, 
	read TEXT, 
	is_part INTEGER NOT NULL, 
	retry_after TEXT, 
	UNIQUE (site)
);
CREATE TABLE sitemaps (
	site TEXT NOT NULL, 
	url TEXT NOT NULL, 
	etag TEXT, 
	last_modified TEXT, 
	validated_url TEXT, 
	is_index INTEGER NOT NULL, 
	listed BLOB NOT NULL
);
CREATE TABLE robots (
	host TEXT NOT NULL, 
	body BLOB, 
	read INTEGER NOT NULL, 
	unreachable INTEGER NOT NULL, 
	PRIMARY KEY (host)
);
CREATE TABLE deliveries (
	id INTEGER NOT NULL, 
	run INTEGER NOT NULL, 
	files TEXT NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE captures (
	url TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	record TEXT NOT NULL, 
	date TEXT NOT NULL, 
	file TEXT NOT NULL, 
	file_id TEXT NOT NULL, 
	UNIQUE (url)
);
CREATE TABLE aliases (
	feed_id INTEGER NOT NULL, 
	address TEXT NOT NULL, 
	UNIQUE (address), 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE documents (
	id INTEGER NOT NULL, 
	feed_id INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	url TEXT NOT NULL, 
	platform TEXT, 
	role TEXT NOT NULL, 
	state TEXT NOT NULL, 
	walk INTEGER NOT NULL, 
	step INTEGER NOT NULL, 
	behind_id INTEGER, 
	run INTEGER, 
	updated TEXT, 
	lost_entries INTEGER NOT NULL, 
	reason TEXT, 
	detail TEXT, 
	since TEXT, 
	fetched TEXT, 
	moved_to TEXT, 
	moved_walk INTEGER, 
	uncounted TEXT, 
	etag TEXT, 
	last_modified TEXT, 
	validated_url TEXT, 
	received TEXT, 
	checked TEXT, 
	checked_walk INTEGER, 
	changed_walk INTEGER, 
	held BLOB, 
	left_walk INTEGER, 
	PRIMARY KEY (id), 
	UNIQUE (feed_id, "key"), 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE entries (
	feed_id INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	title TEXT, 
	link TEXT, 
	published TEXT, 
	updated TEXT, 
	authors TEXT, 
	categories TEXT, 
	summary TEXT, 
	content TEXT, 
	content_type TEXT, 
	enclosures TEXT, 
	operation TEXT, 
	document TEXT, 
	document_updated TEXT, 
	digest TEXT NOT NULL, 
	order_overrides INTEGER NOT NULL, 
	order_time TEXT NOT NULL, 
	order_tombstone INTEGER NOT NULL, 
	order_walk INTEGER NOT NULL, 
	order_step INTEGER NOT NULL, 
	order_position INTEGER NOT NULL, 
	document_time TEXT, 
	original TEXT, 
	added TEXT, 
	details TEXT NOT NULL, 
	fetched TEXT NOT NULL, 
	first_seen TEXT NOT NULL, 
	UNIQUE (feed_id, id), 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE versions (
	feed_id INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	title TEXT, 
	link TEXT, 
	published TEXT, 
	updated TEXT, 
	authors TEXT, 
	categories TEXT, 
	summary TEXT, 
	content TEXT, 
	content_type TEXT, 
	enclosures TEXT, 
	operation TEXT, 
	document TEXT, 
	document_updated TEXT, 
	digest TEXT NOT NULL, 
	order_overrides INTEGER NOT NULL, 
	order_time TEXT NOT NULL, 
	order_tombstone INTEGER NOT NULL, 
	order_walk INTEGER NOT NULL, 
	order_step INTEGER NOT NULL, 
	order_position INTEGER NOT NULL, 
	document_time TEXT, 
	original TEXT, 
	added TEXT, 
	details TEXT NOT NULL, 
	fetched TEXT NOT NULL, 
	UNIQUE (feed_id, id, digest), 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE shared_ids (
	feed_id INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	UNIQUE (feed_id, id), 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE absences (
	feed_id INTEGER NOT NULL, 
	"key" BLOB NOT NULL, 
	id TEXT, 
	below BLOB, 
	role TEXT NOT NULL, 
	walk INTEGER NOT NULL, 
	looked INTEGER NOT NULL, 
	since TEXT NOT NULL, 
	gone TEXT, 
	UNIQUE (feed_id, "key"), 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE renames (
	feed_id INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	former_id TEXT, 
	since TEXT NOT NULL, 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE sitemap_posts (
	feed_id INTEGER NOT NULL, 
	url TEXT NOT NULL, 
	lastmod TEXT, 
	etag TEXT, 
	last_modified TEXT, 
	validated_url TEXT, 
	entry_id TEXT, 
	UNIQUE (feed_id, url), 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE heads (
	feed_id INTEGER NOT NULL, 
	original TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	document TEXT NOT NULL, 
	PRIMARY KEY (feed_id), 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE coverage (
	feed_id INTEGER NOT NULL, 
	known TEXT NOT NULL, 
	shown INTEGER NOT NULL, 
	depth INTEGER NOT NULL, 
	since TEXT NOT NULL, 
	until TEXT NOT NULL, 
	earlier TEXT NOT NULL, 
	entries INTEGER NOT NULL, 
	seconds INTEGER NOT NULL, 
	burst_entries INTEGER NOT NULL, 
	burst_seconds INTEGER NOT NULL, 
	burst TEXT, 
	PRIMARY KEY (feed_id), 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE changes (
	feed_id INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	exported_digest TEXT, 
	delivery INTEGER, 
	UNIQUE (feed_id, id), 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE timemaps (
	id INTEGER NOT NULL, 
	feed_id INTEGER NOT NULL, 
	archive TEXT NOT NULL, 
	url TEXT NOT NULL, 
	depth INTEGER NOT NULL, 
	read TEXT, 
	retry_after TEXT, 
	failed TEXT, 
	PRIMARY KEY (id), 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE downloads (
	feed_id INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	id TEXT NOT NULL, 
	url TEXT NOT NULL, 
	name TEXT, 
	size INTEGER, 
	digest TEXT, 
	time TEXT, 
	etag TEXT, 
	last_modified TEXT, 
	UNIQUE (feed_id, "key"), 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE mementos (
	id INTEGER NOT NULL, 
	feed_id INTEGER NOT NULL, 
	timemap_id INTEGER NOT NULL, 
	url TEXT NOT NULL, 
	time TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	state TEXT NOT NULL, 
	captured TEXT, 
	marks TEXT, 
	oldest TEXT, 
	PRIMARY KEY (id), 
	UNIQUE (timemap_id, digest), 
	FOREIGN KEY(feed_id) REFERENCES feeds (id), 
	FOREIGN KEY(timemap_id) REFERENCES timemaps (id)
);
CREATE INDEX timemaps_by_feed ON timemaps (feed_id);
CREATE INDEX mementos_by_feed ON mementos (feed_id);
CREATE INDEX aliases_by_feed ON aliases (feed_id);
CREATE INDEX sitemaps_by_site ON sitemaps (site);
CREATE INDEX feeds_by_run ON feeds (run);
CREATE INDEX feeds_by_location ON feeds (location);
CREATE INDEX captures_by_digest ON captures (digest);
CREATE INDEX renames_by_id ON renames (feed_id, id);
CREATE INDEX renames_by_former_id ON renames (feed_id, former_id);
CREATE VIEW live_entries AS SELECT feeds.url AS feed, feeds.title AS feed_title, entries.id, entries.title, entries.link,
    entries.published, entries.updated, entries.authors, entries.categories, entries.summary, entries.content,
    entries.content_type, entries.enclosures, entries.operation, entries.document, entries.document_updated,
    entries.added
FROM entries JOIN feeds ON feeds.id = entries.feed_id
WHERE entries.digest <> '';
CREATE VIEW entry_versions AS SELECT feed, feed_title, entries.id, entries.title, entries.link,
    entries.published, entries.updated, entries.authors, entries.categories, entries.summary, entries.content,
    entries.content_type, entries.enclosures, entries.operation, entries.document, entries.document_updated,
    entries.added, entries.first_seen, entries.fetched, entries.deleted,
    CASE WHEN entries.digest = '' THEN 'deleted' WHEN entries.is_newest = 1 THEN 'current'
        ELSE 'superseded' END AS state
FROM 
(SELECT entries.feed_id, entries.id, entries.title, entries.link, entries.published, entries.updated, entries.authors, entries.categories, entries.summary, entries.content, entries.content_type, entries.enclosures, entries.operation, entries.document, entries.document_updated, entries.digest, entries.order_overrides, entries.order_time, entries.order_tombstone, entries.order_walk, entries.order_step, entries.order_position, entries.document_time, entries.original, entries.added, entries.details, entries.fetched, entries.first_seen,
    CASE WHEN entries.digest = '' THEN coalesce(nullif(entries.order_time, '') || 'Z', entries.fetched) END AS deleted, 1 AS is_newest, feeds.url AS feed, feeds.title AS feed_title
FROM entries JOIN feeds ON feeds.id = entries.feed_id
UNION ALL SELECT versions.feed_id, versions.id, versions.title, versions.link, versions.published, versions.updated, versions.authors, versions.categories, versions.summary, versions.content, versions.content_type, versions.enclosures, versions.operation, versions.document, versions.document_updated, versions.digest, versions.order_overrides, versions.order_time, versions.order_tombstone, versions.order_walk, versions.order_step, versions.order_position, versions.document_time, versions.original, versions.added, versions.details, versions.fetched,
    coalesce(entries.first_seen, versions.fetched), CASE WHEN versions.digest = '' THEN coalesce(nullif(versions.order_time, '') || 'Z', versions.fetched) END, 0, feeds.url AS feed, feeds.title AS feed_title
FROM versions JOIN feeds ON feeds.id = versions.feed_id
    LEFT JOIN entries ON entries.feed_id = versions.feed_id AND entries.id = versions.id)
 AS entries;
CREATE VIEW deleted_entries AS SELECT feed, feed_title, entries.id, entries.title, entries.link,
    entries.published, entries.updated, entries.authors, entries.categories, entries.summary, entries.content,
    entries.content_type, entries.enclosures, entries.operation, entries.document, entries.document_updated,
    entries.added, entries.first_seen, entries.fetched, entries.deleted, entries.state
FROM 
(SELECT entries.*, CASE WHEN entries.digest = '' THEN coalesce(nullif(entries.order_time, '') || 'Z', entries.fetched) END AS deleted, 'deleted' AS state, feeds.url AS feed, feeds.title AS feed_title
FROM entries JOIN feeds ON feeds.id = entries.feed_id
WHERE entries.digest = '' AND entries.order_walk > -2147483648 AND NOT EXISTS (SELECT 1 FROM renames
    WHERE renames.feed_id = entries.feed_id AND renames.former_id = entries.id)
UNION ALL SELECT entries.*, absences.since, 'absent', feeds.url AS feed, feeds.title AS feed_title
FROM absences JOIN feeds ON feeds.id = absences.feed_id
    JOIN entries ON entries.feed_id = absences.feed_id AND entries.id = absences.id
WHERE absences.gone IS NOT NULL AND entries.digest <> '')
 AS entries;
CREATE VIEW absent_entries AS SELECT feeds.url AS feed, feeds.title AS feed_title, entries.id, entries.title, entries.link,
    absences.since AS absent
FROM absences JOIN feeds ON feeds.id = absences.feed_id
    JOIN entries ON entries.feed_id = absences.feed_id AND entries.id = absences.id
WHERE absences.gone IS NOT NULL AND entries.digest <> '';
CREATE VIEW renamed_entries AS SELECT feeds.url AS feed, feeds.title AS feed_title, entries.id, renames.former_id, entries.title,
    entries.link, renames.since AS renamed
FROM renames JOIN feeds ON feeds.id = renames.feed_id
    JOIN entries ON entries.feed_id = renames.feed_id AND entries.id = renames.id
WHERE renames.former_id IS NOT NULL AND entries.digest <> '';
CREATE VIEW feed_verdicts AS SELECT feeds.url AS feed, feeds.title, feeds.kind, feeds.verdict, feeds.reasons,
    (SELECT count(*) FROM entries WHERE entries.feed_id = feeds.id AND entries.digest <> '') AS entries,
    (SELECT count(*) FROM documents
        WHERE documents.feed_id = feeds.id AND documents.state = 'processed') AS documents_processed,
    (SELECT count(*) FROM documents
        WHERE documents.feed_id = feeds.id AND documents.state <> 'processed') AS documents_not_processed,
    feeds.complete_as_of, feeds.since AS first_crawled, feeds.crawled AS last_crawled,
    coverage.since AS seamless_since, coverage.until AS seamless_until
FROM feeds LEFT JOIN coverage
    ON coverage.feed_id = feeds.id AND coverage.shown > coverage.depth AND feeds.kind IN ('single', 'paged');
CREATE VIEW gaps AS SELECT feeds.url AS feed, feeds.title AS feed_title, json_extract(reason.value, '$.url') AS url, json_extract(reason.value, '$.kind') AS kind,
    json_extract(reason.value, '$.detail') AS detail, json_extract(reason.value, '$.since') AS since
FROM feeds, json_each(feeds.reasons) AS reason
WHERE json_extract(reason.value, '$.kind') NOT IN ('not-read', 'only-captures', 'paged', 'no-history', 'holes', 'platform') AND json_extract(reason.value, '$.last_read') IS NULL;

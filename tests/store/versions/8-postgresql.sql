CREATE TABLE store (
	schema_version INTEGER NOT NULL, 
	runs INTEGER NOT NULL, 
	keeps_versions INTEGER NOT NULL
);
CREATE TABLE runs (
	id INTEGER NOT NULL, 
	owner TEXT COLLATE "C" NOT NULL, 
	expires BIGINT NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE feeds (
	id SERIAL NOT NULL, 
	url TEXT COLLATE "C" NOT NULL, 
	address TEXT COLLATE "C" NOT NULL, 
	location TEXT COLLATE "C" NOT NULL, 
	title TEXT COLLATE "C", 
	kind TEXT COLLATE "C", 
	walk INTEGER NOT NULL, 
	run INTEGER NOT NULL, 
	since TEXT COLLATE "C" NOT NULL, 
	crawled TEXT COLLATE "C", 
	etag TEXT COLLATE "C", 
	last_modified TEXT COLLATE "C", 
	validated_url TEXT COLLATE "C", 
	body_digest TEXT COLLATE "C", 
	not_modified_ignored TEXT COLLATE "C", 
	subscription_id BIGINT, 
	verdict TEXT COLLATE "C", 
	reasons TEXT COLLATE "C", 
	subscribed TEXT COLLATE "C", 
	options TEXT COLLATE "C", 
	polled TEXT COLLATE "C", 
	fresh_seconds BIGINT, 
	retry_after TEXT COLLATE "C", 
	rhythm TEXT COLLATE "C", 
	news TEXT COLLATE "C", 
	changed TEXT COLLATE "C", 
	change_seconds BIGINT, 
	due TEXT COLLATE "C", 
	released INTEGER, 
	special INTEGER, 
	total BIGINT, 
	unkept BIGINT, 
	counted TEXT COLLATE "C", 
	software TEXT COLLATE "C", 
	listing TEXT COLLATE "C", 
	confirmation TEXT COLLATE "C", 
	complete_as_of TEXT COLLATE "C", 
	site TEXT COLLATE "C", 
	sitemap TEXT COLLATE "C", 
	merge_renamed INTEGER, 
	ids TEXT COLLATE "C" DEFAULT 'id' NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE sites (
	site TEXT COLLATE "C" NOT NULL, 
	read TEXT COLLATE "C", 
	is_part INTEGER NOT NULL, 
	retry_after TEXT COLLATE "C"
);
CREATE TABLE sitemaps (
	site TEXT COLLATE "C" NOT NULL, 
	url TEXT COLLATE "C" NOT NULL, 
	etag TEXT COLLATE "C", 
	last_modified TEXT COLLATE "C", 
	validated_url TEXT COLLATE "C", 
	is_index INTEGER NOT NULL, 
	listed BYTEA NOT NULL
);
CREATE TABLE robots (
	host TEXT COLLATE "C" NOT NULL, 
	body BYTEA, 
	read BIGINT NOT NULL, 
	unreachable BIGINT NOT NULL, 
	PRIMARY KEY (host)
);
CREATE TABLE deliveries (
	id SERIAL NOT NULL, 
	run INTEGER NOT NULL, 
	files TEXT COLLATE "C" NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE captures (
	url TEXT COLLATE "C" NOT NULL, 
	digest TEXT COLLATE "C" NOT NULL, 
	record TEXT COLLATE "C" NOT NULL, 
	date TEXT COLLATE "C" NOT NULL, 
	file TEXT COLLATE "C" NOT NULL, 
	file_id TEXT COLLATE "C" NOT NULL
);
CREATE TABLE aliases (
	feed_id INTEGER NOT NULL, 
	address TEXT COLLATE "C" NOT NULL, 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE documents (
	id BIGSERIAL NOT NULL, 
	feed_id INTEGER NOT NULL, 
	key TEXT COLLATE "C" NOT NULL, 
	url TEXT COLLATE "C" NOT NULL, 
	platform TEXT COLLATE "C", 
	role TEXT COLLATE "C" NOT NULL, 
	state TEXT COLLATE "C" NOT NULL, 
	walk INTEGER NOT NULL, 
	step INTEGER NOT NULL, 
	behind_id BIGINT, 
	run INTEGER, 
	updated TEXT COLLATE "C", 
	lost_entries INTEGER NOT NULL, 
	reason TEXT COLLATE "C", 
	detail TEXT COLLATE "C", 
	since TEXT COLLATE "C", 
	fetched TEXT COLLATE "C", 
	moved_to TEXT COLLATE "C", 
	moved_walk INTEGER, 
	uncounted TEXT COLLATE "C", 
	etag TEXT COLLATE "C", 
	last_modified TEXT COLLATE "C", 
	validated_url TEXT COLLATE "C", 
	received TEXT COLLATE "C", 
	checked TEXT COLLATE "C", 
	checked_walk INTEGER, 
	changed_walk INTEGER, 
	held BYTEA, 
	left_walk INTEGER, 
	PRIMARY KEY (id), 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE entries (
	feed_id INTEGER NOT NULL, 
	id TEXT COLLATE "C" NOT NULL, 
	title TEXT COLLATE "C", 
	link TEXT COLLATE "C", 
	published TEXT COLLATE "C", 
	updated TEXT COLLATE "C", 
	authors TEXT COLLATE "C", 
	categories TEXT COLLATE "C", 
	summary TEXT COLLATE "C", 
	content TEXT COLLATE "C", 
	content_type TEXT COLLATE "C", 
	enclosures TEXT COLLATE "C", 
	operation TEXT COLLATE "C", 
	document TEXT COLLATE "C", 
	document_updated TEXT COLLATE "C", 
	digest TEXT COLLATE "C" NOT NULL, 
	order_overrides INTEGER NOT NULL, 
	order_time TEXT COLLATE "C" NOT NULL, 
	order_tombstone INTEGER NOT NULL, 
	order_walk INTEGER NOT NULL, 
	order_step INTEGER NOT NULL, 
	order_position INTEGER NOT NULL, 
	document_time TEXT COLLATE "C", 
	original TEXT COLLATE "C", 
	added TEXT COLLATE "C", 
	details TEXT COLLATE "C" NOT NULL, 
	fetched TEXT COLLATE "C" NOT NULL, 
	first_seen TEXT COLLATE "C" NOT NULL, 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE versions (
	feed_id INTEGER NOT NULL, 
	id TEXT COLLATE "C" NOT NULL, 
	title TEXT COLLATE "C", 
	link TEXT COLLATE "C", 
	published TEXT COLLATE "C", 
	updated TEXT COLLATE "C", 
	authors TEXT COLLATE "C", 
	categories TEXT COLLATE "C", 
	summary TEXT COLLATE "C", 
	content TEXT COLLATE "C", 
	content_type TEXT COLLATE "C", 
	enclosures TEXT COLLATE "C", 
	operation TEXT COLLATE "C", 
	document TEXT COLLATE "C", 
	document_updated TEXT COLLATE "C", 
	digest TEXT COLLATE "C" NOT NULL, 
	order_overrides INTEGER NOT NULL, 
	order_time TEXT COLLATE "C" NOT NULL, 
	order_tombstone INTEGER NOT NULL, 
	order_walk INTEGER NOT NULL, 
	order_step INTEGER NOT NULL, 
	order_position INTEGER NOT NULL, 
	document_time TEXT COLLATE "C", 
	original TEXT COLLATE "C", 
	added TEXT COLLATE "C", 
	details TEXT COLLATE "C" NOT NULL, 
	fetched TEXT COLLATE "C" NOT NULL, 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE shared_ids (
	feed_id INTEGER NOT NULL, 
	id TEXT COLLATE "C" NOT NULL, 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE absences (
	feed_id INTEGER NOT NULL, 
	key BYTEA NOT NULL, 
	id TEXT COLLATE "C", 
	below BYTEA, 
	role TEXT COLLATE "C" NOT NULL, 
	walk INTEGER NOT NULL, 
	looked INTEGER NOT NULL, 
	since TEXT COLLATE "C" NOT NULL, 
	gone TEXT COLLATE "C", 
	UNIQUE (feed_id, key), 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE renames (
	feed_id INTEGER NOT NULL, 
	id TEXT COLLATE "C" NOT NULL, 
	former_id TEXT COLLATE "C", 
	since TEXT COLLATE "C" NOT NULL, 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE sitemap_posts (
	feed_id INTEGER NOT NULL, 
	url TEXT COLLATE "C" NOT NULL, 
	lastmod TEXT COLLATE "C", 
	etag TEXT COLLATE "C", 
	last_modified TEXT COLLATE "C", 
	validated_url TEXT COLLATE "C", 
	entry_id TEXT COLLATE "C", 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE heads (
	feed_id INTEGER NOT NULL, 
	original TEXT COLLATE "C" NOT NULL, 
	digest TEXT COLLATE "C" NOT NULL, 
	document TEXT COLLATE "C" NOT NULL, 
	PRIMARY KEY (feed_id), 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE coverage (
	feed_id INTEGER NOT NULL, 
	known TEXT COLLATE "C" NOT NULL, 
	shown INTEGER NOT NULL, 
	depth INTEGER NOT NULL, 
	since TEXT COLLATE "C" NOT NULL, 
	until TEXT COLLATE "C" NOT NULL, 
	earlier TEXT COLLATE "C" NOT NULL, 
	entries INTEGER NOT NULL, 
	seconds INTEGER NOT NULL, 
	burst_entries INTEGER NOT NULL, 
	burst_seconds INTEGER NOT NULL, 
	burst TEXT COLLATE "C", 
	PRIMARY KEY (feed_id), 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE changes (
	feed_id INTEGER NOT NULL, 
	id TEXT COLLATE "C" NOT NULL, 
	exported_digest TEXT COLLATE "C", 
	delivery INTEGER, 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE timemaps (
	id BIGSERIAL NOT NULL, 
	feed_id INTEGER NOT NULL, 
	archive TEXT COLLATE "C" NOT NULL, 
	url TEXT COLLATE "C" NOT NULL, 
	depth INTEGER NOT NULL, 
	read TEXT COLLATE "C", 
	retry_after TEXT COLLATE "C", 
	failed TEXT COLLATE "C", 
	PRIMARY KEY (id), 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE downloads (
	feed_id INTEGER NOT NULL, 
	key TEXT COLLATE "C" NOT NULL, 
	id TEXT COLLATE "C" NOT NULL, 
	url TEXT COLLATE "C" NOT NULL, 
	name TEXT COLLATE "C", 
	size BIGINT, 
	digest TEXT COLLATE "C", 
	time TEXT COLLATE "C", 
	etag TEXT COLLATE "C", 
	last_modified TEXT COLLATE "C", 
	UNIQUE (feed_id, key), 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
CREATE TABLE mementos (
	id BIGSERIAL NOT NULL, 
	feed_id INTEGER NOT NULL, 
	timemap_id BIGINT NOT NULL, 
	url TEXT COLLATE "C" NOT NULL, 
	time TEXT COLLATE "C" NOT NULL, 
	digest TEXT COLLATE "C" NOT NULL, 
	state TEXT COLLATE "C" NOT NULL, 
	captured TEXT COLLATE "C", 
	marks TEXT COLLATE "C", 
	oldest TEXT COLLATE "C", 
	PRIMARY KEY (id), 
	UNIQUE (timemap_id, digest), 
	FOREIGN KEY(feed_id) REFERENCES feeds (id), 
	FOREIGN KEY(timemap_id) REFERENCES timemaps (id)
);
CREATE INDEX timemaps_by_feed ON timemaps (feed_id);
CREATE INDEX mementos_by_feed ON mementos (feed_id);
CREATE INDEX aliases_by_feed ON aliases (feed_id);
CREATE INDEX sitemaps_by_site ON sitemaps ((CASE WHEN length(site) <= 500 THEN site ELSE left(site, 500) || md5(site) END));
CREATE INDEX feeds_by_run ON feeds (run);
CREATE INDEX feeds_by_location ON feeds ((CASE WHEN length(location) <= 500 THEN location ELSE left(location, 500) || md5(location) END));
CREATE INDEX captures_by_digest ON captures (digest);
CREATE INDEX renames_by_id ON renames (feed_id, (CASE WHEN length(id) <= 500 THEN id ELSE left(id, 500) || md5(id) END));
CREATE INDEX renames_by_former_id ON renames (feed_id, (CASE WHEN length(former_id) <= 500 THEN former_id ELSE left(former_id, 500) || md5(former_id) END));
CREATE UNIQUE INDEX feeds_by_url ON feeds ((CASE WHEN length(url) <= 500 THEN url ELSE left(url, 500) || md5(url) END));
CREATE UNIQUE INDEX feeds_by_address ON feeds ((CASE WHEN length(address) <= 500 THEN address ELSE left(address, 500) || md5(address) END));
CREATE UNIQUE INDEX aliases_by_address ON aliases ((CASE WHEN length(address) <= 500 THEN address ELSE left(address, 500) || md5(address) END));
CREATE UNIQUE INDEX sites_by_site ON sites ((CASE WHEN length(site) <= 500 THEN site ELSE left(site, 500) || md5(site) END));
CREATE UNIQUE INDEX sitemap_posts_by_url ON sitemap_posts (feed_id, (CASE WHEN length(url) <= 500 THEN url ELSE left(url, 500) || md5(url) END));
CREATE UNIQUE INDEX documents_by_key ON documents (feed_id, (CASE WHEN length(key) <= 500 THEN key ELSE left(key, 500) || md5(key) END));
CREATE UNIQUE INDEX entries_by_id ON entries (feed_id, (CASE WHEN length(id) <= 500 THEN id ELSE left(id, 500) || md5(id) END));
CREATE UNIQUE INDEX versions_by_id ON versions (feed_id, (CASE WHEN length(id) <= 500 THEN id ELSE left(id, 500) || md5(id) END), digest);
CREATE UNIQUE INDEX shared_ids_by_id ON shared_ids (feed_id, (CASE WHEN length(id) <= 500 THEN id ELSE left(id, 500) || md5(id) END));
CREATE UNIQUE INDEX changes_by_id ON changes (feed_id, (CASE WHEN length(id) <= 500 THEN id ELSE left(id, 500) || md5(id) END));
CREATE UNIQUE INDEX captures_by_url ON captures ((CASE WHEN length(url) <= 500 THEN url ELSE left(url, 500) || md5(url) END));
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
    LEFT JOIN entries ON entries.feed_id = versions.feed_id AND (CASE WHEN length(entries.id) <= 500 THEN entries.id ELSE left(entries.id, 500) || md5(entries.id) END) = (CASE WHEN length(versions.id) <= 500 THEN versions.id ELSE left(versions.id, 500) || md5(versions.id) END))
 AS entries;
CREATE VIEW deleted_entries AS SELECT feed, feed_title, entries.id, entries.title, entries.link,
    entries.published, entries.updated, entries.authors, entries.categories, entries.summary, entries.content,
    entries.content_type, entries.enclosures, entries.operation, entries.document, entries.document_updated,
    entries.added, entries.first_seen, entries.fetched, entries.deleted, entries.state
FROM 
(SELECT entries.*, CASE WHEN entries.digest = '' THEN coalesce(nullif(entries.order_time, '') || 'Z', entries.fetched) END AS deleted, 'deleted' AS state, feeds.url AS feed, feeds.title AS feed_title
FROM entries JOIN feeds ON feeds.id = entries.feed_id
WHERE entries.digest = '' AND entries.order_walk > -2147483648 AND NOT EXISTS (SELECT 1 FROM renames
    WHERE renames.feed_id = entries.feed_id AND (CASE WHEN length(renames.former_id) <= 500 THEN renames.former_id ELSE left(renames.former_id, 500) || md5(renames.former_id) END) = (CASE WHEN length(entries.id) <= 500 THEN entries.id ELSE left(entries.id, 500) || md5(entries.id) END))
UNION ALL SELECT entries.*, absences.since, 'absent', feeds.url AS feed, feeds.title AS feed_title
FROM absences JOIN feeds ON feeds.id = absences.feed_id
    JOIN entries ON entries.feed_id = absences.feed_id AND (CASE WHEN length(entries.id) <= 500 THEN entries.id ELSE left(entries.id, 500) || md5(entries.id) END) = (CASE WHEN length(absences.id) <= 500 THEN absences.id ELSE left(absences.id, 500) || md5(absences.id) END)
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
CREATE VIEW gaps AS SELECT feeds.url AS feed, feeds.title AS feed_title, reason.value ->> 'url' AS url, reason.value ->> 'kind' AS kind,
    reason.value ->> 'detail' AS detail, reason.value ->> 'since' AS since
FROM feeds, json_array_elements(CAST(feeds.reasons AS json)) AS reason
WHERE reason.value ->> 'kind' NOT IN ('not-read', 'only-captures', 'paged', 'no-history', 'holes', 'platform') AND reason.value ->> 'last_read' IS NULL;

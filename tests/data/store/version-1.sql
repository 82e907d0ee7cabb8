-- A store of schema version 1, as the first fhcrawl wrote it: six feeds, of eight runs; the first six were exported.
-- http://feeds.invalid stands for the server, FOLDER for the exports'. The last run died while it delivered.
BEGIN TRANSACTION;
CREATE TABLE changes (
	feed_id INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	exported_digest TEXT, 
	UNIQUE (feed_id, id), 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
INSERT INTO "changes" VALUES(1,'archived 4',NULL);
INSERT INTO "changes" VALUES(1,'archived 3','e95e31915b8a9602819b8e1e3888f11f');
INSERT INTO "changes" VALUES(6,'complete 2','e95e31915b8a9602819b8e1e3888f11f');
INSERT INTO "changes" VALUES(6,'complete 1','e95e31915b8a9602819b8e1e3888f11f');
CREATE TABLE deliveries (
	id INTEGER NOT NULL, 
	run INTEGER NOT NULL, 
	files TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "deliveries" VALUES(1,8,'[["FOLDER/.out.jsonl.4711.part", "FOLDER/out.jsonl", 4711, 10, 1]]');
CREATE TABLE documents (
	id INTEGER NOT NULL, 
	feed_id INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	url TEXT NOT NULL, 
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
	PRIMARY KEY (id), 
	UNIQUE (feed_id, "key"), 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
INSERT INTO "documents" VALUES(1,1,'http://feeds.invalid/archived/2','http://feeds.invalid/archived/2','archive','processed',1,-1,3,1,'2003-12-13T18:30:02Z',0,NULL,NULL,NULL,'2026-11-20T06:56:38Z');
INSERT INTO "documents" VALUES(2,1,'http://feeds.invalid/archived','http://feeds.invalid/archived','subscription','processed',2,0,1,7,'2004-01-02T00:00:00Z',0,NULL,NULL,NULL,'2026-11-20T06:56:46Z');
INSERT INTO "documents" VALUES(3,1,'http://feeds.invalid/archived/1','http://feeds.invalid/archived/1','archive','failed',1,-2,NULL,7,NULL,0,'http-500','cannot be fetched: the server answers 500','2026-11-20T06:56:38Z','2026-11-20T06:56:46Z');
INSERT INTO "documents" VALUES(4,2,'http://feeds.invalid/limited/2','http://feeds.invalid/limited/2','archive','processed',1,-1,6,2,'2003-12-13T18:30:02Z',0,NULL,NULL,NULL,'2026-11-20T06:56:39Z');
INSERT INTO "documents" VALUES(5,2,'http://feeds.invalid/limited','http://feeds.invalid/limited','subscription','processed',1,0,4,2,'2003-12-13T18:30:02Z',0,NULL,NULL,NULL,'2026-11-20T06:56:39Z');
INSERT INTO "documents" VALUES(6,2,'http://feeds.invalid/limited/1','http://feeds.invalid/limited/1','archive','known',1,-2,NULL,2,NULL,0,'limit','was left for a later run: stopped at 1 archives, as FHCRAWL_MAX_ARCHIVES asks','2026-11-20T06:56:39Z','2026-11-20T06:56:39Z');
INSERT INTO "documents" VALUES(7,3,'http://feeds.invalid/gone/2','http://feeds.invalid/gone/2','archive','processed',1,-1,9,3,'2003-12-13T18:30:02Z',0,NULL,NULL,NULL,'2026-11-20T06:56:41Z');
INSERT INTO "documents" VALUES(8,3,'http://feeds.invalid/gone','http://feeds.invalid/gone','subscription','processed',1,0,7,3,'2003-12-13T18:30:02Z',0,NULL,NULL,NULL,'2026-11-20T06:56:41Z');
INSERT INTO "documents" VALUES(9,3,'http://feeds.invalid/gone/1','http://feeds.invalid/gone/1','archive','missing',1,-2,NULL,3,NULL,0,'http-404','is not there (404)','2026-11-20T06:56:41Z','2026-11-20T06:56:41Z');
INSERT INTO "documents" VALUES(10,4,'http://feeds.invalid/forbidden/2','http://feeds.invalid/forbidden/2','archive','processed',1,-1,12,4,'2003-12-13T18:30:02Z',0,NULL,NULL,NULL,'2026-11-20T06:56:42Z');
INSERT INTO "documents" VALUES(11,4,'http://feeds.invalid/forbidden','http://feeds.invalid/forbidden','subscription','processed',1,0,10,4,'2003-12-13T18:30:02Z',0,NULL,NULL,NULL,'2026-11-20T06:56:42Z');
INSERT INTO "documents" VALUES(12,4,'http://feeds.invalid/forbidden/1','http://feeds.invalid/forbidden/1','archive','refused',1,-2,NULL,4,NULL,0,'http-403','is refused by its server (403)','2026-11-20T06:56:42Z','2026-11-20T06:56:42Z');
INSERT INTO "documents" VALUES(13,5,'http://feeds.invalid/broken/2','http://feeds.invalid/broken/2','archive','processed',1,-1,15,5,'2003-12-13T18:30:02Z',0,NULL,NULL,NULL,'2026-11-20T06:56:43Z');
INSERT INTO "documents" VALUES(14,5,'http://feeds.invalid/broken','http://feeds.invalid/broken','subscription','processed',1,0,13,5,'2003-12-13T18:30:02Z',0,NULL,NULL,NULL,'2026-11-20T06:56:43Z');
INSERT INTO "documents" VALUES(15,5,'http://feeds.invalid/broken/1','http://feeds.invalid/broken/1','archive','invalid',1,-2,NULL,5,NULL,0,'html','is not a feed: it is an HTML page, not a feed','2026-11-20T06:56:43Z','2026-11-20T06:56:43Z');
INSERT INTO "documents" VALUES(16,6,'http://feeds.invalid/complete','http://feeds.invalid/complete','subscription','processed',2,0,NULL,8,'2004-01-02T00:00:00Z',0,NULL,NULL,NULL,'2026-11-20T06:56:47Z');
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
	order_time TEXT NOT NULL, 
	order_tombstone INTEGER NOT NULL, 
	order_document_time TEXT NOT NULL, 
	order_walk INTEGER NOT NULL, 
	order_step INTEGER NOT NULL, 
	order_position INTEGER NOT NULL, 
	UNIQUE (feed_id, id), 
	FOREIGN KEY(feed_id) REFERENCES feeds (id)
);
INSERT INTO "entries" VALUES(1,'archived 3','title',NULL,NULL,'2004-01-02T00:00:00Z','[]','[]','revised',NULL,NULL,'[]',NULL,'http://feeds.invalid/archived','2004-01-02T00:00:00Z','4e07e24a179cbd8a496865b87cb9ed5b','2004-01-02T00:00:00',0,'2004-01-02T00:00:00',2,0,-1);
INSERT INTO "entries" VALUES(1,'archived 2','title',NULL,NULL,'2003-12-13T18:30:02Z','[]','[]','text',NULL,NULL,'[]',NULL,'http://feeds.invalid/archived/2','2003-12-13T18:30:02Z','e95e31915b8a9602819b8e1e3888f11f','2003-12-13T18:30:02',0,'2003-12-13T18:30:02',1,-1,0);
INSERT INTO "entries" VALUES(2,'limited 3','title',NULL,NULL,'2003-12-13T18:30:02Z','[]','[]','text',NULL,NULL,'[]',NULL,'http://feeds.invalid/limited','2003-12-13T18:30:02Z','e95e31915b8a9602819b8e1e3888f11f','2003-12-13T18:30:02',0,'2003-12-13T18:30:02',1,0,0);
INSERT INTO "entries" VALUES(2,'limited 2','title',NULL,NULL,'2003-12-13T18:30:02Z','[]','[]','text',NULL,NULL,'[]',NULL,'http://feeds.invalid/limited/2','2003-12-13T18:30:02Z','e95e31915b8a9602819b8e1e3888f11f','2003-12-13T18:30:02',0,'2003-12-13T18:30:02',1,-1,0);
INSERT INTO "entries" VALUES(3,'gone 3','title',NULL,NULL,'2003-12-13T18:30:02Z','[]','[]','text',NULL,NULL,'[]',NULL,'http://feeds.invalid/gone','2003-12-13T18:30:02Z','e95e31915b8a9602819b8e1e3888f11f','2003-12-13T18:30:02',0,'2003-12-13T18:30:02',1,0,0);
INSERT INTO "entries" VALUES(3,'gone 2','title',NULL,NULL,'2003-12-13T18:30:02Z','[]','[]','text',NULL,NULL,'[]',NULL,'http://feeds.invalid/gone/2','2003-12-13T18:30:02Z','e95e31915b8a9602819b8e1e3888f11f','2003-12-13T18:30:02',0,'2003-12-13T18:30:02',1,-1,0);
INSERT INTO "entries" VALUES(4,'forbidden 3','title',NULL,NULL,'2003-12-13T18:30:02Z','[]','[]','text',NULL,NULL,'[]',NULL,'http://feeds.invalid/forbidden','2003-12-13T18:30:02Z','e95e31915b8a9602819b8e1e3888f11f','2003-12-13T18:30:02',0,'2003-12-13T18:30:02',1,0,0);
INSERT INTO "entries" VALUES(4,'forbidden 2','title',NULL,NULL,'2003-12-13T18:30:02Z','[]','[]','text',NULL,NULL,'[]',NULL,'http://feeds.invalid/forbidden/2','2003-12-13T18:30:02Z','e95e31915b8a9602819b8e1e3888f11f','2003-12-13T18:30:02',0,'2003-12-13T18:30:02',1,-1,0);
INSERT INTO "entries" VALUES(5,'broken 3','title',NULL,NULL,'2003-12-13T18:30:02Z','[]','[]','text',NULL,NULL,'[]',NULL,'http://feeds.invalid/broken','2003-12-13T18:30:02Z','e95e31915b8a9602819b8e1e3888f11f','2003-12-13T18:30:02',0,'2003-12-13T18:30:02',1,0,0);
INSERT INTO "entries" VALUES(5,'broken 2','title',NULL,NULL,'2003-12-13T18:30:02Z','[]','[]','text',NULL,NULL,'[]',NULL,'http://feeds.invalid/broken/2','2003-12-13T18:30:02Z','e95e31915b8a9602819b8e1e3888f11f','2003-12-13T18:30:02',0,'2003-12-13T18:30:02',1,-1,0);
INSERT INTO "entries" VALUES(6,'complete 1','title',NULL,NULL,'2003-12-13T18:30:02Z','[]','[]','text',NULL,NULL,'[]',NULL,'http://feeds.invalid/complete','2003-12-13T18:30:02Z','','',0,'',2,0,0);
INSERT INTO "entries" VALUES(6,'complete 2','title',NULL,NULL,'2004-01-02T00:00:00Z','[]','[]','revised',NULL,NULL,'[]',NULL,'http://feeds.invalid/complete','2004-01-02T00:00:00Z','4e07e24a179cbd8a496865b87cb9ed5b','2004-01-02T00:00:00',0,'2004-01-02T00:00:00',2,0,0);
INSERT INTO "entries" VALUES(1,'archived 4','title',NULL,NULL,'2004-01-02T00:00:00Z','[]','[]','text',NULL,NULL,'[]',NULL,'http://feeds.invalid/archived','2004-01-02T00:00:00Z','e95e31915b8a9602819b8e1e3888f11f','2004-01-02T00:00:00',0,'2004-01-02T00:00:00',2,0,0);
CREATE TABLE feeds (
	id INTEGER NOT NULL, 
	url TEXT NOT NULL, 
	location TEXT NOT NULL, 
	title TEXT, 
	kind TEXT, 
	walk INTEGER NOT NULL, 
	run INTEGER NOT NULL, 
	since TEXT NOT NULL, 
	crawled TEXT, 
	etag TEXT, 
	last_modified TEXT, 
	body_digest TEXT, 
	subscription_id INTEGER, 
	PRIMARY KEY (id), 
	UNIQUE (url)
);
INSERT INTO "feeds" VALUES(1,'http://feeds.invalid/archived','http://feeds.invalid/archived','archived','archived',2,7,'2026-11-20T06:56:38Z','2026-11-20T06:56:46Z','"bb08e2f25eeb"',NULL,'bb08e2f25eeb5b58c5de5a9c978710a20615e53742b795259fea038552525869',2);
INSERT INTO "feeds" VALUES(2,'http://feeds.invalid/limited','http://feeds.invalid/limited','limited','archived',1,2,'2026-11-20T06:56:39Z','2026-11-20T06:56:39Z','"a8e4e15baecb"',NULL,'a8e4e15baecb6b6081b4f8ce2b4c5e9e4d7f388093f64f9409979884bc0d0827',5);
INSERT INTO "feeds" VALUES(3,'http://feeds.invalid/gone','http://feeds.invalid/gone','gone','archived',1,3,'2026-11-20T06:56:41Z','2026-11-20T06:56:41Z','"67323e7b9afe"',NULL,'67323e7b9afee46eb8b2013fb83d80393800f9ddb98b3887a9c966d865dc8eda',8);
INSERT INTO "feeds" VALUES(4,'http://feeds.invalid/forbidden','http://feeds.invalid/forbidden','forbidden','archived',1,4,'2026-11-20T06:56:42Z','2026-11-20T06:56:42Z','"d6e1092e91af"',NULL,'d6e1092e91af10758b784fba2b20a76e4737a7e8569e175fcae2187f935b216c',11);
INSERT INTO "feeds" VALUES(5,'http://feeds.invalid/broken','http://feeds.invalid/broken','broken','archived',1,5,'2026-11-20T06:56:43Z','2026-11-20T06:56:43Z','"b39a9b7d318d"',NULL,'b39a9b7d318deef9818a7201ee435ffa6301a33d620178f2c2fcb6bfaa898576',14);
INSERT INTO "feeds" VALUES(6,'http://feeds.invalid/complete','http://feeds.invalid/complete','complete','complete',2,8,'2026-11-20T06:56:44Z','2026-11-20T06:56:47Z','"bb03bde40dd6"',NULL,'bb03bde40dd63d20ab1d5548089ee11c6dc0f3216341b6c13a28fa5eb44a094c',16);
CREATE TABLE store (
	schema_version INTEGER NOT NULL, 
	runs INTEGER NOT NULL
);
INSERT INTO "store" VALUES(1,8);
CREATE INDEX feeds_by_run ON feeds (run);
COMMIT;

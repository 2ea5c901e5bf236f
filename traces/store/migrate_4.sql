-- From version 4 to 5: the operations of long runs as pages.
CREATE TABLE pages(run_id INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, content TEXT NOT NULL CHECK(content IN('ops','waits')), first INTEGER NOT NULL, count INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY(run_id,content,first)) STRICT;
PRAGMA user_version=5;

-- From version 3 to 4: what the checks did not look at; the verdict's word; of a finding the one it follows from.
CREATE TABLE coverage(run_id INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, ord INTEGER NOT NULL, check_name TEXT NOT NULL, count INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY(run_id,ord)) STRICT, WITHOUT ROWID;
ALTER TABLE runs ADD COLUMN word TEXT;
ALTER TABLE findings ADD COLUMN root INTEGER;
ALTER TABLE findings ADD COLUMN because TEXT;
CREATE VIEW v_coverage AS SELECT c.run_id,r.scenario,c.check_name,c.count,c.text FROM coverage c JOIN runs r ON r.run_id=c.run_id;
PRAGMA user_version=4;

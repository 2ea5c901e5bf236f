-- From version 3 to 4: what the checks did not look at; the verdict's word; of a finding the one it follows from.
CREATE TABLE coverage(run_id INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, ord INTEGER NOT NULL, check_name TEXT NOT NULL, count INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY(run_id,ord)) STRICT, WITHOUT ROWID;
CREATE TABLE folds(run_id INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, op_id INTEGER NOT NULL, body INTEGER NOT NULL, times INTEGER NOT NULL, before INTEGER NOT NULL, PRIMARY KEY(run_id,op_id)) STRICT, WITHOUT ROWID;
ALTER TABLE gradients ADD COLUMN undecided TEXT;
ALTER TABLE gradients ADD COLUMN elements INTEGER NOT NULL DEFAULT 1;
ALTER TABLE runs ADD COLUMN word TEXT;
ALTER TABLE findings ADD COLUMN root INTEGER;
ALTER TABLE findings ADD COLUMN because TEXT;
CREATE VIEW v_coverage AS SELECT c.run_id,r.scenario,c.check_name,c.count,c.text FROM coverage c JOIN runs r ON r.run_id=c.run_id;
DROP VIEW v_runs;
DROP VIEW v_findings;
DROP VIEW v_new_findings;
CREATE VIEW v_runs AS SELECT r.run_id, r.scenario, r.variant, r.ranks, r.seed, r.schedule, coalesce(r.outcome,'running') AS outcome, datetime(r.started_ns/1000000000,'unixepoch') AS started, (r.ended_ns-r.started_ns)/1e6 AS ms, (SELECT count(*) FROM findings f WHERE f.run_id=r.run_id AND severity='error' AND f.root IS NULL AND NOT coalesce(f.allowed,0)) AS errors, (SELECT sum(ok) FROM gradients g WHERE g.run_id=r.run_id) AS grads_ok, (SELECT count(*) FROM gradients g WHERE g.run_id=r.run_id) AS grads, (SELECT max(rel_err) FROM gradients g WHERE g.run_id=r.run_id) AS worst_rel FROM runs r;
CREATE VIEW v_findings AS SELECT f.run_id,r.scenario,f.code,f.severity,f.title,s.file||':'||s.line AS site,f.models,f.allowed,f.fingerprint FROM findings f JOIN runs r ON r.run_id=f.run_id LEFT JOIN sites s ON s.site_id=f.site_id WHERE f.root IS NULL;
CREATE VIEW v_new_findings AS SELECT f.* FROM findings f WHERE f.root IS NULL AND NOT EXISTS(SELECT 1 FROM findings g JOIN runs a ON a.run_id=g.run_id JOIN runs b ON b.run_id=f.run_id WHERE g.fingerprint=f.fingerprint AND a.scenario=b.scenario AND a.started_ns<b.started_ns);
CREATE VIEW v_consequences AS SELECT f.run_id,r.scenario,f.because,g.title AS root_title,f.code,f.severity,f.title,f.fingerprint FROM findings f JOIN findings g ON g.finding_id=f.root JOIN runs r ON r.run_id=f.run_id;
CREATE VIEW v_loops AS SELECT f.run_id,o.rank,o.seq,f.body,f.before/f.body AS before,f.times,s.file||':'||s.line AS site FROM folds f JOIN ops o ON o.op_id=f.op_id LEFT JOIN sites s ON s.site_id=o.site_id;
PRAGMA user_version=4;

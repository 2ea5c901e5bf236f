-- From version 2 to 3: the step at which a metric was taken; the thread that issued an operation.
ALTER TABLE metrics ADD COLUMN step ANY;
ALTER TABLE ops ADD COLUMN thread INTEGER;
PRAGMA user_version=3;

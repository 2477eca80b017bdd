-- What the servers may do in a collection. As its owner, when `toolkit open` has made the tables, and again after `toolkit migrate`:
-- psql -U survey_owner survey -f grants.sql
-- Change: survey_web, campus.

REVOKE ALL ON ALL TABLES IN SCHEMA campus FROM survey_web;

-- The survey, its state and its settings can be read, not changed.
GRANT SELECT ON campus.collection, campus.edition, campus.setting TO survey_web;

-- Each server counts what it stored in a row of its own; the lock under which servers decide one after the other is on this table, too.
GRANT SELECT, INSERT, UPDATE ON campus.tally TO survey_web;

-- Reports can be added, and looked for by their key when a phone sends again; not read, not changed, not removed.
-- The last few with single-use links wait in the pool, where they can be read.
GRANT SELECT (key), INSERT ON campus.report TO survey_web;
GRANT SELECT, UPDATE (content) ON campus.pool TO survey_web;

-- Tokens can be used up, not made.
GRANT SELECT ON campus.invited TO survey_web;
GRANT SELECT, INSERT ON campus.spent TO survey_web;

-- Signatures of blind access, which are written afresh now and then so that their order is lost.
GRANT SELECT, INSERT, DELETE ON campus.issued TO survey_web;

-- Privileges of the servers in a collection. Run as its owner, after `toolkit open` has created the tables, and again after `toolkit migrate`:
-- psql -U survey_owner survey -f grants.sql
-- Change: survey_web, campus.

REVOKE ALL ON ALL TABLES IN SCHEMA campus FROM survey_web;

-- The survey, its state and its settings can be read, but not changed.
GRANT SELECT ON campus.collection, campus.edition, campus.setting TO survey_web;

-- Each server counts its stored reports in its own row. Servers also lock this table when they must decide one after the other.
GRANT SELECT, INSERT, UPDATE ON campus.tally TO survey_web;

-- Reports can be added, and looked up by key when a phone sends again, but not read, changed or removed.
-- With single-use links, the latest few reports wait in the pool, where they can be read.
GRANT SELECT (key), INSERT ON campus.report TO survey_web;
GRANT SELECT, UPDATE (content) ON campus.pool TO survey_web;

-- Tokens can be used up, but not created.
GRANT SELECT ON campus.invited TO survey_web;
GRANT SELECT, INSERT ON campus.spent TO survey_web;

-- Signatures of blind access. They are rewritten from time to time, so that their order is lost.
GRANT SELECT, INSERT, DELETE ON campus.issued TO survey_web;

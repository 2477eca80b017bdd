-- What the servers may do in a collection. As its owner, when `toolkit open` has made the tables, and again after an upgrade of them:
-- psql -U survey_owner survey -f grants.sql
-- Change: survey_web, campus.

REVOKE ALL ON ALL TABLES IN SCHEMA campus FROM survey_web;

-- The survey and its state can be read and locked, not changed: to lock a row one must be allowed to update some column of it,
-- and `version` can hold nothing but what it holds.
GRANT SELECT, UPDATE (version) ON campus.collection TO survey_web;
GRANT SELECT, UPDATE (reports) ON campus.tally TO survey_web;
GRANT SELECT ON campus.setting TO survey_web;

-- Reports can be added, and looked for when a phone sends again; not changed, not removed.
GRANT SELECT, INSERT ON campus.report TO survey_web;

-- Tokens can be used up, not made.
GRANT SELECT, DELETE ON campus.unspent TO survey_web;
GRANT SELECT, INSERT ON campus.spent TO survey_web;

-- Signatures of blind access, which are written afresh now and then so that their order is lost.
GRANT SELECT, INSERT, DELETE ON campus.issued TO survey_web;

-- What the servers may do in a collection. As its owner, when `toolkit open` has made the tables, and again after an upgrade of them:
-- psql -U survey_owner survey -f grants.sql
-- Change: survey_web, campus.

REVOKE ALL ON ALL TABLES IN SCHEMA campus FROM survey_web;

-- The survey, its pages and its state can be read, not changed.
GRANT SELECT ON campus.collection, campus.edition, campus.setting TO survey_web;

-- Reports can be counted and added, and looked for when a phone sends again; not changed, not removed.
GRANT SELECT, INSERT, UPDATE ON campus.tally TO survey_web;
GRANT SELECT, INSERT ON campus.report TO survey_web;

-- The last people's reports and passes wait in one row, mixed, until enough have come.
GRANT SELECT, UPDATE (content) ON campus.pool TO survey_web;

-- Tokens can be looked up and used up, not made.
GRANT SELECT ON campus.invited TO survey_web;
GRANT SELECT, INSERT ON campus.spent TO survey_web;

-- Signatures of blind access, which are written afresh now and then so that their order is lost.
GRANT SELECT, INSERT, DELETE ON campus.issued TO survey_web;

-- Two roles for one collection: its owner, who makes, invites, pauses, closes, reads and deletes; and the servers, which store reports.
-- As a superuser, in the database of the collection, once: psql survey -f roles.sql
-- Change: survey_owner, survey_web, campus (the collection's schema). Set passwords with \password, so that they stand in no file.

CREATE ROLE survey_owner LOGIN;
CREATE ROLE survey_web LOGIN CONNECTION LIMIT 10;

-- The owner needs no right to make schemas: this one is enough. Nobody else sees into it.
CREATE SCHEMA campus AUTHORIZATION survey_owner;
GRANT USAGE ON SCHEMA campus TO survey_web;

-- What would keep the time of every report stays off for these two, whatever is the custom of this server.
ALTER ROLE survey_web SET log_statement = 'none';
ALTER ROLE survey_web SET log_min_duration_statement = -1;
ALTER ROLE survey_web SET log_min_error_statement = 'panic';
ALTER ROLE survey_web SET log_duration = off;
ALTER ROLE survey_owner SET log_statement = 'none';
ALTER ROLE survey_owner SET log_min_duration_statement = -1;
ALTER ROLE survey_owner SET log_min_error_statement = 'panic';
ALTER ROLE survey_owner SET log_duration = off;

-- Then, as the owner: toolkit open survey.toml --database 'postgresql://survey_owner@host/survey?schema=campus'
-- and last, as the owner: psql -U survey_owner survey -f grants.sql

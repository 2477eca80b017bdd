-- Two roles for one collection: its owner, who opens, invites, pauses, closes, reads and deletes; and the servers, which store reports.
-- Run once as a superuser, in the database of the collection: psql survey -f roles.sql
-- Change: survey_owner, survey_web, campus (the collection's schema). Set passwords with \password, so that no file contains them.

CREATE ROLE survey_owner LOGIN;
CREATE ROLE survey_web LOGIN CONNECTION LIMIT 10;

-- The owner needs no permission to create schemas, because this schema is enough. No other role can read it.
CREATE SCHEMA campus AUTHORIZATION survey_owner;
GRANT USAGE ON SCHEMA campus TO survey_web;

-- Logs that would record the time of every report are off for both roles, whatever the settings of this PostgreSQL server are.
ALTER ROLE survey_web SET log_statement = 'none';
ALTER ROLE survey_web SET log_min_duration_statement = -1;
ALTER ROLE survey_web SET log_min_error_statement = 'panic';
ALTER ROLE survey_web SET log_duration = off;
ALTER ROLE survey_owner SET log_statement = 'none';
ALTER ROLE survey_owner SET log_min_duration_statement = -1;
ALTER ROLE survey_owner SET log_min_error_statement = 'panic';
ALTER ROLE survey_owner SET log_duration = off;

-- Then run as the owner: toolkit open survey.toml --database 'postgresql://survey_owner@host/survey?schema=campus'
-- and finally, as the owner: psql -U survey_owner survey -f grants.sql

import type { Step } from './migration.ts';

/**
 * The feed: events get their position after their commit, one round at a time. Deliveries show their last attempt, are
 * listed by endpoint, type and answer, and those of a recovery wait in a queue of their own. The indexes with the answer
 * class are created before those without it, because of two equally good indexes SQLite takes the older one.
 */
export const eventFeed: Step = {
  name: 'event feed',
  sql: `
ALTER TABLE events ADD COLUMN feed_position BIGINT;
CREATE INDEX events_unplaced ON events (created, sequence, id) WHERE feed_position IS NULL;
CREATE UNIQUE INDEX events_position ON events (feed_position) WHERE feed_position IS NOT NULL;
CREATE INDEX events_feed ON events (environment, type, feed_position) WHERE feed_position IS NOT NULL;

CREATE TABLE feed_lock (
  id BIGINT PRIMARY KEY,
  rounds BIGINT NOT NULL
);
INSERT INTO feed_lock (id, rounds) VALUES (1, 0);

ALTER TABLE deliveries ADD COLUMN last_started BIGINT;
ALTER TABLE deliveries ADD COLUMN last_duration_ms BIGINT;
ALTER TABLE deliveries ADD COLUMN last_status_code BIGINT;
ALTER TABLE deliveries ADD COLUMN last_failure TEXT;
ALTER TABLE deliveries ADD COLUMN answer_class TEXT;
ALTER TABLE deliveries ADD COLUMN recover_at BIGINT;
UPDATE deliveries
  SET last_started = log.started, last_duration_ms = log.duration_ms,
    last_status_code = log.status_code, last_failure = log.failure,
    answer_class = CASE
      WHEN deliveries.status = 'delivered' THEN NULL
      WHEN log.status_code IS NULL THEN 'none'
      WHEN log.status_code >= 500 THEN '5xx'
      WHEN log.status_code >= 400 THEN '4xx'
      WHEN log.status_code >= 300 THEN '3xx'
      ELSE '2xx' END
  FROM delivery_attempts AS log
  WHERE log.delivery_id = deliveries.id AND log.number = (
    SELECT MAX(newest.number) FROM delivery_attempts AS newest WHERE newest.delivery_id = deliveries.id);
DROP INDEX deliveries_due;
DROP INDEX deliveries_status;
CREATE INDEX deliveries_due ON deliveries (endpoint_id, due_at, id) WHERE status = 'pending' AND recover_at IS NULL;
CREATE INDEX deliveries_recovery ON deliveries (endpoint_id, recover_at, sequence, event_id) WHERE recover_at IS NOT NULL;
CREATE INDEX deliveries_answer ON deliveries (environment, answer_class, type, status, id) WHERE answer_class IS NOT NULL;
CREATE INDEX deliveries_endpoint_answer ON deliveries (endpoint_id, answer_class, type, status, id)
  WHERE answer_class IS NOT NULL;
CREATE INDEX deliveries_type ON deliveries (environment, type, status, id);
CREATE INDEX deliveries_endpoint ON deliveries (endpoint_id, type, status, id);

CREATE TABLE recoveries (
  id TEXT PRIMARY KEY,
  endpoint_id TEXT NOT NULL REFERENCES webhook_endpoints (id),
  environment TEXT NOT NULL,
  version BIGINT NOT NULL,
  status TEXT NOT NULL,
  from_time BIGINT NOT NULL,
  until_time BIGINT NOT NULL,
  everything BIGINT NOT NULL,
  read_created BIGINT NOT NULL,
  read_sequence BIGINT NOT NULL,
  read_id TEXT NOT NULL,
  queued BIGINT NOT NULL,
  pending BIGINT NOT NULL,
  delivered BIGINT NOT NULL,
  created BIGINT NOT NULL,
  updated BIGINT NOT NULL
);
CREATE INDEX recoveries_running ON recoveries (updated, id) WHERE status = 'running';
`,
};

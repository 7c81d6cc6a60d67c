import type { Step } from './migration.ts';

/** API keys with their hash only, and the spending of agent keys, one row per day. */
export const apiKeys: Step = {
  name: 'api keys',
  sql: `
CREATE TABLE api_keys (
  id TEXT PRIMARY KEY,
  environment TEXT NOT NULL,
  name TEXT NOT NULL,
  scope TEXT NOT NULL,
  key_hash TEXT NOT NULL,
  last4 TEXT NOT NULL,
  spend_per_checkout BIGINT,
  spend_per_day BIGINT,
  source TEXT NOT NULL,
  created BIGINT NOT NULL,
  last_used_at BIGINT,
  revoked_at BIGINT
);
CREATE UNIQUE INDEX api_keys_hash ON api_keys (key_hash);
CREATE INDEX api_keys_environment ON api_keys (environment, id);

CREATE TABLE api_key_spend (
  key_id TEXT NOT NULL REFERENCES api_keys (id),
  day TEXT NOT NULL,
  amount BIGINT NOT NULL,
  PRIMARY KEY (key_id, day)
);
`,
};

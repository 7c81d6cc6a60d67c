/** Tables of API keys, which store only a hash of each key, and of the spending of agent keys, with one row per key and day. */
export const accessSchema = `
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

CREATE TABLE test_clock (
  id BIGINT PRIMARY KEY,
  version BIGINT NOT NULL,
  offset_ms BIGINT NOT NULL,
  goal_ms BIGINT NOT NULL,
  target BIGINT,
  holder TEXT,
  held_until BIGINT NOT NULL
);
`;

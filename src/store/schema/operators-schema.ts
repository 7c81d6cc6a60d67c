/**
 * Tables of the operators of the dashboard: passkeys, invitations, logins, challenges, failed logins and the refunds of role support.
 * Changes that remove an admin lock the only row of `operator_lock`, so that two of them never remove the last two admins.
 */
export const operatorsSchema = `
CREATE TABLE operators (
  id TEXT PRIMARY KEY, version BIGINT NOT NULL, email TEXT NOT NULL, sandbox_role TEXT, production_role TEXT,
  password_hash TEXT, totp_sealed TEXT, totp_step BIGINT NOT NULL,
  created BIGINT NOT NULL, joined_at BIGINT, last_login_at BIGINT
);
CREATE UNIQUE INDEX operators_email ON operators (email);
CREATE INDEX operators_joined ON operators (joined_at) WHERE joined_at IS NOT NULL;
CREATE INDEX operators_production ON operators (production_role);
CREATE TABLE operator_lock (id BIGINT PRIMARY KEY);
CREATE TABLE operator_passkeys (
  id TEXT PRIMARY KEY, operator_id TEXT NOT NULL REFERENCES operators (id), public_key TEXT NOT NULL, counter BIGINT NOT NULL,
  created BIGINT NOT NULL, last_used_at BIGINT
);
CREATE INDEX operator_passkeys_operator ON operator_passkeys (operator_id, created);
CREATE TABLE operator_invites (
  id TEXT PRIMARY KEY, operator_id TEXT NOT NULL REFERENCES operators (id), expires_at BIGINT NOT NULL
);
CREATE INDEX operator_invites_operator ON operator_invites (operator_id);
CREATE TABLE operator_sessions (
  id TEXT PRIMARY KEY, owner_id TEXT NOT NULL, created BIGINT NOT NULL, last_active_at BIGINT NOT NULL, proven_at BIGINT NOT NULL, ended_at BIGINT, address TEXT NOT NULL
);
CREATE INDEX operator_sessions_owner ON operator_sessions (owner_id, last_active_at) WHERE ended_at IS NULL;
CREATE INDEX operator_sessions_active ON operator_sessions (last_active_at);
CREATE TABLE operator_challenges (id TEXT PRIMARY KEY, purpose TEXT NOT NULL, expires_at BIGINT NOT NULL);
CREATE INDEX operator_challenges_expiry ON operator_challenges (expires_at);
CREATE TABLE operator_login_failures (name_hash TEXT PRIMARY KEY, failures BIGINT NOT NULL, last_at BIGINT NOT NULL);
CREATE INDEX operator_login_failures_last ON operator_login_failures (last_at);
CREATE TABLE operator_spend (
  operator_id TEXT NOT NULL REFERENCES operators (id), environment TEXT NOT NULL, day TEXT NOT NULL, amount BIGINT NOT NULL,
  PRIMARY KEY (operator_id, environment, day)
);
`;

/** Entries about the actions of people, API keys and local commands. */
export const auditSchema = `
CREATE TABLE audit_entries (
  id TEXT PRIMARY KEY, environment TEXT NOT NULL, created BIGINT NOT NULL,
  actor_kind TEXT NOT NULL, actor_id TEXT NOT NULL, actor_name TEXT NOT NULL,
  action TEXT NOT NULL, kind TEXT NOT NULL, subject_kind TEXT, subject_id TEXT, session_id TEXT,
  outcome TEXT NOT NULL, details TEXT NOT NULL, request_id TEXT
);
CREATE INDEX audit_entries_listed ON audit_entries (environment, kind, id);
CREATE INDEX audit_entries_action ON audit_entries (environment, kind, action, id);
CREATE INDEX audit_entries_actor ON audit_entries (environment, kind, actor_id, id);
CREATE INDEX audit_entries_actor_action ON audit_entries (environment, kind, actor_id, action, id);
CREATE INDEX audit_entries_subject ON audit_entries (subject_id, id);
CREATE INDEX audit_entries_session ON audit_entries (session_id, id);
`;

/** Triggers that reject changes of entries. Entries about reads can be deleted after their retention period. */
export const auditTriggers = {
  sqlite: `
CREATE TRIGGER audit_entries_no_update BEFORE UPDATE ON audit_entries BEGIN
  SELECT RAISE(ABORT, 'audit_entries is append-only');
END;
CREATE TRIGGER audit_entries_no_delete BEFORE DELETE ON audit_entries WHEN OLD.kind <> 'read' BEGIN
  SELECT RAISE(ABORT, 'audit_entries is append-only');
END;
CREATE TRIGGER audit_entries_no_replace BEFORE INSERT ON audit_entries
WHEN EXISTS (SELECT 1 FROM audit_entries WHERE id = NEW.id OR rowid = NEW.rowid) BEGIN
  SELECT RAISE(ABORT, 'audit_entries is append-only');
END;
`,
  postgres: `
CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'audit_entries is append-only' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER audit_entries_no_update BEFORE UPDATE ON audit_entries
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_entries_no_delete BEFORE DELETE ON audit_entries
  FOR EACH ROW WHEN (OLD.kind <> 'read') EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_entries_no_truncate BEFORE TRUNCATE ON audit_entries
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
`,
};

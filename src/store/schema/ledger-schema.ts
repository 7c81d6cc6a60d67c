/** Tables of the ledger: the entries, their sums per day, and the settlements, with one row per settled payment. */
export const ledgerSchema = `
CREATE TABLE ledger_entries (
  posting_id TEXT NOT NULL,
  line BIGINT NOT NULL,
  payment_id TEXT NOT NULL REFERENCES payments (id),
  session_id TEXT NOT NULL,
  refund_id TEXT,
  environment TEXT NOT NULL,
  kind TEXT NOT NULL,
  account TEXT NOT NULL,
  amount BIGINT NOT NULL,
  created BIGINT NOT NULL,
  PRIMARY KEY (posting_id, line)
);
CREATE INDEX ledger_entries_session ON ledger_entries (session_id, posting_id) WHERE line = 0;
CREATE INDEX ledger_entries_journal ON ledger_entries (environment, account, kind, created, posting_id, line, amount);

CREATE TABLE settlements (
  payment_id TEXT PRIMARY KEY REFERENCES payments (id),
  session_id TEXT NOT NULL,
  environment TEXT NOT NULL,
  amount BIGINT NOT NULL,
  source TEXT NOT NULL,
  reference TEXT,
  settled_at BIGINT NOT NULL,
  created BIGINT NOT NULL
);

CREATE TABLE ledger_sums (
  environment TEXT NOT NULL,
  account TEXT NOT NULL,
  day BIGINT NOT NULL,
  slot BIGINT NOT NULL,
  debits BIGINT NOT NULL,
  credits BIGINT NOT NULL,
  PRIMARY KEY (environment, account, day, slot)
);
`;

/**
 * Triggers that reject changes of entries, and add each entry to the sums of its account and UTC day. On
 * PostgreSQL `slot` is the server process of the connection, so that transactions of two connections never wait for the same row.
 */
export const ledgerTriggers = {
  sqlite: `
CREATE TRIGGER ledger_entries_no_update BEFORE UPDATE ON ledger_entries BEGIN
  SELECT RAISE(ABORT, 'ledger_entries is append-only: book a new posting that corrects the old one');
END;
CREATE TRIGGER ledger_entries_no_delete BEFORE DELETE ON ledger_entries BEGIN
  SELECT RAISE(ABORT, 'ledger_entries is append-only: book a new posting that corrects the old one');
END;
CREATE TRIGGER ledger_entries_no_replace BEFORE INSERT ON ledger_entries
WHEN EXISTS (SELECT 1 FROM ledger_entries
  WHERE (posting_id = NEW.posting_id AND line = NEW.line) OR rowid = NEW.rowid) BEGIN
  SELECT RAISE(ABORT, 'ledger_entries is append-only: this line of this posting is booked');
END;
CREATE VIEW ledger_guards AS
  SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'ledger_entries' AND name GLOB 'ledger_entries_no_*';
CREATE TRIGGER ledger_entries_sum AFTER INSERT ON ledger_entries BEGIN
  INSERT INTO ledger_sums (environment, account, day, slot, debits, credits)
  VALUES (NEW.environment, NEW.account, NEW.created / 86400000, 0, MAX(NEW.amount, 0), MAX(-NEW.amount, 0))
  ON CONFLICT (environment, account, day, slot)
  DO UPDATE SET debits = debits + excluded.debits, credits = credits + excluded.credits;
END;
`,
  postgres: `
CREATE FUNCTION refuse_ledger_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'ledger_entries is append-only: book a new posting that corrects the old one'
    USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER ledger_entries_no_update BEFORE UPDATE ON ledger_entries
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_ledger_change();
CREATE TRIGGER ledger_entries_no_delete BEFORE DELETE ON ledger_entries
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_ledger_change();
CREATE TRIGGER ledger_entries_no_truncate BEFORE TRUNCATE ON ledger_entries
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_ledger_change();
CREATE VIEW ledger_guards AS
  SELECT tgname::text AS name FROM pg_trigger
  WHERE tgrelid = 'ledger_entries'::regclass AND tgname LIKE 'ledger\\_entries\\_no\\_%' AND tgenabled IN ('O', 'A');
CREATE FUNCTION sum_ledger_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO ledger_sums AS sums (environment, account, day, slot, debits, credits)
  VALUES (NEW.environment, NEW.account, NEW.created / 86400000, pg_backend_pid(), GREATEST(NEW.amount, 0), GREATEST(-NEW.amount, 0))
  ON CONFLICT (environment, account, day, slot)
  DO UPDATE SET debits = sums.debits + excluded.debits, credits = sums.credits + excluded.credits;
  RETURN NULL;
END $$;
CREATE TRIGGER ledger_entries_sum AFTER INSERT ON ledger_entries FOR EACH ROW EXECUTE FUNCTION sum_ledger_entry();
`,
};

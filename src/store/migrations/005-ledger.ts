import type { Step } from './migration.ts';

/**
 * Entries belong to postings with an id, a session and possibly a refund. Triggers reject changes of entries. A settlement is
 * one row per payment; the source of older settlements is unknown. A refund that was booked before refunds were records gets
 * the id of the record that the next migration creates.
 */
export const ledger: Step = {
  name: 'ledger',
  sql: `
CREATE TABLE ledger_postings_moved (
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
INSERT INTO ledger_postings_moved
  SELECT entry.payment_id || ':' || entry.kind, entry.line, entry.payment_id, payment.session_id, NULL,
    entry.environment, entry.kind, entry.account, entry.amount, entry.created
  FROM ledger_entries AS entry JOIN payments AS payment ON payment.id = entry.payment_id WHERE entry.kind <> 'refunded';
INSERT INTO ledger_postings_moved
  SELECT 'ref_' || SUBSTR(entry.payment_id, 5) || ':refund_paid', entry.line, entry.payment_id, payment.session_id,
    'ref_' || SUBSTR(entry.payment_id, 5), entry.environment, 'refund_paid', entry.account, entry.amount, entry.created
  FROM ledger_entries AS entry JOIN payments AS payment ON payment.id = entry.payment_id WHERE entry.kind = 'refunded';
DROP TABLE ledger_entries;
ALTER TABLE ledger_postings_moved RENAME TO ledger_entries;
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
INSERT INTO settlements
  SELECT payment.id, payment.session_id, payment.environment, COALESCE(entry.amount, 0), 'api', NULL,
    COALESCE(entry.created, payment.created), COALESCE(entry.created, payment.created)
  FROM payments AS payment LEFT JOIN ledger_entries AS entry
    ON entry.posting_id = payment.id || ':settled' AND entry.account = 'merchant_payable'
  WHERE payment.ledger_status = 'settled' OR entry.posting_id IS NOT NULL;
CREATE INDEX payments_provider_reference ON payments (provider_reference) WHERE provider_reference IS NOT NULL;
`,
  only: {
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
`,
  },
};

import type { Step } from './migration.ts';

const BACKFILL = `
INSERT INTO ledger_sums (environment, account, day, slot, debits, credits)
  SELECT environment, account, created / 86400000, 0, SUM(CASE WHEN amount > 0 THEN amount ELSE 0 END),
    SUM(CASE WHEN amount < 0 THEN -amount ELSE 0 END)
  FROM ledger_entries GROUP BY environment, account, created / 86400000;
`;

/**
 * Sums of each account and UTC day, which a trigger updates in the transaction of every entry. On PostgreSQL `slot` is the
 * server process of the connection, so that transactions of two connections never wait for the same row. The migration creates
 * the trigger before it sums the existing entries: creating it locks the table, so no entry is missed or counted twice.
 */
export const ledgerSums: Step = {
  name: 'ledger sums',
  sql: `
CREATE TABLE ledger_sums (
  environment TEXT NOT NULL,
  account TEXT NOT NULL,
  day BIGINT NOT NULL,
  slot BIGINT NOT NULL,
  debits BIGINT NOT NULL,
  credits BIGINT NOT NULL,
  PRIMARY KEY (environment, account, day, slot)
);
`,
  only: {
    sqlite: `
CREATE TRIGGER ledger_entries_sum AFTER INSERT ON ledger_entries BEGIN
  INSERT INTO ledger_sums (environment, account, day, slot, debits, credits)
  VALUES (NEW.environment, NEW.account, NEW.created / 86400000, 0, MAX(NEW.amount, 0), MAX(-NEW.amount, 0))
  ON CONFLICT (environment, account, day, slot)
  DO UPDATE SET debits = debits + excluded.debits, credits = credits + excluded.credits;
END;
${BACKFILL}`,
    postgres: `
CREATE FUNCTION sum_ledger_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO ledger_sums AS sums (environment, account, day, slot, debits, credits)
  VALUES (NEW.environment, NEW.account, NEW.created / 86400000, pg_backend_pid(), GREATEST(NEW.amount, 0), GREATEST(-NEW.amount, 0))
  ON CONFLICT (environment, account, day, slot)
  DO UPDATE SET debits = sums.debits + excluded.debits, credits = sums.credits + excluded.credits;
  RETURN NULL;
END $$;
CREATE TRIGGER ledger_entries_sum AFTER INSERT ON ledger_entries FOR EACH ROW EXECUTE FUNCTION sum_ledger_entry();
${BACKFILL}`,
  },
};

/** Terms by which sessions are found, and the last record of each source that has its terms. */
export const searchSchema = `
CREATE TABLE search_terms (
  environment TEXT NOT NULL,
  field TEXT NOT NULL,
  term TEXT NOT NULL,
  id TEXT NOT NULL,
  PRIMARY KEY (environment, field, term, id)
);
CREATE INDEX search_terms_id ON search_terms (id);

CREATE TABLE search_cursors (
  source TEXT PRIMARY KEY,
  position TEXT NOT NULL
);

CREATE INDEX payments_tx_hash ON payments (tx_hash) WHERE tx_hash IS NOT NULL;
`;

/** Transactions become terms, because with an index the buyer waits for a further write. */
export const transactionTerms = `
INSERT INTO search_terms (environment, field, term, id)
  SELECT environment, 'transaction', tx_hash, session_id FROM payments WHERE tx_hash IS NOT NULL ON CONFLICT DO NOTHING;
DROP INDEX payments_tx_hash;
`;

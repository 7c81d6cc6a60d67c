import { ERASED_BODY } from '../../domain/personal-data.ts';
import { invariants } from './invariant.ts';

const PLACEHOLDER = "'erased+' || customer.id || '@erased.invalid'";

/** Personal data of buyers who were erased. */
export const PERSONAL_DATA_INVARIANTS = invariants({
  erased_customer: {
    says: 'A customer has a placeholder for an address exactly when it is erased, and a reason only while it is blocked.',
    sql: `SELECT customer.id AS id FROM customers AS customer
      WHERE (customer.status = 'erased') <> (customer.email = ${PLACEHOLDER})
        OR (customer.status <> 'blocked' AND customer.status_reason IS NOT NULL)`,
  },
  erased_session: {
    says: 'Nothing in the sessions of an erased customer names the buyer, and none of them waits for one.',
    sql: `SELECT session.id AS id FROM customers AS customer JOIN sessions AS session ON session.customer_id = customer.id
      WHERE customer.status = 'erased' AND (session.status = 'routed' OR session.metadata <> '{}'
        OR session.redirect_url IS NOT NULL OR session.client_reference_id IS NOT NULL OR session.request_hash IS NOT NULL
        OR COALESCE(session.idempotency_key, 'erased:') NOT LIKE 'erased:%')`,
  },
  erased_records: {
    says: 'An erased customer has no metadata, provider bodies and reasons, receiver answers or notes; erase the customer once more.',
    sql: `SELECT DISTINCT session.id AS id FROM customers AS customer
      JOIN sessions AS session ON session.customer_id = customer.id
      WHERE customer.status = 'erased' AND (
        EXISTS (SELECT 1 FROM payments WHERE session_id = session.id AND (metadata <> '{}' OR failure_reason IS NOT NULL))
        OR EXISTS (SELECT 1 FROM invoices WHERE session_id = session.id AND metadata <> '{}')
        OR EXISTS (SELECT 1 FROM events WHERE session_id = session.id AND body LIKE '%"metadata":{"%')
        OR EXISTS (SELECT 1 FROM provider_messages WHERE session_id = session.id AND body <> '${ERASED_BODY}')
        OR EXISTS (SELECT 1 FROM deliveries AS delivery JOIN delivery_attempts AS attempt
          ON attempt.delivery_id = delivery.id WHERE delivery.session_id = session.id AND attempt.response_body <> '')
        OR EXISTS (SELECT 1 FROM discrepancies WHERE session_id = session.id AND note IS NOT NULL))`,
  },
});

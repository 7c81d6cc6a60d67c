import { INVOICE_STATUSES, type Invoice, type Metadata } from '../../domain/records.ts';
import type { KeysetQuery, Row } from '../keyset.ts';
import type { InvoiceFilter } from '../store.ts';
import { type Write, insertSql } from '../write.ts';
import { statusKeyset } from './payments.ts';

const INSERT = insertSql('invoices', [
  'id',
  'payment_id',
  'session_id',
  'customer_id',
  'environment',
  'amount',
  'status',
  'metadata',
  'created',
]);
const UPDATE = 'UPDATE invoices SET status = ?2 WHERE id = ?1';

export const SELECT_INVOICE = 'SELECT * FROM invoices WHERE id = ?1';
export const SELECT_INVOICE_OF_PAYMENT = 'SELECT * FROM invoices WHERE payment_id = ?1';
export const SELECT_INVOICES_OF_SESSION = 'SELECT * FROM invoices WHERE session_id = ?1 ORDER BY id';

export function insertInvoice(invoice: Invoice): Write {
  return {
    sql: INSERT,
    params: [
      invoice.id,
      invoice.paymentId,
      invoice.sessionId,
      invoice.customerId,
      invoice.environment,
      invoice.amount,
      invoice.status,
      JSON.stringify(invoice.metadata),
      invoice.created,
    ],
  };
}

export function updateInvoice(invoice: Invoice): Write {
  return { sql: UPDATE, params: [invoice.id, invoice.status] };
}

export function invoiceFromRow(row: Row): Invoice {
  return {
    id: row['id'] as string,
    paymentId: row['payment_id'] as string,
    sessionId: row['session_id'] as string,
    customerId: row['customer_id'] as string,
    environment: row['environment'] as Invoice['environment'],
    amount: row['amount'] as number,
    status: row['status'] as Invoice['status'],
    metadata: JSON.parse(row['metadata'] as string) as Metadata,
    created: row['created'] as number,
  };
}

/** The page's range, for filters that do not already name one invoice. */
export function invoiceKeyset({ customerId, status, environment }: InvoiceFilter): KeysetQuery {
  return statusKeyset('invoices', INVOICE_STATUSES, { customerId, status, environment });
}

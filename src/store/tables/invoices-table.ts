import { INVOICE_STATUSES, type Invoice, type Metadata } from '../../domain/records.ts';
import type { KeysetQuery } from '../keyset.ts';
import type { InvoiceFilter } from '../store.ts';
import { describeTable, integer, json, text } from '../table-description.ts';
import { statusKeyset } from './payments-table.ts';

export const INVOICES = describeTable<Invoice>('invoices', {
  id: text,
  paymentId: text,
  sessionId: text,
  customerId: text,
  environment: text,
  amount: integer,
  status: text,
  metadata: json<Metadata>(),
  created: integer,
});

export const SELECT_INVOICE_OF_PAYMENT = 'SELECT * FROM invoices WHERE payment_id = ?1';
export const SELECT_INVOICES_OF_SESSION = 'SELECT * FROM invoices WHERE session_id = ?1 ORDER BY id';

export const insertInvoice = INVOICES.insert();
export const updateInvoice = INVOICES.update({ key: ['id'], set: ['status'] });

/** The page's range, for filters that do not already name one invoice. */
export function invoiceKeyset(filter: InvoiceFilter): KeysetQuery {
  return statusKeyset('invoices', INVOICE_STATUSES, filter);
}

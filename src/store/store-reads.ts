import type { Checkout, Discrepancy } from '../domain/records.ts';
import type { Row, Select, SelectEach } from './keyset.ts';
import { createApiKeyReads } from './tables/api-keys-table.ts';
import { createAuditReads } from './tables/audit-table.ts';
import { createMonitoringReads } from './tables/backlog-reads.ts';
import { createClockReads } from './tables/clock-table.ts';
import { createCustomerReads } from './tables/customers-table.ts';
import { createWebhookReads } from './tables/deliveries-reads.ts';
import {
  DISCREPANCIES,
  SELECT_DISCREPANCIES_OF_SESSION,
  createDiscrepancyReads,
} from './tables/discrepancies-table.ts';
import { createPersonalDataReads } from './tables/erasure-table.ts';
import { createExperimentReads } from './tables/experiments-table.ts';
import { createFeedReads } from './tables/feed-table.ts';
import { createLedgerReads } from './tables/ledger-table.ts';
import { createOperatorReads } from './tables/operators-table.ts';
import { INVOICES, PAYMENTS, createPaymentReads } from './tables/payments-table.ts';
import { createPaymentLists } from './tables/payment-lists.ts';
import { createProviderReads } from './tables/provider-tables.ts';
import { createRecoveryReads } from './tables/recoveries-table.ts';
import { createRefundReads } from './tables/refunds-table.ts';
import { createRouteMoneyReads } from './tables/route-money-reads.ts';
import { createRoutingReads } from './tables/routing-tables.ts';
import { createSalesReads } from './tables/sales-table.ts';
import { createSessionRecordReads } from './tables/session-records.ts';
import { createSearchReads } from './tables/search-table.ts';
import { SESSIONS, createSessionReads } from './tables/sessions-table.ts';
import { createEndpointReads } from './tables/webhook-endpoints-table.ts';

const OF_SESSION = SESSIONS.joined('session_');
const OF_PAYMENT = PAYMENTS.joined('payment_');
const OF_INVOICE = INVOICES.joined('invoice_');
// One statement reads one snapshot. Discrepancies are rare, so it only tells whether there are some.
const SELECT_CHECKOUT = `SELECT ${OF_SESSION.columns}, ${OF_PAYMENT.columns}, ${OF_INVOICE.columns},
    CASE WHEN EXISTS (SELECT 1 FROM discrepancies WHERE session_id = ?1) THEN 1 ELSE 0 END AS discrepancies
  FROM sessions LEFT JOIN payments ON payments.session_id = sessions.id LEFT JOIN invoices ON invoices.payment_id = payments.id
  WHERE sessions.id = ?1 ORDER BY payments.id`;

/** All reads of the store port. */
export type Reads = ReturnType<typeof createReads>;

/** Creates all reads of the store port from the query functions of a database driver; `longSelect` runs long reads. */
export function createReads(select: Select, selectEach: SelectEach, longSelect: Select) {
  return {
    ...createApiKeyReads(select),
    ...createAuditReads(select),
    ...createClockReads(select, selectEach),
    ...createCustomerReads(select),
    ...createDiscrepancyReads(select),
    ...createExperimentReads(select, longSelect),
    ...createFeedReads(select),
    ...createLedgerReads(select, selectEach),
    ...createMonitoringReads(selectEach),
    ...createOperatorReads(select),
    ...createPaymentLists(select, longSelect),
    ...createPaymentReads(select),
    ...createPersonalDataReads(select, selectEach),
    ...createProviderReads(select),
    ...createRecoveryReads(select),
    ...createRoutingReads(select, selectEach),
    ...createRefundReads(select),
    ...createRouteMoneyReads(select),
    ...createSalesReads(select, selectEach, longSelect),
    ...createSearchReads(selectEach, longSelect),
    ...createSessionReads(select),
    ...createSessionRecordReads(selectEach),
    ...createEndpointReads(select, selectEach),
    ...createWebhookReads(select, selectEach),
    async checkout(sessionId: string): Promise<Checkout | undefined> {
      const params = [sessionId];
      const rows = await select(SELECT_CHECKOUT, sessionId);
      if (rows[0]?.['discrepancies'] !== 1) return checkoutOf(rows, []);
      // Reads both in one snapshot.
      const [again = [], differing = []] = await selectEach([
        { sql: SELECT_CHECKOUT, params },
        { sql: SELECT_DISCREPANCIES_OF_SESSION, params },
      ]);
      return checkoutOf(again, differing.map(DISCREPANCIES.fromRow));
    },
  };
}

function checkoutOf(rows: readonly Row[], discrepancies: Discrepancy[]): Checkout | undefined {
  const session = rows[0] && OF_SESSION.fromRow(rows[0]);
  if (!session) return undefined;
  const payments = rows.flatMap((row) => OF_PAYMENT.fromRow(row) ?? []);
  const invoices = rows.flatMap((row) => OF_INVOICE.fromRow(row) ?? []);
  return { session, payments, invoices: invoices.toSorted((a, b) => (a.id < b.id ? -1 : 1)), discrepancies };
}

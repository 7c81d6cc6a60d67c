import type { Checkout } from '../domain/records.ts';
import type { Select, SelectEach } from './keyset.ts';
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
import {
  INVOICES,
  PAYMENTS,
  SELECT_INVOICES_OF_SESSION,
  SELECT_PAYMENTS_OF_SESSION,
  createPaymentReads,
} from './tables/payments-table.ts';
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

export type { Select, SelectEach } from './keyset.ts';

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
    ...createRouteMoneyReads(longSelect),
    ...createSalesReads(select, selectEach, longSelect),
    ...createSearchReads(selectEach, longSelect),
    ...createSessionReads(select),
    ...createSessionRecordReads(selectEach),
    ...createEndpointReads(select, selectEach),
    ...createWebhookReads(select),
    async checkout(sessionId: string): Promise<Checkout | undefined> {
      const params = [sessionId];
      const [found = [], paid = [], billed = [], differing = []] = await selectEach([
        { sql: SESSIONS.byId, params },
        { sql: SELECT_PAYMENTS_OF_SESSION, params },
        { sql: SELECT_INVOICES_OF_SESSION, params },
        { sql: SELECT_DISCREPANCIES_OF_SESSION, params },
      ]);
      const [session] = found.map(SESSIONS.fromRow);
      if (!session) return undefined;
      return {
        session,
        payments: paid.map(PAYMENTS.fromRow),
        invoices: billed.map(INVOICES.fromRow),
        discrepancies: differing.map(DISCREPANCIES.fromRow),
      };
    },
  };
}

import { apiKeyWrites } from './tables/api-keys-table.ts';
import { auditWrites } from './tables/audit-table.ts';
import { clockWrites } from './tables/clock-table.ts';
import { customerWrites } from './tables/customers-table.ts';
import { deliveryWrites } from './tables/deliveries-table.ts';
import { discrepancyWrites } from './tables/discrepancies-table.ts';
import { personalDataWrites } from './tables/erasure-table.ts';
import { experimentWrites } from './tables/experiments-table.ts';
import { feedWrites } from './tables/feed-table.ts';
import { ledgerWrites } from './tables/ledger-table.ts';
import { operatorWrites } from './tables/operators-table.ts';
import { paymentWrites } from './tables/payments-table.ts';
import { providerWrites } from './tables/provider-tables.ts';
import { recoveryWrites } from './tables/recoveries-table.ts';
import { refundWrites } from './tables/refunds-table.ts';
import { routingWrites } from './tables/routing-tables.ts';
import { salesWrites } from './tables/sales-table.ts';
import { searchWrites } from './tables/search-table.ts';
import { sessionWrites } from './tables/sessions-table.ts';
import { endpointWrites } from './tables/webhook-endpoints-table.ts';
import type { Write } from './write-statement.ts';

/** Builders of the statements of each type of change, the same for SQLite and PostgreSQL. */
const WRITES = {
  ...apiKeyWrites,
  ...auditWrites,
  ...clockWrites,
  ...customerWrites,
  ...deliveryWrites,
  ...discrepancyWrites,
  ...endpointWrites,
  ...experimentWrites,
  ...feedWrites,
  ...ledgerWrites,
  ...operatorWrites,
  ...paymentWrites,
  ...personalDataWrites,
  ...providerWrites,
  ...recoveryWrites,
  ...refundWrites,
  ...routingWrites,
  ...salesWrites,
  ...searchWrites,
  ...sessionWrites,
};

type Writes = typeof WRITES;

/** One change. The store applies a change set completely, or not at all if the guard of one of its changes fails. */
export type Change = { [Type in keyof Writes]: { type: Type } & Parameters<Writes[Type]>[0] }[keyof Writes];

/** The statements of a change set, in order. */
export function writesOf(changes: Change[]): Write[] {
  return changes.flatMap((change) => (WRITES[change.type] as (change: Change) => Write | Write[])(change));
}

const DEFERRABLE = new Set<Change['type']>(['delivery_finished', 'endpoint_succeeded', 'api_key_used']);
/** Longest time in milliseconds that a deferrable change set waits for another one, whose transaction it then shares. */
export const LONGEST_WAIT_MS = 10;

/** True if no answer waits for these changes, such as the outcome of a delivery. The session's next event then begins a little later. */
export function isDeferrable(changes: Change[]): boolean {
  return changes.every(({ type }) => DEFERRABLE.has(type));
}

const LAST = '\u{ffff}';
const LOCKED_LAST: Change['type'][] = [
  'recovery_saved',
  'events_placed',
  'sales_counted',
  'sales_day_built',
  'terms_added',
];

/** True if these changes erase personal data. The store then also removes the data from unused parts of its files. */
export function erasesPersonalData(changes: Change[]): boolean {
  return changes.some(({ type }) => type === 'customer_erased' || type === 'session_erased');
}

/** Sort key of a change set, named after the rows that it locks. Batches apply their sets in this order, to prevent deadlocks. */
export function lockOrderOf(changes: Change[]): string {
  // Change sets that lock rows of many sessions, or rows that all instances write, are the last in a batch.
  if (changes.some(({ type }) => LOCKED_LAST.includes(type))) return LAST;
  for (const change of changes) {
    if (change.type === 'session_created') return change.session.idempotencyKey ?? '';
    if ('session' in change) return change.session.id;
    if ('sessionId' in change) return change.sessionId;
    if ('discrepancy' in change) return change.discrepancy.sessionId;
    if ('message' in change) return change.message.sessionId;
    if ('wake' in change) return change.wake.sessionId;
    if ('task' in change) return change.task.sessionId;
    if ('refund' in change) return change.refund.sessionId;
    if ('due' in change) return change.due.refund.sessionId;
    if ('delivery' in change) return change.delivery.sessionId;
    if ('endpoint' in change) return change.endpoint.id;
    if ('endpointId' in change) return change.endpointId;
  }
  return '';
}

import type { Change } from './store.ts';
import { requireActiveKey, insertApiKey, revokeApiKey, spendOfApiKey, useApiKey } from './tables/api-keys-table.ts';
import { saveClock } from './tables/clock-table.ts';
import { placeEvents } from './tables/feed-table.ts';
import { recoverDelivery, saveRecovery } from './tables/recoveries-table.ts';
import { insertCustomer } from './tables/customers-table.ts';
import { insertDiscrepancy, updateDiscrepancy } from './tables/discrepancies-table.ts';
import { insertInvoice, updateInvoice } from './tables/invoices-table.ts';
import { insertPosting, insertSettlement } from './tables/ledger-table.ts';
import { insertPayment, updatePayment } from './tables/payments-table.ts';
import { eraseCustomer, eraseSession, requireActiveCustomer, setCustomerStatus } from './tables/erasure-table.ts';
import {
  foldEstimates,
  insertDecision,
  insertOutcome,
  insertRules,
  insertSnapshot,
  insertTransition,
  saveHealth,
} from './tables/routing-tables.ts';
import { claimTask, finishTask, insertMessage, insertTask } from './tables/provider-tables.ts';
import { claimRefund, insertRefund, postponeRefund, updateRefund } from './tables/refunds-table.ts';
import { claimWake, insertSession, updateSession } from './tables/sessions-table.ts';
import { writesOfEndpoint } from './tables/webhook-endpoints-table.ts';
import {
  addDelivery,
  claimDelivery,
  finishDelivery,
  insertDelivery,
  insertEvent,
  replayDelivery,
} from './tables/deliveries-table.ts';
import type { Write } from './write-statement.ts';

/** The statements of a change set, in order: the same for every database. */
export function writesOf(changes: Change[]): Write[] {
  return changes.flatMap(writesOfChange);
}

/** The statements of each type of change. */
const WRITES: { [Type in Change['type']]: (change: Extract<Change, { type: Type }>) => Write | Write[] } = {
  api_key_created: (change) => insertApiKey(change.key),
  api_key_active: (change) => requireActiveKey(change.keyId),
  api_key_used: (change) => useApiKey(change.keyId, change.at),
  api_key_revoked: (change) => revokeApiKey(change.keyId, change.at),
  api_key_spent: (change) => spendOfApiKey(change.keyId, change.day, change.amount),
  customer_created: (change) => insertCustomer(change.customer),
  customer_status_changed: (change) => setCustomerStatus(change.customer, change.from),
  customer_active: (change) => requireActiveCustomer(change.sessionId),
  customer_erased: (change) => eraseCustomer(change.customer, change.from),
  session_erased: (change) => eraseSession(change),
  discrepancy_opened: (change) => insertDiscrepancy(change.discrepancy),
  discrepancy_changed: (change) => updateDiscrepancy(change.discrepancy),
  session_created: (change) => insertSession(change.session),
  session_changed: (change) => updateSession(change.session),
  payment_created: (change) => insertPayment(change.payment),
  payment_changed: (change) => updatePayment(change.payment),
  invoice_created: (change) => insertInvoice(change.invoice),
  invoice_changed: (change) => updateInvoice(change.invoice),
  ledger_posted: (change) => insertPosting(change.posting, change.environment),
  settlement_recorded: (change) => insertSettlement(change.settlement),
  event_recorded: (change) => insertEvent(change.event),
  delivery_created: (change) => insertDelivery(change.delivery),
  delivery_added: (change) => addDelivery(change.delivery),
  delivery_claimed: (change) => claimDelivery(change.delivery),
  delivery_finished: (change) =>
    finishDelivery(change.delivery, change.attempt, change.attempt.started + change.attempt.durationMs),
  delivery_replayed: (change) => replayDelivery(change.delivery, change.from),
  events_placed: (change) => placeEvents(change.limit),
  recovery_saved: (change) => saveRecovery(change.recovery),
  delivery_recovered: (change) => recoverDelivery(change.delivery, change.from, change.eventCreated),
  endpoint_saved: (change) => writesOfEndpoint(change),
  endpoint_created: (change) => writesOfEndpoint(change),
  endpoint_changed: (change) => writesOfEndpoint(change),
  secrets_replaced: (change) => writesOfEndpoint(change),
  secret_resealed: (change) => writesOfEndpoint(change),
  endpoint_succeeded: (change) => writesOfEndpoint(change),
  endpoint_failed: (change) => writesOfEndpoint(change),
  endpoint_disabled: (change) => writesOfEndpoint(change),
  provider_message_received: (change) => insertMessage(change.message),
  task_queued: (change) => insertTask(change.task),
  wake_claimed: (change) => claimWake(change.wake, change.until),
  task_claimed: (change) => claimTask(change.task),
  task_finished: (change) => finishTask(change.task),
  refund_created: (change) => insertRefund(change.refund, change.dueAt),
  refund_changed: (change) => updateRefund(change.refund, change.from),
  refund_claimed: (change) => claimRefund(change.due),
  refund_postponed: (change) => postponeRefund(change.due),
  outcome_recorded: (change) => insertOutcome(change.outcome),
  snapshot_recorded: (change) => insertSnapshot(change.snapshot),
  decision_recorded: (change) => insertDecision(change.decision),
  route_health_changed: (change) => saveHealth(change.health),
  transition_recorded: (change) => insertTransition(change.transition),
  rules_saved: (change) => insertRules(change.rules),
  estimates_folded: (change) => foldEstimates(change.estimates, change.from),
  test_clock_changed: (change) => saveClock(change.clock),
};

function writesOfChange<Type extends Change['type']>(change: Extract<Change, { type: Type }>): Write | Write[] {
  return WRITES[change.type](change);
}

const WORK = new Set<Change['type']>([
  'session_changed',
  'delivery_created',
  'delivery_added',
  'delivery_recovered',
  'delivery_finished',
  'delivery_replayed',
  'endpoint_changed',
  'task_queued',
  'task_finished',
  'refund_created',
  'refund_postponed',
]);

/** Whether these changes can leave work for a worker. */
export function createsWork(changes: Change[]): boolean {
  return changes.some(({ type }) => WORK.has(type));
}

const LAST = '\u{ffff}';

/** Whether these changes erase personal data, which must then be in no file of the database. */
export function erasesPersonalData(changes: Change[]): boolean {
  return changes.some(({ type }) => type === 'customer_erased' || type === 'session_erased');
}

/**
 * Orders change sets that share a transaction, so that two transactions never wait crosswise: by their locks, which are the
 * key of a session that they create (after the addresses, see `Write.locks`), or a session and its records.
 */
export function lockOrderOf(changes: Change[]): string {
  for (const change of changes) {
    switch (change.type) {
      case 'session_created':
        return change.session.idempotencyKey ?? '';
      case 'session_changed':
      case 'session_erased':
        return change.session.id;
      case 'customer_active':
        return change.sessionId;
      case 'discrepancy_opened':
      case 'discrepancy_changed':
        return change.discrepancy.sessionId;
      case 'provider_message_received':
        return change.message.sessionId;
      case 'wake_claimed':
        return change.wake.sessionId;
      case 'task_queued':
      case 'task_claimed':
      case 'task_finished':
        return change.task.sessionId;
      case 'refund_created':
      case 'refund_changed':
        return change.refund.sessionId;
      case 'refund_claimed':
      case 'refund_postponed':
        return change.due.refund.sessionId;
      case 'delivery_added':
      case 'delivery_claimed':
      case 'delivery_finished':
      case 'delivery_replayed':
        return change.delivery.sessionId;
      // Last of a batch: locks rows of many sessions, or rows that all instances write.
      case 'recovery_saved':
      case 'events_placed':
        return LAST;
      case 'endpoint_saved':
      case 'endpoint_created':
      case 'endpoint_changed':
        return change.endpoint.id;
      case 'endpoint_succeeded':
      case 'endpoint_failed':
      case 'endpoint_disabled':
        return change.endpointId;
      default:
    }
  }
  return '';
}

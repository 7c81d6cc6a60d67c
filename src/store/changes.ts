import type { Change } from './store.ts';
import { saveClock } from './tables/clock.ts';
import { insertCustomer } from './tables/customers.ts';
import { insertInvoice, updateInvoice } from './tables/invoices.ts';
import { insertPosting } from './tables/ledger.ts';
import { insertPayment, updatePayment } from './tables/payments.ts';
import {
  foldEstimates,
  insertDecision,
  insertOutcome,
  insertRules,
  insertSnapshot,
  insertTransition,
  saveHealth,
} from './tables/routing.ts';
import { claimTask, finishTask, insertMessage, insertTask } from './tables/providers.ts';
import { claimWake, insertSession, updateSession } from './tables/sessions.ts';
import {
  claimCallback,
  finishCallback,
  insertCallback,
  insertSimulatedPayment,
  moveSimulatedPayment,
} from './tables/simulator.ts';
import {
  addDelivery,
  claimDelivery,
  finishDelivery,
  insertDelivery,
  insertEvent,
  replayDelivery,
  saveEndpoint,
} from './tables/webhooks.ts';
import type { Write } from './write.ts';

/** The statements of a change set, in order: the same for every database. */
export function writesOf(changes: Change[]): Write[] {
  return changes.flatMap(writesOfChange);
}

function writesOfChange(change: Change): Write | Write[] {
  switch (change.type) {
    case 'customer_created':
      return insertCustomer(change.customer);
    case 'session_created':
      return insertSession(change.session);
    case 'session_changed':
      return updateSession(change.session);
    case 'payment_created':
      return insertPayment(change.payment);
    case 'payment_changed':
      return updatePayment(change.payment);
    case 'invoice_created':
      return insertInvoice(change.invoice);
    case 'invoice_changed':
      return updateInvoice(change.invoice);
    case 'ledger_posted':
      return insertPosting(change.posting, change.environment);
    case 'event_recorded':
      return insertEvent(change.event);
    case 'delivery_created':
      return insertDelivery(change.delivery);
    case 'delivery_added':
      return addDelivery(change.delivery);
    case 'delivery_claimed':
      return claimDelivery(change.delivery);
    case 'delivery_finished':
      return finishDelivery(change.delivery, change.attempt, change.attempt.started + change.attempt.durationMs);
    case 'delivery_replayed':
      return replayDelivery(change.delivery, change.from);
    case 'endpoint_saved':
      return saveEndpoint(change.endpoint);
    case 'provider_message_received':
      return insertMessage(change.message);
    case 'task_queued':
      return insertTask(change.task);
    case 'wake_claimed':
      return claimWake(change.wake, change.until);
    case 'task_claimed':
      return claimTask(change.task);
    case 'task_finished':
      return finishTask(change.task);
    case 'outcome_recorded':
      return insertOutcome(change.outcome);
    case 'snapshot_recorded':
      return insertSnapshot(change.snapshot);
    case 'decision_recorded':
      return insertDecision(change.decision);
    case 'route_health_changed':
      return saveHealth(change.health);
    case 'transition_recorded':
      return insertTransition(change.transition);
    case 'rules_saved':
      return insertRules(change.rules);
    case 'estimates_folded':
      return foldEstimates(change.estimates, change.from);
    case 'test_clock_changed':
      return saveClock(change.clock);
    case 'simulated_payment_created':
      return insertSimulatedPayment(change.payment);
    case 'simulated_payment_moved':
      return moveSimulatedPayment(change.payment, change.from);
    case 'simulated_callback_queued':
      return insertCallback(change.callback);
    case 'simulated_callback_claimed':
      return claimCallback(change.callback);
    case 'simulated_callback_finished':
      return finishCallback(change.callback);
  }
}

const WORK = new Set<Change['type']>([
  'session_changed',
  'delivery_created',
  'delivery_added',
  'delivery_finished',
  'delivery_replayed',
  'task_queued',
  'task_finished',
  'simulated_callback_queued',
  'simulated_callback_finished',
]);

/** Whether a worker may have something to do after these changes. */
export function leavesWork(changes: Change[]): boolean {
  return changes.some(({ type }) => WORK.has(type));
}

/**
 * Orders change sets that share a transaction, so that two transactions never wait crosswise: by what each locks, which is
 * the key of a session that it creates (after the addresses, see `Write.locks`), or a session and what belongs to it.
 */
export function lockOrderOf(changes: Change[]): string {
  for (const change of changes) {
    switch (change.type) {
      case 'session_created':
        return change.session.idempotencyKey ?? '';
      case 'session_changed':
        return change.session.id;
      case 'provider_message_received':
        return change.message.sessionId;
      case 'wake_claimed':
        return change.wake.sessionId;
      case 'task_queued':
      case 'task_claimed':
      case 'task_finished':
        return change.task.sessionId;
      case 'delivery_added':
      case 'delivery_claimed':
      case 'delivery_finished':
      case 'delivery_replayed':
        return change.delivery.sessionId;
      case 'simulated_payment_created':
      case 'simulated_payment_moved':
        return change.payment.sessionId;
      default:
    }
  }
  return '';
}

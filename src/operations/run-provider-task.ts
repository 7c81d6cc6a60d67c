import type { Payment } from '../domain/records.ts';
import type { Provider } from '../providers/provider.ts';
import type { ProviderTask } from '../store/tables/provider-tables.ts';
import type { Deps } from './deps.ts';
import { LEASE_MS, providerDelayMs } from './provider-delays.ts';
import { applyReport } from './provider-hints.ts';

// If the provider does not know a payment to cancel, a delayed handoff request may still create it. So the cancellation is repeated
// after 30 s, then 2, 10 and 60 minutes later. The values are times since the task was created.
const ARRIVAL_CHECKS_MS = [0.5, 2.5, 12.5, 72.5].map((minutes) => minutes * 60_000);

/** Asks a provider to cancel or capture a payment until it has done so. If several instances find the task due, one of them asks. */
export async function runProviderTask(deps: Deps, due: ProviderTask): Promise<void> {
  const task: ProviderTask = { ...due, attempts: due.attempts + 1, dueAt: deps.now() + LEASE_MS };
  const claim = await deps.store.commit([{ type: 'task_claimed', task }]);
  if (!claim.done) return dropCapture(deps, due);
  const payment = await deps.store.payment(task.paymentId);
  const provider = payment && deps.providers.get(payment.route.provider);
  if (!payment || !provider) return postpone(deps, task, new Error('the provider is not connected'));
  try {
    const known = await (task.kind === 'cancel' ? cancel : capture)(deps, provider, payment);
    const after: ProviderTask = known ? { ...task, status: 'done' } : askedAgain(deps, task);
    await deps.store.commit([{ type: 'task_finished', task: after }]);
  } catch (error) {
    await postpone(deps, task, error);
  }
}

/** Cancels a payment; returns true if the provider knows it. If the payment was paid before, its money is applied as late money. */
async function cancel(deps: Deps, provider: Provider, payment: Payment): Promise<boolean> {
  if ((await provider.cancel(payment)) === 'unknown') return false;
  const answer = await provider.inquire(payment);
  if (typeof answer !== 'string' && answer.report.state === 'paid') {
    await applyReport(deps, provider, payment, answer.report);
  }
  return true;
}

/**
 * Ends the capture task of a payment that is no longer pending. Such a task cannot be claimed. If an earlier request got no answer, it
 * may have captured the payment, so the provider is asked several times, and its money is applied as late money.
 */
async function dropCapture(deps: Deps, due: ProviderTask): Promise<void> {
  const payment = due.kind === 'capture' ? await deps.store.payment(due.paymentId) : undefined;
  if (!payment || payment.status === 'pending') return;
  let after: ProviderTask = { ...due, status: 'dead' };
  if (due.attempts > 0 && payment.status === 'failed') {
    const provider = deps.providers.get(payment.route.provider);
    if (!provider) return postpone(deps, due, new Error('the provider is not connected'));
    try {
      const answer = await provider.inquire(payment);
      const isPaid = typeof answer === 'object' && answer.report.state === 'paid';
      if (isPaid) await applyReport(deps, provider, payment, answer.report);
      else after = askedAgain(deps, due);
    } catch (error) {
      return postpone(deps, due, error);
    }
  }
  await deps.store.commit([{ type: 'task_finished', task: after }]);
}

/** Captures an approved payment, and applies the provider's report about it. */
async function capture(deps: Deps, provider: Provider, payment: Payment): Promise<boolean> {
  if (!provider.capture)
    throw new Error(`${provider.id} reported a payment that requires capture, but its adapter cannot capture`);
  await applyReport(deps, provider, payment, await provider.capture(payment));
  return true;
}

function askedAgain(deps: Deps, task: ProviderTask): ProviderTask {
  const { paymentId, attempts, created } = task;
  const next = ARRIVAL_CHECKS_MS.find((check) => created + check > deps.now());
  if (next === undefined) return { ...task, status: 'done' };
  deps.log.info({ paymentId, attempts, kind: task.kind }, 'the provider is asked about the payment again');
  return { ...task, dueAt: created + next };
}

async function postpone(deps: Deps, task: ProviderTask, error: unknown): Promise<void> {
  const { kind, paymentId, attempts } = task;
  deps.log.warn({ err: error, paymentId, attempts }, kind === 'cancel' ? 'cancellation failed' : 'capture failed');
  const later: ProviderTask = { ...task, dueAt: deps.now() + providerDelayMs(task.attempts) };
  await deps.store.commit([{ type: 'task_finished', task: later }]);
}

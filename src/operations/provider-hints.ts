import type { SignalOrigin } from '../domain/provider-message.ts';
import type { Hint, ProviderReport } from '../domain/provider-report.ts';
import type { Instant, Payment } from '../domain/records.ts';
import type { CallbackHint, HintAnswer, Provider } from '../providers/provider.ts';
import type { QueuedHint } from '../store/tables/provider-tables.ts';
import type { AppliedSignal } from './apply-message.ts';
import { applyAnswer } from './apply-signal.ts';
import type { Deps } from './deps.ts';
import { LEASE_MS, providerDelayMs } from './provider-delays.ts';

// Buyers wait for the answers to hints when a provider recovers from an outage. So the back-off of a hint is at most 30 s in its first
// hour, and later at most 1/120 of its age.
const LONGEST_FIRST_DELAY_MS = 30_000;
const PARTS_OF_AGE = 120;

// After an incomplete answer, such as one without the provider's charge, the provider is asked again at these times after the hint.
const RECHECKS_MS = [60, 24 * 60].map((minutes) => minutes * 60_000);
const ABANDONED_AFTER_MS = 3 * 24 * 60 * 60_000;

/**
 * Stores hints before they are acknowledged. A hint with a known event id changes nothing, and one with a mismatch is flagged.
 * Returns the outcomes.
 */
export async function queueHints(deps: Deps, origin: SignalOrigin, hints: readonly CallbackHint[]): Promise<string[]> {
  const now = deps.now();
  const changes = hints.map(({ mismatch, ...hint }) => {
    const queuedHint = queued(origin, hint, now);
    if (mismatch === undefined) return { type: 'hint_queued', hint: queuedHint } as const;
    return { type: 'hint_flagged', hint: { ...queuedHint, state: 'done' as const }, mismatch } as const;
  });
  await deps.store.commit(changes);
  for (const { mismatch, eventId } of hints) {
    if (mismatch === undefined) continue;
    deps.countForeignSignal(origin.provider);
    deps.log.warn(
      { provider: origin.provider, eventId, outcome: mismatch },
      'callback of another environment or account',
    );
  }
  return hints.map(({ mismatch }) => mismatch ?? 'queued');
}

/** Queues a hint about a payment whose buyer came back from the provider. Each payment has one such row, however often the page loads. */
export async function queueReturn(deps: Deps, payment: Payment): Promise<void> {
  if (payment.status === 'pending') await queueQuery(deps, payment, `return_${payment.id}`);
}

async function queueQuery(deps: Deps, payment: Payment, eventId: string): Promise<void> {
  const provider = deps.providers.get(payment.route.provider);
  const about = provider?.returnHint?.(payment);
  if (!provider || !about) return;
  const { id, environment } = provider;
  const hint = queued({ provider: id, environment }, { ...about, eventId }, deps.now());
  await deps.store.commit([{ type: 'hint_renewed', hint }]);
}

/** Applies a provider's report on a payment, from an inquiry or a capture. If it lacks the provider's charge, a hint queries it later. */
export async function applyReport(
  deps: Deps,
  provider: Provider,
  payment: Payment,
  report: ProviderReport,
): Promise<AppliedSignal> {
  const { id: paymentId, sessionId } = payment;
  if (report.state === 'paid' && report.cost === null) await queueQuery(deps, payment, `cost_${paymentId}`);
  return applyAnswer(deps, provider, { about: 'payment', ref: { sessionId, paymentId }, report });
}

function queued(
  { provider, environment }: SignalOrigin,
  { eventId, about, id: objectId }: Hint & { eventId: string },
  now: Instant,
): QueuedHint {
  const waiting = { state: 'pending', attempts: 0, dueAt: now, received: now } as const;
  return { provider, environment, eventId, about, objectId, ...waiting };
}

/**
 * Asks a provider about the object of a hint and applies the answer. If several instances find the hint due, one of them asks. The
 * answer also finishes the hints about the same object that arrived before the request.
 */
export async function answerHint(deps: Deps, due: QueuedHint): Promise<void> {
  const asked = deps.now();
  const hint: QueuedHint = { ...due, attempts: due.attempts + 1, dueAt: asked + LEASE_MS };
  if (!(await deps.store.commit([{ type: 'hint_claimed', hint }])).done) return;
  const provider = deps.providers.get(hint.provider);
  let after: QueuedHint;
  try {
    if (!provider?.query) throw new Error('the provider is not connected');
    const isIncomplete = await applyPages(deps, provider, hint);
    const next = isIncomplete ? RECHECKS_MS.find((time) => hint.received + time > asked) : undefined;
    after = next === undefined ? { ...hint, state: 'done' } : { ...hint, dueAt: hint.received + next };
  } catch (error) {
    after = retried(deps, hint, error);
  }
  await deps.store.commit([{ type: 'hint_finished', hint: after, asked }]);
}

/** Applies every page of the answer. Returns true if the answer is incomplete, so that the provider must be asked again later. */
async function applyPages(deps: Deps, provider: Provider, { about, objectId: id }: QueuedHint): Promise<boolean> {
  let isIncomplete = false;
  let page: string | null = null;
  do {
    const answer: HintAnswer = await provider.query!({ about, id }, page);
    for (const signal of answer.signals) {
      const { outcome } = await applyAnswer(deps, provider, signal);
      // Either the object belongs to another program, or this service does not know its payment as paid yet. It learns the charge
      // reference, by which the object names the payment, only with the paid report.
      isIncomplete ||= outcome === 'unknown' && signal.about !== 'payment';
    }
    isIncomplete ||= answer.isIncomplete ?? false;
    page = answer.next;
  } while (page !== null);
  return isIncomplete;
}

function retried({ log, now }: Deps, hint: QueuedHint, error: unknown): QueuedHint {
  const { provider, eventId, about, objectId, attempts } = hint;
  const line = { err: error, provider, eventId, about, objectId, attempts };
  if (now() - hint.received >= ABANDONED_AFTER_MS) {
    log.error(line, 'hint abandoned: ask the provider about this object');
    return { ...hint, state: 'dead' };
  }
  log.warn(line, 'provider could not be asked about a hint');
  const longest = Math.max(LONGEST_FIRST_DELAY_MS, (now() - hint.received) / PARTS_OF_AGE);
  return { ...hint, dueAt: now() + Math.min(providerDelayMs(attempts), Math.floor(longest)) };
}

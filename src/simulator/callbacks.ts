import type { Logger } from 'pino';
import type { SimulatedCallback } from '../store/simulator.ts';
import { loadHttpClient } from '../webhooks/http-client.ts';
import { signCallback } from '../webhooks/sign.ts';
import { type Worker, createWorker, forEachOf } from '../workers/worker.ts';
import { type SimulatorDeps, captureLate } from './charges.ts';
import { capturesInFull, paysOut, refundToldBy } from './messages.ts';
import { moveRefund } from './refunds.ts';

const POLL_MS = 500;
const PAGE = 100;
const WIDTH = 8;
const TIMEOUT_MS = 10_000;
// Longer than the callbacks of one charge can take.
const LEASE_MS = 60_000;
/** How long after each attempt that was not acknowledged the next one comes; after the last it is given up. */
const RETRY_DELAYS_MS = [1, 5, 30, 120, 600, 1800, 3600].map((seconds) => seconds * 1000);

export interface CallbackOptions {
  /** Where callbacks go. */
  callbackUrl: string;
  /** What they are signed with. */
  callbackSecret: string;
  /** The time by which they are, whatever the time by which they come due. */
  realNow: () => number;
  log: Logger;
}

/** Sends the simulated provider's callbacks; those of one charge in turn, those of different ones side by side. */
export function createCallbackWorker(
  deps: SimulatorDeps,
  { callbackUrl, callbackSecret, realNow, log }: CallbackOptions,
): Worker {
  async function runOnce(): Promise<number> {
    const due = await deps.store.simulatedCallbacksDue(deps.now(), PAGE);
    const charges = [...Map.groupBy(due, ({ reference }) => reference).values()];
    await forEachOf(
      charges,
      WIDTH,
      async (callbacks) => {
        for (const callback of callbacks) {
          const claimed = { ...callback, attempts: callback.attempts + 1, dueAt: deps.now() + LEASE_MS };
          const claim = await deps.store.commit([{ type: 'simulated_callback_claimed', callback: claimed }]);
          // Otherwise another instance was faster, and goes on with this charge.
          if (!claim.done) return;
          await deliver(claimed);
        }
      },
      (error, [callback]) => log.error({ err: error, callback: callback?.id }, 'simulated callback failed'),
    );
    return due.length;
  }

  async function deliver(callback: SimulatedCallback): Promise<void> {
    const payment = (await deps.store.simulatedPayment(callback.reference))!;
    const isVoid = paysOut(callback.body)
      ? payment.refunded >= payment.captured
      : capturesInFull(payment, callback.body) && !(await captureLate(deps, payment));
    if (isVoid) {
      await finish({ ...callback, status: 'dead' });
      return;
    }
    const told = refundToldBy(callback.body);
    if (told) await moveRefund(deps, payment.reference, told.refundId, told.outcome);
    const status = await post(callback.body);
    if (status === 200) {
      await finish({ ...callback, status: 'done' });
      return;
    }
    log.warn({ callback: callback.id, attempt: callback.attempts, status }, 'simulated callback not acknowledged');
    const delay = RETRY_DELAYS_MS[callback.attempts - 1];
    if (delay === undefined) await finish({ ...callback, status: 'dead' });
    else await finish({ ...callback, dueAt: deps.now() + delay });
  }

  /** Where the lease ran out and another worker has begun, its word stands. */
  async function finish(callback: SimulatedCallback): Promise<void> {
    await deps.store.commit([{ type: 'simulated_callback_finished', callback }]);
  }

  /** The status of the answer, or why there was none. */
  async function post(body: string): Promise<number | string> {
    const signature = signCallback(callbackSecret, Math.floor(realNow() / 1000), body);
    try {
      const { request } = await loadHttpClient();
      const response = await request(callbackUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-provider-signature': signature },
        body,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      await response.body.dump();
      return response.statusCode;
    } catch (error) {
      return String(error);
    }
  }

  const onWake = (wake: () => void) => deps.store.onCommit(wake);
  return createWorker({ name: 'simulator', log, runOnce, onWake, pollMs: POLL_MS });
}

import type { Logger } from 'pino';
import { httpClient } from '../webhooks/http-client.ts';
import { signCallback } from '../webhooks/sign.ts';
import { type Loop, type Worker, createWorker, forEachOf, wakeAfter } from '../workers/worker.ts';
import { type SimulatorDeps, captureLate } from './simulated-charges.ts';
import { type SimulatorEvent, readEvent } from './simulator-messages.ts';
import { setRefundState } from './simulated-refunds.ts';
import { type Charge, type QueuedCallback, updateCallback } from './simulator-store.ts';

const POLL_MS = 500;
const PAGE = 100;
const WIDTH = 8;
const TIMEOUT_MS = 10_000;
// Lease of a claimed callback. Longer than the callbacks of one charge can take.
const LEASE_MS = 60_000;
/** Delays after failed attempts. After the last attempt, the callback is given up. */
const RETRY_DELAYS_MS = [1, 5, 30, 120, 600, 1800, 3600].map((seconds) => seconds * 1000);

/** Options of {@link createCallbackWorker}. */
export interface CallbackOptions {
  callbackUrl: string;
  /** Key that signs the callbacks. */
  callbackSecret: string;
  /** Real time, for the signatures; a test clock does not advance it. */
  realNow: () => number;
  log: Logger;
}

/** Creates the worker that sends the simulated provider's callbacks: in order within a charge, in parallel across charges. */
export function createCallbackWorker(
  deps: SimulatorDeps,
  { callbackUrl, callbackSecret, realNow, log }: CallbackOptions,
): Worker {
  const { store, now } = deps;

  async function runOnce(): Promise<number> {
    const due = await store.callbacksDue(now(), PAGE);
    const charges = [...Map.groupBy(due, ({ reference }) => reference).values()];
    await forEachOf(
      charges,
      WIDTH,
      async (callbacks) => {
        // If another instance has claimed a callback, it also sends the further callbacks of this charge.
        for (const callback of callbacks) if (!(await attempt(callback))) return;
      },
      (error, [callback]) => log.error({ err: error, callback: callback?.id }, 'simulated callback failed'),
    );
    return due.length;
  }

  /** Claims a callback, delivers it and stores the outcome. Returns false if another instance has claimed it. */
  async function attempt(callback: QueuedCallback): Promise<boolean> {
    const { reference, attempts } = callback;
    const claimed = { ...callback, attempts: attempts + 1, dueAt: now() + LEASE_MS };
    if (!(await store.write(reference, [updateCallback(claimed, attempts)]))) return false;
    // If the lease has expired and another worker has claimed the callback, this write changes nothing.
    await store.write(reference, [updateCallback(await deliver(claimed), claimed.attempts)], { isDeferrable: true });
    return true;
  }

  /** Attempts to deliver a callback, and returns the callback with its new status or due time. */
  async function deliver(callback: QueuedCallback): Promise<QueuedCallback> {
    const { id, reference, body, attempts } = callback;
    const charge = (await store.charge(reference))!;
    if (!(await takeEffect(deps, charge, readEvent(body)))) return { ...callback, status: 'dead' };
    const status = await post(body);
    if (status === 200) return { ...callback, status: 'done' };
    log.warn({ callback: id, attempt: attempts, status }, 'simulated callback not acknowledged');
    const delay = RETRY_DELAYS_MS[attempts - 1];
    return delay === undefined ? { ...callback, status: 'dead' } : { ...callback, dueAt: now() + delay };
  }

  /** Sends a signed callback. Returns the status code of the response, or the reason why no response arrived. */
  async function post(body: string): Promise<number | string> {
    const signature = signCallback(callbackSecret, Math.floor(realNow() / 1000), body);
    try {
      const { request } = await httpClient();
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

  /** Sends a callback that is due at once, and claims it in the transaction that stores it. Several callbacks of a charge go in order. */
  function onCreated(loop: Loop): void {
    /** The charges whose callbacks are sent without a search. */
    const sending = new Set<string>();
    store.onQueued((callbacks, written) => {
      const [first, ...others] = callbacks.filter(({ dueAt }) => dueAt <= now());
      if (!first) return;
      const { reference } = first;
      const isAlone = others.length === 0 && !sending.has(reference) && sending.size < WIDTH;
      const send = () => {
        sending.add(reference);
        return attempt(first).finally(() => sending.delete(reference));
      };
      if (!isAlone || !loop.begin(send))
        wakeAfter(
          loop,
          written.then((done) => ({ done })),
        );
    });
  }

  return createWorker({ name: 'simulator', log, runOnce, onCreated, pollMs: POLL_MS });
}

/** Applies an event to its charge before the callback reports the event. Returns false if the callback must not be sent. */
async function takeEffect(deps: SimulatorDeps, charge: Charge, event: SimulatorEvent): Promise<boolean> {
  switch (event.type) {
    case 'charge.settled':
      return charge.refunded < charge.captured;
    case 'charge.updated':
      return event.state !== 'CAPTURED' || event.amount !== charge.amount || captureLate(deps, charge);
    default:
      await setRefundState(deps, charge, event.refund, event.type === 'refund.failed' ? 'failed' : 'succeeded');
      return true;
  }
}

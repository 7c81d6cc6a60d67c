import type { Deps } from '../operations/deps.ts';
import { askForRefund } from '../operations/refunds/ask-provider.ts';
import { type Worker, createWorker, forEachOf } from './worker.ts';

const POLL_MS = 500;
const PAGE = 100;
const WIDTH = 16;

/** Sends due refunds to their providers, and inquires about refunds without an answer. */
export function createRefundWorker(deps: Deps): Worker {
  async function runOnce(): Promise<number> {
    const due = await deps.store.refundsDue(deps.now(), PAGE);
    await forEachOf(
      due,
      WIDTH,
      (refund) => askForRefund(deps, refund),
      // The next try follows when the claim has expired.
      (error, { refund }) => deps.log.error({ err: error, refundId: refund.id }, 'refund failed to be asked for'),
    );
    return due.length;
  }

  return createWorker({ name: 'refunds', log: deps.log, runOnce, onWake: deps.store.onCommit, pollMs: POLL_MS });
}

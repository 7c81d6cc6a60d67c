import type { Deps } from '../operations/deps.ts';
import { askForRefund } from '../operations/refunds/ask-provider.ts';
import { type Worker, createWorker, forEachOf } from './worker.ts';

const POLL_MS = 500;
const PAGE = 100;
const WIDTH = 16;

/** Refunds that providers are still to be asked for, or about. */
export function createRefundWorker(deps: Deps): Worker {
  async function runOnce(): Promise<number> {
    const due = await deps.store.refundsDue(deps.now(), PAGE);
    await forEachOf(
      due,
      WIDTH,
      (refund) => askForRefund(deps, refund),
      // It is asked again when the claim has run out.
      (error, { refund }) => deps.log.error({ err: error, refundId: refund.id }, 'refund failed to be asked for'),
    );
    return due.length;
  }

  return createWorker({ name: 'refunds', log: deps.log, runOnce, onWake: deps.store.onCommit, pollMs: POLL_MS });
}

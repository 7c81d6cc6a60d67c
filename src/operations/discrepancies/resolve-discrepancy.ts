import { type DiscrepancyAction, actionsOf, isBookable, withDiscrepancy } from '../../domain/discrepancy.ts';
import { type Resolved, acceptMoney, refundMoney } from '../../domain/discrepancy-decisions.ts';
import { GatewayError, invalidField } from '../../domain/gateway-error.ts';
import { isErased } from '../../domain/personal-data.ts';
import type { Checkout, Discrepancy, Session } from '../../domain/records.ts';
import { assertCan } from '../access/caller.ts';
import { commitDecision } from '../commit-decision.ts';
import type { Deps } from '../deps.ts';
import { found } from '../not-found.ts';
import { applyStoredPayout } from '../settlement/settle-payment.ts';

/** An operator's decision about a discrepancy. */
export interface Verdict {
  action: DiscrepancyAction;
  note: string | null;
  /** Version of the discrepancy that the operator saw; default: the current one. */
  version?: number;
}

/** Reads a discrepancy by id. Throws GatewayError `not_found`. */
export async function getDiscrepancy({ store }: Pick<Deps, 'store'>, id: string): Promise<Discrepancy> {
  return found(await store.discrepancy(id), 'discrepancy', id, 'dis_');
}

/**
 * Refunds or accepts the money of a discrepancy: the new states, the postings, the refund and the record commit together,
 * once. Throws GatewayError `not_found`; `invalid_state` if the discrepancy is resolved, is being refunded, has changed, or
 * does not allow the action; `invalid_input` if a note is needed, or is given although the buyer was erased; `forbidden` without
 * the permission.
 */
export async function resolveDiscrepancy(deps: Deps, id: string, verdict: Verdict): Promise<Discrepancy> {
  assertCan(deps, 'discrepancy.resolve');
  const read = await getDiscrepancy(deps, id);
  const { sessionId } = read;
  const { action, note, version = read.version } = verdict;
  const refundId = deps.newId('ref');
  const { outcome, checkout } = await commitDecision(deps, sessionId, async (before, now) => {
    const known = discrepancyOf(before, id);
    if (!actionsOf(known).includes(action)) throw notOffered(known, action);
    if (known.version !== version) throw changedMeanwhile(known);
    checkNote(known, note, before.session);
    const discrepancy = { ...known, note: note ?? known.note };
    const noted = withDiscrepancy(before, discrepancy);
    const decision =
      action === 'accept' ? acceptMoney(noted, discrepancy, now) : refundMoney(noted, discrepancy, refundId, now);
    const refusal = REFUSALS[decision.outcome]?.(known);
    if (refusal) throw new GatewayError('invalid_state', refusal[0], { suggestion: refusal[1] });
    const isAcceptedSurplus = decision.outcome === 'accepted' && known.kind === 'surplus';
    return isAcceptedSurplus ? applyStoredPayout(deps, before, decision, known.paymentId!, now) : decision;
  });
  deps.log.info({ discrepancyId: id, sessionId, action, outcome }, 'discrepancy resolved');
  return discrepancyOf(checkout, id);
}

function discrepancyOf({ discrepancies }: Checkout, id: string): Discrepancy {
  return discrepancies.find((one) => one.id === id)!;
}

/** Refusals of a decision: the message, and the advice. */
const REFUSALS: Partial<Record<Resolved, (about: Discrepancy) => [message: string, suggestion: string]>> = {
  already_paid: ({ sessionId }) => [`Another payment has paid session ${sessionId}.`, 'Resolve it with action refund.'],
  too_little: () => [
    'The money that arrived does not cover the fees of the payment.',
    'Resolve it with action refund.',
  ],
  nothing_left: ({ paymentId }) => [
    `Payment ${paymentId} is already refunded in full.`,
    'Read the discrepancy again: it is resolved once the refund has succeeded.',
  ],
};

function notOffered(discrepancy: Discrepancy, action: DiscrepancyAction): GatewayError {
  const { id, status, resolution, refunding, refundId, kind } = discrepancy;
  if (status === 'resolved') {
    return new GatewayError('invalid_state', `Discrepancy ${id} is resolved already: ${String(resolution)}.`, {
      suggestion: 'Leave it: the decision is final.',
    });
  }
  if (refunding) {
    return new GatewayError('invalid_state', `Discrepancy ${id} is being refunded: ${String(refundId)}.`, {
      suggestion: 'Wait for the refund: if it succeeds, this is resolved; if it fails, you can decide again.',
    });
  }
  return new GatewayError('invalid_state', `A discrepancy of kind ${kind} cannot be resolved with ${action} here.`, {
    field: 'action',
    suggestion:
      'Have the provider give the money back, in its own dashboard; then resolve it with action accept and a note of that.',
  });
}

/** No note is stored about an erased buyer, and so none is required. */
function checkNote(discrepancy: Discrepancy, note: string | null, session: Session): void {
  if (isErased(session)) {
    if (note === null) return;
    const advice = 'Leave note out; then resend. Nothing was changed.';
    throw invalidField('note', 'invalid_value', 'is not stored: the buyer was erased', advice);
  }
  if (note !== null || isBookable(discrepancy)) return;
  const advice = 'Describe in note how the money was handled at the provider; then resend.';
  throw invalidField('note', 'invalid_type', 'is needed if nothing is booked', advice);
}

function changedMeanwhile({ id }: Discrepancy): GatewayError {
  return new GatewayError('invalid_state', `Discrepancy ${id} has changed since it was read.`, {
    suggestion: 'Read it again, and decide on its new state.',
  });
}

import {
  type Discrepancy,
  type DiscrepancyAction,
  type Resolved,
  acceptMoney,
  actionsOf,
  isBookable,
  refundMoney,
} from '../../domain/discrepancy.ts';
import { GatewayError, invalidField } from '../../domain/errors.ts';
import { isErased } from '../../domain/personal-data.ts';
import type { Session } from '../../domain/records.ts';
import type { Change } from '../../store/store.ts';
import { commitDecision } from '../commit-decision.ts';
import type { Deps } from '../deps.ts';
import { getDiscrepancy } from './read-discrepancies.ts';

export interface Verdict {
  action: DiscrepancyAction;
  note: string | null;
}

/**
 * Decides what becomes of money that is not where it should be: the new states, the postings, the refund and the record
 * commit together, once. Throws GatewayError `not_found`; `invalid_state` where it is resolved, is being refunded, was
 * decided by somebody else at the same time, or does not allow the action; `invalid_input` where a note is needed, or,
 * of a buyer who was erased, given.
 */
export async function resolveDiscrepancy(deps: Deps, id: string, { action, note }: Verdict): Promise<Discrepancy> {
  const discrepancy = await getDiscrepancy(deps, id);
  if (!actionsOf(discrepancy).includes(action)) throw notOffered(discrepancy, action);
  const refundId = deps.newId('ref');
  const decide = action === 'accept' ? acceptMoney : refundMoney;
  const { outcome } = await commitDecision(
    deps,
    discrepancy.sessionId,
    (checkout, now) => {
      checkNote(discrepancy, note, checkout.session);
      return decide(checkout, discrepancy, refundId, now);
    },
    (decision) => changesOf(discrepancy, decision.outcome, note, refundId, deps.now()),
  );
  if (outcome === 'duplicate') throw overtaken(discrepancy);
  const refusal = refusalOf(outcome, discrepancy);
  if (refusal) throw refusal;
  deps.log.info({ discrepancyId: id, sessionId: discrepancy.sessionId, action, outcome }, 'discrepancy resolved');
  return getDiscrepancy(deps, id);
}

function changesOf(
  before: Discrepancy,
  outcome: Resolved,
  note: string | null,
  refundId: string,
  now: number,
): Change[] {
  const moved = { ...before, version: before.version + 1, note: note ?? before.note };
  switch (outcome) {
    case 'accepted':
    case 'closed': {
      const resolved: Discrepancy = { ...moved, status: 'resolved', resolution: 'accepted', resolvedAt: now };
      return [{ type: 'discrepancy_changed', discrepancy: resolved }];
    }
    case 'refunding':
      return [{ type: 'discrepancy_changed', discrepancy: { ...moved, refunding: true, refundId } }];
    default:
      return [];
  }
}

function refusalOf(outcome: Resolved, { sessionId, paymentId }: Discrepancy): GatewayError | undefined {
  switch (outcome) {
    case 'already_paid':
      return new GatewayError('invalid_state', `Another payment has paid session ${sessionId}.`, {
        suggestion: 'Resolve it with action refund.',
      });
    case 'too_little':
      return new GatewayError('invalid_state', 'What came does not cover the fees of the payment.', {
        suggestion: 'Resolve it with action refund.',
      });
    case 'nothing_left':
      return new GatewayError('invalid_state', `Nothing of payment ${paymentId} is left: it is refunded already.`, {
        suggestion: 'Read the discrepancy again: it is resolved once the refund has succeeded.',
      });
    default:
      return undefined;
  }
}

function notOffered(discrepancy: Discrepancy, action: DiscrepancyAction): GatewayError {
  const { id, status, resolution, refunding, refundId, kind } = discrepancy;
  if (status === 'resolved') {
    return new GatewayError('invalid_state', `Discrepancy ${id} is resolved already: ${String(resolution)}.`, {
      suggestion: 'Leave it: what was decided stands.',
    });
  }
  if (refunding) {
    return new GatewayError('invalid_state', `Discrepancy ${id} is being refunded: ${String(refundId)}.`, {
      suggestion: 'Wait for the refund: where it succeeds this is resolved, and where it fails you can decide again.',
    });
  }
  return new GatewayError('invalid_state', `A discrepancy of kind ${kind} cannot be resolved with ${action} here.`, {
    field: 'action',
    suggestion:
      'Have the provider give the money back, in its own dashboard; then resolve it with action accept and a note of that.',
  });
}

/** Of a buyer who was erased nothing new is kept, and so no note can be asked for. */
function checkNote(discrepancy: Discrepancy, note: string | null, session: Session): void {
  if (isErased(session)) {
    if (note !== null) throw noteNotKept();
  } else if (!isBookable(discrepancy) && note === null) throw noteNeeded();
}

function noteNotKept(): GatewayError {
  return invalidField(
    'note',
    'invalid_value',
    'is not kept: the buyer was erased',
    'Leave note out; then resend. Nothing was changed.',
  );
}

function noteNeeded(): GatewayError {
  return invalidField(
    'note',
    'invalid_type',
    'is needed where nothing is booked',
    'Set note to what was done about the money at the provider; then resend.',
  );
}

function overtaken({ id }: Discrepancy): GatewayError {
  return new GatewayError('invalid_state', `Discrepancy ${id} was changed by somebody else at the same time.`, {
    suggestion: 'Read it again, and decide on what it says now.',
  });
}

import { providerText } from '../../domain/failure.ts';
import { GatewayError, invalidField } from '../../domain/gateway-error.ts';
import type { Payment } from '../../domain/records.ts';
import type { Refund } from '../../domain/refund-record.ts';
import type { Provider } from '../../providers/provider.ts';
import type { Deps } from '../deps.ts';
import { getRefund } from '../read-records.ts';
import { applyManualAnswer } from './apply-refund-report.ts';

type Prove = NonNullable<Provider['proveRefund']>;

/**
 * Marks a refund as succeeded that an operator has sent outside this service, once its provider has verified the transaction
 * `txHash` (small letters). A repeated call returns the refund. Throws GatewayError `not_found`; `invalid_state` for a refund that
 * its provider sends, that has failed, or that another transaction has proved; `invalid_input` if the transaction does not pay
 * the refund or has proved another one; `unavailable` if it cannot be verified now.
 */
export async function markRefundPaid(deps: Deps, id: string, txHash: string): Promise<Refund> {
  const refund = await getRefund(deps, id);
  const { payment, prove } = await manualRefund(deps, refund);
  if (refund.status !== 'pending') return asPaid(refund, txHash);
  const { amount, providerReference: reference, created } = refund;
  const proof = await prove({ refundId: id, payment, amount, reference, created }, txHash);
  const answer = { status: 'succeeded', reason: null, reference: txHash } as const;
  const { provider } = payment.route;
  const outcome = await applyManualAnswer(deps, refund, answer, { provider, proof });
  const after = await getRefund(deps, id);
  if (outcome !== 'duplicate' || after.status !== 'pending') return asPaid(after, txHash);
  const advice = 'Name the transaction that paid this refund.';
  throw invalidField('txHash', 'invalid_value', 'has proved another refund', advice);
}

/**
 * Marks a refund as failed that an operator should have sent. A repeated call returns the refund. Throws GatewayError `not_found`;
 * `invalid_state` for a refund that its provider sends, that succeeded, or that failed for another reason; `invalid_input` for a
 * reason without a visible character.
 */
export async function markRefundFailed(deps: Deps, id: string, reason: string): Promise<Refund> {
  const line = providerText(reason);
  if (line === null) {
    throw invalidField(
      'reason',
      'invalid_value',
      'has no visible character',
      'Describe why the buyer did not get the money.',
    );
  }
  const refund = await getRefund(deps, id);
  await manualRefund(deps, refund);
  if (refund.status === 'pending') await applyManualAnswer(deps, refund, { status: 'failed', reason: line });
  const after = await getRefund(deps, id);
  if (after.status === 'failed' && after.failureReason === line) return after;
  throw decided(after);
}

/** The payment of a refund that an operator sends, and the function that verifies a transaction. */
async function manualRefund(deps: Deps, { id, paymentId }: Refund): Promise<{ payment: Payment; prove: Prove }> {
  const payment = (await deps.store.payment(paymentId))!;
  const name = payment.route.provider;
  const provider = deps.providers.get(name);
  if (!provider) {
    throw new GatewayError('invalid_state', `Refund ${id} is of the provider ${name}, which is not connected.`, {
      suggestion: 'Configure this provider again, and restart the service.',
    });
  }
  const { proveRefund } = provider;
  if (provider.traits.refunds === 'manual' && proveRefund) return { payment, prove: proveRefund.bind(provider) };
  throw new GatewayError('invalid_state', `The service itself requests refund ${id} from the provider ${name}.`, {
    suggestion: 'Wait for the answer of the provider: read the refund again.',
  });
}

/** The refund, if exactly this transaction has proved it. */
function asPaid(refund: Refund, txHash: string): Refund {
  if (refund.status === 'succeeded' && refund.providerReference === txHash) return refund;
  throw decided(refund);
}

function decided({ id, status, providerReference, failureReason }: Refund): GatewayError {
  return status === 'failed'
    ? new GatewayError('invalid_state', `Refund ${id} has failed: ${failureReason}.`, {
        suggestion: 'Request a new refund of the payment, and confirm that one.',
      })
    : new GatewayError('invalid_state', `Refund ${id} was paid by the transaction ${providerReference}.`, {
        suggestion: 'Leave it. If the money was sent twice, the second transfer is not part of the books.',
      });
}

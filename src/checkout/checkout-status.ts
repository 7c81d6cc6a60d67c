import { renderTransfer } from '../contract/transfer-contract.ts';
import { leadingPayment } from '../domain/checkout-state.ts';
import { GatewayError } from '../domain/gateway-error.ts';
import { amountFromCents } from '../domain/money.ts';
import type { Checkout } from '../domain/records.ts';
import type { StartedPayment } from '../operations/start-payment.ts';
import { type CheckoutState, versionOf } from './checkout-page-state.ts';

/** The state of a checkout, for the script of the page and for programs that pay for a buyer. */
export function statusDocument(checkout: Checkout, state: CheckoutState) {
  return {
    status: checkout.session.status,
    attempt: leadingPayment(checkout)?.status ?? null,
    /** Changes whenever the page changes. */
    version: versionOf(checkout, state),
    transfer: state.name === 'transfer' ? renderTransfer(state.transfer) : null,
    ...(state.name === 'choose' && {
      methods: state.methods.map(({ kind, label, fees: { total } }) => ({
        kind,
        label,
        total: amountFromCents(total),
        /** Body of the form with which the method is chosen at this total. */
        form: `kind=${kind}&total_${kind}=${total}`,
      })),
    }),
  };
}

/** The error for a program whose payment could not start; undefined if the checkout has a payment. */
export function refusalOfPayment({ outcome }: StartedPayment): GatewayError | undefined {
  switch (outcome) {
    case 'continue':
    case 'already_paid':
      return undefined;
    case 'fee_changed':
      return new GatewayError('invalid_state', 'The total of this method has changed.', CHOOSE_AGAIN);
    case 'no_route':
    case 'refused':
      return new GatewayError('no_eligible_route', 'This method cannot take the payment now.', CHOOSE_AGAIN);
    case 'closed':
      return new GatewayError('invalid_state', 'This checkout takes no further payment.');
    case 'not_taken':
      return new GatewayError('forbidden', 'The merchant takes no payment from this customer.');
  }
}

const CHOOSE_AGAIN = { suggestion: 'Read the status of the checkout, and choose one of its methods.' };

import { isObject, resource } from './answers.ts';
import { callWith, get, listFor } from './call.ts';
import type { TillwayList } from './list.ts';
import type { TillwayPromise } from './promise.ts';
import type { RequestOptions, Transport } from './transport.ts';
import type { PaymentRefundListParams, Refund, RefundListParams, RefundParams } from './types-refunds.ts';

/** Money that goes back to buyers. */
export class Refunds {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Gives back all that is left of a payment (`pay_...`, or `chk_...` of its session), or the amount that is named. The
   * refund is pending until the provider has said what became of it.
   */
  create(paymentId: string, params: RefundParams = {}, options?: RequestOptions): TillwayPromise<Refund> {
    return callWith(this.#transport, {
      method: 'POST',
      path: '/api/gateway/payments/{paymentId}/refunds',
      params: { paymentId },
      body: withKey(this.#transport, params),
      // The key makes a second request answer the first refund.
      repeatable: true,
      read: resource<Refund>('refund'),
      options,
    });
  }

  /** Refunds, newest first. */
  list(params?: RefundListParams, options?: RequestOptions): TillwayList<Refund> {
    return listFor(this.#transport, { path: '/api/gateway/refunds', options }, params);
  }

  /** The refunds of one payment, or of the payment of a session, newest first; `not_found` where there is no such payment. */
  listOfPayment(paymentId: string, params?: PaymentRefundListParams, options?: RequestOptions): TillwayList<Refund> {
    const path = '/api/gateway/payments/{paymentId}/refunds';
    return listFor(this.#transport, { path, params: { paymentId }, options }, params);
  }

  /** One refund with its present status. */
  get(refundId: string, options?: RequestOptions): TillwayPromise<Refund> {
    return get(this.#transport, {
      path: '/api/gateway/refunds/{refundId}',
      params: { refundId },
      read: resource<Refund>('refund'),
      options,
    });
  }
}

/** With a key of its own where none is given: so that a retry gives nothing back twice. */
function withKey(transport: Transport, params: RefundParams): RefundParams {
  const given: RefundParams = params;
  return isObject(params) ? { ...given, idempotencyKey: given.idempotencyKey ?? transport.newKey() } : given;
}

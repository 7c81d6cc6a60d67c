import { resource } from './answers.ts';
import { callFor, callWith } from './call.ts';
import { TillwayPromise } from './promise.ts';
import type { RequestOptions, Transport } from './transport.ts';
import type { SettleParams, Settlement, SettlementImport, SettlementImportParams } from './types-ledger.ts';

/** What of the payments has been paid out to the merchant. */
export class Settlements {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Records that what is left of a payment (`pay_...`, or `chk_...` of its session) has been paid out. It is recorded
   * once: asked again, the first settlement is answered.
   */
  settle(paymentId: string, params: SettleParams = {}, options?: RequestOptions): TillwayPromise<Settlement> {
    return callWith(this.#transport, {
      method: 'POST',
      path: '/api/gateway/payments/{paymentId}/settle',
      params: { paymentId },
      body: params,
      repeatable: true,
      read: resource<Settlement>('settlement'),
      options,
    });
  }

  /** Settles the payments of a CSV file, and says of every line what became of it. The same file again changes nothing. */
  import(csv: string, params: SettlementImportParams = {}, options?: RequestOptions): TillwayPromise<SettlementImport> {
    if (typeof csv !== 'string') {
      return new TillwayPromise(() => Promise.reject(new TypeError('the settlement file must be its text')));
    }
    return callFor(this.#transport, {
      method: 'POST',
      path: `/api/gateway/settlements/import`,
      query: { ...params },
      file: { type: 'text/csv', text: csv },
      repeatable: true,
      read: resource<SettlementImport>('settlement_import'),
      options,
    });
  }
}

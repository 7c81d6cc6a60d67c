import { resource } from './answers.ts';
import { callWith, get, listFor } from './call.ts';
import type { TillwayList } from './list.ts';
import type { TillwayPromise } from './promise.ts';
import type { RequestOptions, Transport } from './transport.ts';
import type { Discrepancy, DiscrepancyListParams, ResolveParams } from './types-operator.ts';

/** Money that came twice, or not as it was asked for. */
export class Discrepancies {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Discrepancies, newest first. */
  list(params?: DiscrepancyListParams, options?: RequestOptions): TillwayList<Discrepancy> {
    return listFor(this.#transport, { path: '/api/gateway/discrepancies', options }, params);
  }

  /** One discrepancy, with what can be done about it. */
  get(discrepancyId: string, options?: RequestOptions): TillwayPromise<Discrepancy> {
    return get(this.#transport, {
      path: '/api/gateway/discrepancies/{discrepancyId}',
      params: { discrepancyId },
      read: resource<Discrepancy>('discrepancy'),
      options,
    });
  }

  /** Gives the money back, or takes it as it is; refused as `invalid_state` where that is decided already. */
  resolve(discrepancyId: string, params: ResolveParams, options?: RequestOptions): TillwayPromise<Discrepancy> {
    return callWith(this.#transport, {
      method: 'POST',
      path: '/api/gateway/discrepancies/{discrepancyId}/resolve',
      params: { discrepancyId },
      body: params,
      // A second one would be refused, and hide that the first was done.
      repeatable: false,
      read: resource<Discrepancy>('discrepancy'),
      options,
    });
  }
}

import { resource } from './answers.ts';
import { get, listFor } from './call.ts';
import type { TillwayList } from './list.ts';
import type { TillwayPromise } from './promise.ts';
import type { RequestOptions, Transport } from './transport.ts';
import type {
  LedgerBalanceParams,
  LedgerBalances,
  LedgerEntry,
  LedgerEntryListParams,
  LedgerExportParams,
} from './types-ledger.ts';

/** The books: double entry, with nothing ever changed or removed. */
export class Ledger {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** What every account holds, now or at a time. */
  balances(params: LedgerBalanceParams = {}, options?: RequestOptions): TillwayPromise<LedgerBalances> {
    return get(this.#transport, {
      path: '/api/gateway/ledger/balances',
      query: { ...params },
      read: resource<LedgerBalances>('ledger_balances'),
      options,
    });
  }

  /** The journal, newest first. */
  entries(params?: LedgerEntryListParams, options?: RequestOptions): TillwayList<LedgerEntry> {
    return listFor(this.#transport, { path: '/api/gateway/ledger/entries', options }, params);
  }

  /**
   * The journal as CSV with a header, oldest first, in parts as they arrive: `for await (const part of ...)`. It throws
   * where the answer breaks off; `timeoutMs` is how long each part may take.
   */
  export(params: LedgerExportParams = {}, options?: RequestOptions): AsyncGenerator<string> {
    return this.#transport.stream({
      path: '/api/gateway/ledger/export',
      query: { ...params },
      type: 'text/csv',
      options,
    });
  }
}

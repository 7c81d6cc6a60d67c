import { resource } from './answers.ts';
import { callFor, callWith, listFor } from './call.ts';
import type { TillwayList } from './list.ts';
import type { TillwayPromise } from './promise.ts';
import type { RequestOptions, Transport } from './transport.ts';
import type { ApiKey, ApiKeyListParams, ApiKeyParams, CreatedApiKey } from './types-keys.ts';

/** The keys of the environment of the admin key that asks. */
export class ApiKeys {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Makes a key. Its text is in the answer this once. */
  create(params: ApiKeyParams, options?: RequestOptions): TillwayPromise<CreatedApiKey> {
    return callWith(this.#transport, {
      method: 'POST',
      path: '/api/gateway/keys',
      body: params,
      // Twice would be two keys.
      repeatable: false,
      read: resource<CreatedApiKey>('api_key'),
      options,
    });
  }

  /** Keys, newest first, revoked ones too. */
  list(params?: ApiKeyListParams, options?: RequestOptions): TillwayList<ApiKey> {
    return listFor(this.#transport, { path: '/api/gateway/keys', options }, params);
  }

  /** Closes a key for good. */
  revoke(keyId: string, options?: RequestOptions): TillwayPromise<ApiKey> {
    return callFor(this.#transport, {
      method: 'POST',
      path: '/api/gateway/keys/{keyId}/revoke',
      params: { keyId },
      repeatable: true,
      read: resource<ApiKey>('api_key'),
      options,
    });
  }
}

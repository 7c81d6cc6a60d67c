import { isObject, resource } from './answers.ts';
import { callFor, callWith, get, listFor } from './call.ts';
import type { TillwayList } from './list.ts';
import type { TillwayPromise } from './promise.ts';
import type { RequestOptions, Transport } from './transport.ts';
import type { Recovery } from './types-deliveries.ts';
import type {
  DeletedWebhookEndpoint,
  RotateSecretParams,
  WebhookEndpoint,
  WebhookEndpointListParams,
  WebhookEndpointParams,
  WebhookEndpointUpdate,
  WebhookEndpointWithSecret,
  WebhookTest,
} from './types-endpoints.ts';
import type { RecoverParams } from './types-requests.ts';

const PATH = '/api/gateway/webhook-endpoints';
const ONE = `${PATH}/{endpointId}`;

/** Where webhooks go to, and what they are signed with. */
export class WebhookEndpoints {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Makes an endpoint. Keep its `secret`: no other answer shows it. */
  create(params: WebhookEndpointParams, options?: RequestOptions): TillwayPromise<WebhookEndpointWithSecret> {
    return callWith(this.#transport, {
      method: 'POST',
      path: PATH,
      body: params,
      // The secret of one whose answer was lost is lost with it: asked again, there would be two.
      repeatable: false,
      read: resource<WebhookEndpointWithSecret>('webhook_endpoint'),
      options,
    });
  }

  /** Endpoints, newest first, the one that the configuration of the service names among them. */
  list(params?: WebhookEndpointListParams, options?: RequestOptions): TillwayList<WebhookEndpoint> {
    return listFor(this.#transport, { path: PATH, options }, params);
  }

  get(endpointId: string, options?: RequestOptions): TillwayPromise<WebhookEndpoint> {
    return get(this.#transport, {
      path: ONE,
      params: { endpointId },
      read: resource<WebhookEndpoint>('webhook_endpoint'),
      options,
    });
  }

  /** Changes what is named; `{ status: 'active' }` enables it again. */
  update(endpointId: string, params: WebhookEndpointUpdate, options?: RequestOptions): TillwayPromise<WebhookEndpoint> {
    return callWith(this.#transport, {
      method: 'PATCH',
      path: ONE,
      params: { endpointId },
      body: params,
      // It says what shall be, not what is to be added.
      repeatable: true,
      read: resource<WebhookEndpoint>('webhook_endpoint'),
      options,
    });
  }

  /** Deletes it for good; what waits for it is given up. */
  delete(endpointId: string, options?: RequestOptions): TillwayPromise<DeletedWebhookEndpoint> {
    return callFor(this.#transport, {
      method: 'DELETE',
      path: ONE,
      params: { endpointId },
      // Asked again after a lost answer, it would be refused as `not_found`.
      repeatable: false,
      read: resource<DeletedWebhookEndpoint>('webhook_endpoint'),
      options,
    });
  }

  /** Makes a new secret, and has those before sign beside it for a while. Keep it: no other answer shows it. */
  rotateSecret(
    endpointId: string,
    params: RotateSecretParams = {},
    options?: RequestOptions,
  ): TillwayPromise<WebhookEndpointWithSecret> {
    return callWith(this.#transport, {
      method: 'POST',
      path: `${ONE}/rotate-secret`,
      params: { endpointId },
      body: params,
      // As with a new endpoint.
      repeatable: false,
      read: resource<WebhookEndpointWithSecret>('webhook_endpoint'),
      options,
    });
  }

  /**
   * Sends it every event of a time that it has not acknowledged: each once, in the order in which they happened. What is
   * on its way already is left to that, so that asking twice sends nothing twice.
   */
  recover(endpointId: string, params: RecoverParams, options?: RequestOptions): TillwayPromise<Recovery> {
    return callWith(this.#transport, {
      method: 'POST',
      path: `${ONE}/recover`,
      params: { endpointId },
      body: params,
      // What is on its way is not sent twice; what was acknowledged would be.
      repeatable: isObject(params) && params.all !== true,
      read: resource<Recovery>('recovery'),
      options,
    });
  }

  /** How far a recovery has got. */
  recovery(recoveryId: string, options?: RequestOptions): TillwayPromise<Recovery> {
    return get(this.#transport, {
      path: '/api/gateway/recoveries/{recoveryId}',
      params: { recoveryId },
      read: resource<Recovery>('recovery'),
      options,
    });
  }

  /** Posts a sample event to it at once, disabled or not, and answers what came of it. */
  test(endpointId: string, options?: RequestOptions): TillwayPromise<WebhookTest> {
    return callFor(this.#transport, {
      method: 'POST',
      path: `${ONE}/test`,
      params: { endpointId },
      // One call, one delivery.
      repeatable: false,
      read: resource<WebhookTest>('webhook_test'),
      options,
    });
  }
}

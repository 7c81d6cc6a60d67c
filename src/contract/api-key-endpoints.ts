import { SAMPLE_KEY_ID, apiKeyResource, createdApiKey, keyRequest } from './api-keys.ts';
import type { Endpoint } from './endpoint.ts';
import { keysQuery } from './queries.ts';
import { listOf } from './resources.ts';

/** Who may use the API. */
export const API_KEY_ENDPOINTS = {
  create: {
    operationId: 'createApiKey',
    method: 'POST',
    access: 'admin',
    keys: 'required',
    path: '/api/gateway/keys',
    tag: 'keys',
    summary: 'Create an API key',
    description:
      'Makes a key of the environment of the key that asks, and shows its text this once. The first key of a service is made with tillway keys create or named in BOOTSTRAP_API_KEYS: where none is asked for, this is refused.',
    body: keyRequest,
    requestExample: { name: 'Shop backend', scope: 'write' },
    response: createdApiKey,
    errors: ['forbidden'],
  },
  list: {
    operationId: 'listApiKeys',
    method: 'GET',
    access: 'admin',
    path: '/api/gateway/keys',
    tag: 'keys',
    summary: 'List API keys',
    description: 'Newest first, revoked ones too. Their texts are known to their owners alone.',
    query: keysQuery,
    response: listOf(apiKeyResource),
    errors: [],
  },
  revoke: {
    operationId: 'revokeApiKey',
    method: 'POST',
    access: 'admin',
    path: '/api/gateway/keys/{keyId}/revoke',
    tag: 'keys',
    summary: 'Revoke an API key',
    description:
      'Closes a key for good, within a second on every instance; one that is revoked already is answered as it is. A service whose last key is revoked stays closed. Takes no body.',
    params: { keyId: { description: 'An API key: key_...', example: SAMPLE_KEY_ID } },
    response: apiKeyResource,
    errors: ['not_found'],
  },
} as const satisfies Record<string, Endpoint>;

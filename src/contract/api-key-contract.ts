import { z } from 'zod';
import { KEY_SCOPES, KEY_SOURCES, type KnownKey } from '../domain/api-key.ts';
import { ENVIRONMENTS } from '../domain/route.ts';
import { endpoints } from './endpoint.ts';
import { amount, largeAmount, text } from './request-fields.ts';
import { environment, listOf, listQuery } from './list-query.ts';
import * as field from './resource-fields.ts';
import { named, rendererFrom, resource } from './resource.ts';

const scope = named(
  'ApiKeyScope',
  field.choice(
    KEY_SCOPES,
    "read: reads the merchant's records; write: also creates and changes records; admin: also manages keys and the operator's settings; agent: discovers, previews and creates checkouts within its limits, and reads single sessions and payments.",
    'write',
  ),
);

const keyRequest = z.strictObject({
  name: field.described(text(1, 120), 'Purpose of the key.', 'Shop backend'),
  scope,
  environment: z.optional(field.choice(ENVIRONMENTS, 'Environment of the requesting key, which is the default.')),
  spendPerCheckout: field.optional(
    amount,
    'Limit per checkout in US dollars, not cents. Only for scope agent, which requires spendPerCheckout or spendPerDay or both.',
    50,
  ),
  spendPerDay: field.optional(
    largeAmount,
    'Limit for the sum of all checkouts of a UTC day, in US dollars, not cents. Only for scope agent.',
    200,
  ),
});

const apiKeyResource = resource('ApiKey', 'api_key', {
  id: field.id('key', 'The key.'),
  name: field.label('Purpose of the key.', 'Shop backend'),
  environment: field.environmentOf('The only environment that the key can access.'),
  scope,
  last4: field.label('The last four characters of the key.', '4fG9'),
  status: field.choice(['active', 'revoked'], 'revoked: requests with this key are rejected.'),
  spendPerCheckout: field.orNull(field.dollars('Limit per checkout, or null.', 50)),
  spendPerDay: field.orNull(field.dollars('Limit for the sum of all checkouts of a UTC day, or null.', 200)),
  spentToday: field.orNull(field.dollars('Amount spent since 00:00 UTC; null for keys without limits.', 37.5)),
  source: field.choice(
    KEY_SOURCES,
    'Origin: api, command (tillway keys create), or configuration (BOOTSTRAP_API_KEYS).',
    'command',
  ),
  created: field.time('Creation time.'),
  lastUsedAt: field.time('Time of the last use, to the minute, or null.').nullable(),
  revokedAt: field.orNull(field.time('Time of revocation; null while it is active.')),
});
export type ApiKeyResource = z.output<typeof apiKeyResource>;

/** Response to the creation of a key, the only response that contains the key itself. */
const createdApiKey = named(
  'CreatedApiKey',
  apiKeyResource.extend({
    key: field.label('The key itself, shown only now: the service stores only a hash.', `sk_sandbox_${'0'.repeat(43)}`),
  }),
);

export const renderApiKey = rendererFrom(apiKeyResource, ({ key, spentToday }: KnownKey) => ({
  ...key,
  spentToday,
  status: key.revokedAt === null ? 'active' : 'revoked',
}));

const keysQuery = listQuery('key', { environment });

export const API_KEY_ENDPOINTS = endpoints('keys', {
  createApiKey: {
    route: 'POST /api/gateway/keys',
    access: 'admin',
    keys: 'required',
    summary: 'Create an API key',
    description:
      'Creates a key in the environment of the requesting key. The key itself is shown only in this response. Requires an admin key: create the first key with tillway keys create or BOOTSTRAP_API_KEYS.',
    body: keyRequest,
    requestExample: { name: 'Shop backend', scope: 'write' },
    response: createdApiKey,
    errors: ['forbidden'],
  },
  listApiKeys: {
    route: 'GET /api/gateway/keys',
    access: 'admin',
    summary: 'List API keys',
    description: 'Newest first, including revoked keys. The keys themselves are not included.',
    query: keysQuery,
    response: listOf(apiKeyResource),
  },
  revokeApiKey: {
    route: 'POST /api/gateway/keys/{keyId}/revoke',
    access: 'admin',
    summary: 'Revoke an API key',
    description:
      'Revokes a key permanently, within a second on every instance. If the key is already revoked, returns it unchanged. The service still requires keys after the last key is revoked. Takes no body.',
    response: apiKeyResource,
  },
});

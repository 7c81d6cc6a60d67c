import { z } from 'zod';
import { KEY_SCOPES, KEY_SOURCES, type KnownKey } from '../domain/api-key.ts';
import { ENVIRONMENTS } from '../domain/route.ts';
import { endpoints } from './endpoint.ts';
import { amount, sampleAmount, text } from './request-fields.ts';
import { environment, listOf, listQuery } from './list-query.ts';
import * as field from './resource-fields.ts';
import { named, rendererFrom, resource } from './resource.ts';

const scope = named(
  'ApiKeyScope',
  field.choice(
    KEY_SCOPES,
    "read: the merchant's records; write: creates and changes them too; admin: keys and other settings of the operator too; agent: discovers, previews and creates checkouts within its limits, and reads single sessions and payments.",
    'write',
  ),
);

const keyRequest = z.strictObject({
  name: field.described(text(1, 120), 'Purpose of the key.', 'Shop backend'),
  scope,
  environment: z.optional(field.choice(ENVIRONMENTS, "The requesting key's environment, which is also the default.")),
  spendPerCheckout: field.optional(
    amount,
    'Limit per checkout in US dollars, not cents. Only for agents, who need this, spendPerDay or both.',
    50,
  ),
  spendPerDay: field.optional(
    sampleAmount,
    'Limit for the checkouts of a day (UTC) together, in US dollars, not cents. Only for agents.',
    200,
  ),
});

const apiKeyResource = resource('ApiKey', 'api_key', {
  id: field.id('key', 'The key.'),
  name: field.label('Purpose of the key.', 'Shop backend'),
  environment: field.environmentOf('The only environment that it can see and change.'),
  scope,
  last4: field.label('The last four characters of its text.', '4fG9'),
  status: field.choice(['active', 'revoked'], 'revoked: requests with it are rejected.'),
  spendPerCheckout: field.orNull(field.dollars('Limit per checkout, or null.', 50)),
  spendPerDay: field.orNull(field.dollars('Limit for the checkouts of a day (UTC) together, or null.', 200)),
  spentToday: field.orNull(field.dollars('Amount spent since 00:00 UTC; null for keys without limits.', 37.5)),
  source: field.choice(
    KEY_SOURCES,
    'Origin: api, command (tillway keys create), or configuration (BOOTSTRAP_API_KEYS).',
    'command',
  ),
  created: field.time('Creation time.'),
  lastUsedAt: field.time('Time of its last use, to the minute, or null.').nullable(),
  revokedAt: field.orNull(field.time('Time of revocation; null while it is active.')),
});
export type ApiKeyResource = z.output<typeof apiKeyResource>;

/** A new key: the only response with its text. */
const createdApiKey = named(
  'CreatedApiKey',
  apiKeyResource.extend({
    key: field.label('The key itself, shown only now: the service stores a hash only.', `sk_sandbox_${'0'.repeat(43)}`),
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
      "Makes a key of the requesting key's environment, and shows its text this once. The first key of a service is made with tillway keys create or named in BOOTSTRAP_API_KEYS: a request without a key is refused.",
    body: keyRequest,
    requestExample: { name: 'Shop backend', scope: 'write' },
    response: createdApiKey,
    errors: ['forbidden'],
  },
  listApiKeys: {
    route: 'GET /api/gateway/keys',
    access: 'admin',
    summary: 'List API keys',
    description: 'Newest first, including revoked keys. Only their owners know their texts.',
    query: keysQuery,
    response: listOf(apiKeyResource),
  },
  revokeApiKey: {
    route: 'POST /api/gateway/keys/{keyId}/revoke',
    access: 'admin',
    summary: 'Revoke an API key',
    description:
      'Revokes a key permanently, within a second on every instance. A revoked key is answered unchanged. A service whose last key is revoked stays closed. Takes no body.',
    response: apiKeyResource,
  },
});

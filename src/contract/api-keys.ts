import { z } from 'zod';
import { KEY_SCOPES, KEY_SOURCES, type KnownKey } from '../domain/api-key.ts';
import { amountFromCents } from '../domain/money.ts';
import { dollars, label, time } from './described.ts';
import { amount, sampleAmount, text } from './fields.ts';
import { timestamp } from './render.ts';

export const SAMPLE_KEY_ID = 'key_01m7x0c2r5v8y1b4e7h0k3n6q9t2w5z8a1d4';
const SAMPLE_KEY = `sk_sandbox_${'0'.repeat(43)}`;

const SCOPE =
  "read: the merchant's records; write: creates and changes them too; admin: keys and other settings of the operator too; agent: discovers, previews and creates checkouts within its limits, and reads single sessions and payments.";

/** Body of `POST /api/gateway/keys`. */
export const keyRequest = z.strictObject({
  name: text(1, 120)
    .describe('What it is for.')
    .meta({ examples: ['Shop backend'] }),
  scope: z
    .enum(KEY_SCOPES)
    .describe(SCOPE)
    .meta({ examples: ['write'] }),
  environment: z
    .enum(['sandbox', 'production'])
    .optional()
    .describe('That of the key which asks, and left out the same.')
    .meta({ examples: ['sandbox'] }),
  spendPerCheckout: amount
    .optional()
    .describe(
      'What one checkout may cost at most, in US dollars, not cents. Of agents only, who need this, spendPerDay or both.',
    )
    .meta({ examples: [50] }),
  spendPerDay: sampleAmount
    .optional()
    .describe('What the checkouts of a day (UTC) may cost together at most, in US dollars, not cents. Of agents only.')
    .meta({ examples: [200] }),
});

export const apiKeyResource = z.strictObject({
  id: label('The key. Starts with key_.', SAMPLE_KEY_ID),
  object: z.literal('api_key').describe('Always api_key.'),
  name: label('What it is for.', 'Shop backend'),
  environment: z.enum(['sandbox', 'production']).describe('The only environment that it can see and change.'),
  scope: z
    .enum(KEY_SCOPES)
    .describe(SCOPE)
    .meta({ examples: ['write'] }),
  last4: label('The last four characters of its text.', '4fG9'),
  status: z.enum(['active', 'revoked']).describe('revoked: it opens nothing any more.'),
  spendPerCheckout: dollars('What one checkout may cost at most; null without such a limit.', 50)
    .nullable()
    .meta({ examples: [null] }),
  spendPerDay: dollars('What the checkouts of a day (UTC) may cost together; null without such a limit.', 200)
    .nullable()
    .meta({ examples: [null] }),
  spentToday: dollars('What it has spent since 00:00 UTC; null for keys without limits.', 37.5)
    .nullable()
    .meta({ examples: [null] }),
  source: z
    .enum(KEY_SOURCES)
    .describe('How it was made: api, command (tillway keys create), or configuration (BOOTSTRAP_API_KEYS).')
    .meta({ examples: ['command'] }),
  created: time('When it was made.'),
  lastUsedAt: time('When it was used last, to the minute; null where it never was.').nullable(),
  revokedAt: time('When it was revoked; null while it is active.')
    .nullable()
    .meta({ examples: [null] }),
});
export type ApiKeyResource = z.output<typeof apiKeyResource>;

/** What creating a key answers: its text this once. */
export const createdApiKey = apiKeyResource.extend({
  key: label('The key itself, shown this once: it is kept as a hash only.', SAMPLE_KEY),
});

export function renderApiKey({ key, spentToday }: KnownKey): ApiKeyResource {
  const at = (instant: number | null) => (instant === null ? null : timestamp(instant));
  const cents = (value: number | null) => (value === null ? null : amountFromCents(value));
  return {
    id: key.id,
    object: 'api_key',
    name: key.name,
    environment: key.environment,
    scope: key.scope,
    last4: key.last4,
    status: key.revokedAt === null ? 'active' : 'revoked',
    spendPerCheckout: cents(key.spendPerCheckout),
    spendPerDay: cents(key.spendPerDay),
    spentToday: cents(spentToday),
    source: key.source,
    created: timestamp(key.created),
    lastUsedAt: at(key.lastUsedAt),
    revokedAt: at(key.revokedAt),
  };
}

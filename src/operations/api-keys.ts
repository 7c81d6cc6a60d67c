import { createHash } from 'node:crypto';
import {
  type ApiKey,
  type KnownKey,
  dayOf,
  environmentOfKey,
  hashOfKey,
  lastOfKey,
  newKeyText,
} from '../domain/api-key.ts';
import { GatewayError } from '../domain/errors.ts';
import type { RandomBytes } from '../domain/id.ts';
import type { Listed, Page } from '../store/page.ts';
import type { ApiKeyFilter } from '../store/api-keys.ts';
import type { Change } from '../store/store.ts';
import { keyRevoked } from './access/gate.ts';
import type { Deps } from './deps.ts';
import { recordNotFound } from './not-found.ts';

type Keeping = Pick<Deps, 'store' | 'now'>;
/** With the key that asks, where one does: nothing is done by one that was revoked, however late that became known. */
type Changing = Keeping & Partial<Pick<Deps, 'caller'>>;

/** What a key is to be; limits in cents. */
export type KeyRequest = Pick<ApiKey, 'environment' | 'name' | 'scope' | 'spendPerCheckout' | 'spendPerDay' | 'source'>;

/**
 * Makes a key, and answers its text, which nobody can learn again. Throws GatewayError `invalid_input` for limits that are
 * not of its scope, KeyRefusal where the key that asks was revoked meanwhile.
 */
export async function createApiKey(
  deps: Changing & Pick<Deps, 'newId'> & { randomBytes: RandomBytes },
  request: KeyRequest,
): Promise<KnownKey & { text: string }> {
  const fault = limitsFault(request);
  if (fault) throw fault;
  const text = newKeyText(request.environment, deps.randomBytes);
  const key: ApiKey = {
    ...request,
    id: deps.newId('key'),
    hash: hashOfKey(text),
    last4: lastOfKey(text),
    created: deps.now(),
    lastUsedAt: null,
    revokedAt: null,
  };
  if (!(await commitBy(deps, { type: 'api_key_created', key }))) throw new Error(`the key ${key.id} exists already`);
  return { key, spentToday: key.scope === 'agent' ? 0 : null, text };
}

/** Newest first. */
export async function listApiKeys(deps: Keeping, filter: ApiKeyFilter, page: Page): Promise<Listed<KnownKey>> {
  const { items, hasMore } = await deps.store.listApiKeys(filter, page);
  return { items: await Promise.all(items.map((key) => known(deps, key))), hasMore };
}

/**
 * Closes a key for good; one that is closed stays as it is. Throws GatewayError `not_found`, KeyRefusal where the key
 * that asks was revoked meanwhile.
 */
export async function revokeApiKey(deps: Changing, id: string): Promise<KnownKey> {
  await find(deps, id);
  await commitBy(deps, { type: 'api_key_revoked', keyId: id, at: deps.now() });
  return known(deps, await find(deps, id));
}

/** Whether it was done. What is believed of the key that asks is not enough here: a successor would outlive it. */
async function commitBy({ store, caller }: Changing, change: Change): Promise<boolean> {
  const result = await store.commit(caller ? [{ type: 'api_key_active', keyId: caller.id }, change] : [change]);
  if (!result.done && result.conflict === 'key_revoked') throw keyRevoked();
  return result.done;
}

/**
 * Registers the keys that configuration names, each an admin of its environment. Their ids follow from them, so that
 * every instance registers the same ones; one that was revoked stays so.
 */
export async function registerConfiguredKeys(
  deps: Keeping & Pick<Deps, 'log'>,
  texts: readonly string[],
): Promise<void> {
  for (const text of texts) {
    const hash = hashOfKey(text);
    const key: ApiKey = {
      id: configuredKeyId(hash),
      environment: environmentOfKey(text)!,
      name: 'BOOTSTRAP_API_KEYS',
      scope: 'admin',
      hash,
      last4: lastOfKey(text),
      spendPerCheckout: null,
      spendPerDay: null,
      source: 'configuration',
      created: deps.now(),
      lastUsedAt: null,
      revokedAt: null,
    };
    await deps.store.commit([{ type: 'api_key_created', key }]);
    const kept = await deps.store.apiKeyByHash(hash);
    if (kept?.revokedAt === null) continue;
    deps.log.warn({ key: kept?.id }, 'a key of BOOTSTRAP_API_KEYS was revoked, and stays so: remove it there');
  }
}

// Before every time there is: lists show them last.
const NO_TIME = '0'.repeat(10);
const REST_LENGTH = 26;

function configuredKeyId(hash: string): string {
  // Hex digits are all letters of the id alphabet. Not those of the hash itself: that stays in the database.
  return `key_${NO_TIME}${createHash('sha256').update(`configured ${hash}`).digest('hex').slice(0, REST_LENGTH)}`;
}

async function find({ store }: Keeping, id: string): Promise<ApiKey> {
  const key = await store.apiKey(id);
  if (!key) throw recordNotFound('API key', id, 'key_');
  return key;
}

async function known({ store, now }: Keeping, key: ApiKey): Promise<KnownKey> {
  return { key, spentToday: key.scope === 'agent' ? await store.apiKeySpend(key.id, dayOf(now())) : null };
}

/** Why the limits of a key are none for its scope; undefined where they are. */
function limitsFault({ scope, spendPerCheckout, spendPerDay }: KeyRequest): GatewayError | undefined {
  const hasLimits = spendPerCheckout !== null || spendPerDay !== null;
  if (hasLimits === (scope === 'agent')) return undefined;
  const message = hasLimits
    ? 'spendPerCheckout and spendPerDay limit keys of scope agent only.'
    : 'A key of scope agent needs spendPerCheckout, spendPerDay or both.';
  return new GatewayError('invalid_input', message, {
    field: hasLimits && spendPerCheckout === null ? 'spendPerDay' : 'spendPerCheckout',
    suggestion: hasLimits
      ? 'Leave them out, or set scope to "agent"; then resend.'
      : 'Set them in US dollars; then resend.',
  });
}

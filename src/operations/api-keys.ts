import { createHash } from 'node:crypto';
import {
  type ApiKey,
  type KnownKey,
  dayOf,
  environmentOfKey,
  hashOfKey,
  lastCharactersOfKey,
  newKeyText,
} from '../domain/api-key.ts';
import { GatewayError } from '../domain/gateway-error.ts';
import type { RandomBytes } from '../domain/id.ts';
import type { PageResult, Page } from '../store/list-page.ts';
import type { ApiKeyFilter } from '../store/tables/api-keys-table.ts';
import type { Change } from '../store/store.ts';
import { revokedKeyError } from './access/key-gate.ts';
import type { Deps } from './deps.ts';
import { found } from './not-found.ts';

type KeyDeps = Pick<Deps, 'store' | 'now'>;
/** Dependencies of a change of keys, with the caller's key, if any. The commit rejects a change by a revoked key. */
type KeyWriteDeps = KeyDeps & Partial<Pick<Deps, 'caller'>>;

/** Fields of a new key; limits in cents. */
export type KeyRequest = Pick<ApiKey, 'environment' | 'name' | 'scope' | 'spendPerCheckout' | 'spendPerDay' | 'source'>;

/** Creates a key and returns its text, which is not stored. Throws GatewayError `invalid_input` for wrong limits, and KeyRefusal. */
export async function createApiKey(
  deps: KeyWriteDeps & Pick<Deps, 'newId'> & { randomBytes: RandomBytes },
  request: KeyRequest,
): Promise<KnownKey & { text: string }> {
  const fault = limitsFault(request);
  if (fault) throw fault;
  const text = newKeyText(request.environment, deps.randomBytes);
  const key = newKey(request, { id: deps.newId('key'), text, created: deps.now() });
  if (!(await commitBy(deps, { type: 'api_key_created', key }))) throw new Error(`the key ${key.id} exists already`);
  return { key, spentToday: key.scope === 'agent' ? 0 : null, text };
}

/** API keys, newest first. */
export async function listApiKeys(deps: KeyDeps, filter: ApiKeyFilter, page: Page): Promise<PageResult<KnownKey>> {
  const { items, hasMore } = await deps.store.listApiKeys(filter, page);
  return { items: await Promise.all(items.map((key) => known(deps, key))), hasMore };
}

/** Revokes a key; a repeat changes nothing. Throws GatewayError `not_found`, or KeyRefusal if the caller's key was revoked meanwhile. */
export async function revokeApiKey(deps: KeyWriteDeps, id: string): Promise<KnownKey> {
  const { environment } = await find(deps, id);
  await commitBy(deps, { type: 'api_key_revoked', keyId: id, environment, at: deps.now() });
  return known(deps, await find(deps, id));
}

/** Returns true if the change was committed. The commit checks the caller's key, because this instance may have cached a revoked key. */
async function commitBy({ store, caller }: KeyWriteDeps, change: Change): Promise<boolean> {
  const active: Change[] = caller?.key ? [{ type: 'api_key_active', keyId: caller.key.id }] : [];
  const result = await store.commit([...active, change]);
  if (!result.done && result.conflict === 'key_revoked') throw revokedKeyError();
  return result.done;
}

/** Registers BOOTSTRAP_API_KEYS as admin keys. Their ids derive from the keys, the same on all instances. Revoked keys stay revoked. */
export async function registerConfiguredKeys(
  deps: KeyDeps & Pick<Deps, 'log'>,
  texts: readonly string[],
): Promise<void> {
  for (const text of texts) {
    const hash = hashOfKey(text);
    const about = { environment: environmentOfKey(text)!, name: 'BOOTSTRAP_API_KEYS' };
    const request = { ...about, scope: 'admin', spendPerCheckout: null, spendPerDay: null } as const;
    const identity = { id: configuredKeyId(hash), text, created: deps.now() };
    const key = newKey({ ...request, source: 'configuration' }, identity);
    await deps.store.commit([{ type: 'api_key_created', key }]);
    const stored = await deps.store.apiKeyByHash(hash);
    if (stored?.revokedAt === null) continue;
    deps.log.warn(
      { key: stored?.id },
      'a key of BOOTSTRAP_API_KEYS is revoked, and stays revoked: remove it from the setting',
    );
  }
}

function newKey(request: KeyRequest, { id, text, created }: { id: string; text: string; created: number }): ApiKey {
  const hidden = { hash: hashOfKey(text), last4: lastCharactersOfKey(text) };
  return { ...request, ...hidden, id, created, lastUsedAt: null, revokedAt: null };
}

// Time part of the ids of configured keys. It is before every real time, so lists show these keys last.
const NO_TIME = '0'.repeat(10);
const REST_LENGTH = 26;

function configuredKeyId(hash: string): string {
  // Hex digits are valid characters of an id. The id does not contain the stored hash itself, because ids are public.
  return `key_${NO_TIME}${createHash('sha256').update(`configured ${hash}`).digest('hex').slice(0, REST_LENGTH)}`;
}

async function find({ store }: KeyDeps, id: string): Promise<ApiKey> {
  return found(await store.apiKey(id), 'API key', id, 'key_');
}

async function known({ store, now }: KeyDeps, key: ApiKey): Promise<KnownKey> {
  return { key, spentToday: key.scope === 'agent' ? await store.apiKeySpend(key.id, dayOf(now())) : null };
}

/** Error for spending limits that do not match the scope of the key; undefined if they match. */
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

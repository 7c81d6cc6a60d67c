import { type ApiKey, environmentOfKey, hashOfKey } from '../../domain/api-key.ts';
import { KeyRefusal } from '../../domain/gateway-error.ts';
import type { Deps } from '../deps.ts';

/** The gate caches keys for one second, so other instances see a new or a revoked key within that time. */
const CACHED_MS = 1000;
export const USE_NOTED_MS = 60_000;

/** Authentication of requests by API keys. */
export type Gate = ReturnType<typeof createGate>;
type GateDeps = Pick<Deps, 'store' | 'now' | 'realNow' | 'log'>;

/** Creates the gate. Once a key exists, every request needs one. Keys are looked up by hash, so response times reveal nothing. */
export function createGate(deps: GateDeps) {
  const { store, realNow } = deps;
  let cached = new Map<string, { key: ApiKey; at: number }>();
  const recordUse = createUseRecorder(deps);
  // Rows of keys and operators are never deleted.
  const hasOperators = untilTrue(realNow, store.hasOperators);
  const hasKeys = untilTrue(realNow, async () => (await store.apiKeysKnown()) !== 'none');
  /** True if the service never had an API key nor an operator, so that requests need no key. */
  const isOpen = async () => !(await hasKeys.ask()) && !(await hasOperators.ask());

  async function find(hash: string): Promise<ApiKey | undefined> {
    const known = cached.get(hash);
    if (known && !isOver(known.at, realNow())) return known.key;
    const at = realNow();
    // A key that was read before `forget` must not get into the new cache.
    const cacheBefore = cached;
    const key = await store.apiKeyByHash(hash);
    // Only existing keys are cached, so that guesses cannot fill the memory.
    if (key) cacheBefore.set(hash, { key, at });
    return key;
  }

  async function activeKey(hash: string): Promise<ApiKey> {
    const key = await find(hash);
    if (!key) throw refusedKey('This API key is not one of this service.');
    if (key.revokedAt !== null) throw revokedKeyError();
    return key;
  }

  return {
    isOpen,
    /** True once an operator has joined. */
    hasOperators: hasOperators.ask,
    /** The key in the `Authorization` headers; undefined if none was sent and the service never had one. Throws {@link KeyRefusal}. */
    async identify(headers: readonly string[]): Promise<ApiKey | undefined> {
      const text = bearerOf(headers);
      if (text === undefined) {
        if (await isOpen()) return undefined;
        throw keyNeeded(headers.length === 0);
      }
      const key = await activeKey(hashOfKey(text));
      recordUse(key);
      return key;
    },
    /**
     * Throws {@link KeyRefusal} if the key was revoked after the request was identified. For a request without a key: if the
     * service requires one in the meantime.
     */
    async assertActive(key: ApiKey | null | undefined): Promise<void> {
      if (key) await activeKey(key.hash);
      else if (!(await isOpen())) throw keyNeeded(true);
    },
    /** Clears the cache after a change of a key on this instance. */
    forget() {
      cached = new Map();
      hasOperators.forget();
      hasKeys.forget();
    },
  };
}

/** Asks until the answer is true, which it then stays, and at most once in {@link CACHED_MS}. */
function untilTrue(realNow: () => number, read: () => Promise<boolean>) {
  let isTrue = false;
  let last = { askedAt: -Infinity };
  return {
    async ask() {
      if (!isTrue && isOver(last.askedAt, realNow())) {
        // An answer that was read before `forget`, or before another answer was true, must not replace the newer state.
        const own = last;
        const answer = await read();
        isTrue ||= answer;
        own.askedAt = realNow();
      }
      return isTrue;
    },
    forget() {
      last = { askedAt: -Infinity };
    },
  };
}

function isOver(since: number, now: number): boolean {
  // After the clock was set back, cached keys count as expired, so that they are not kept for longer.
  return now < since || now - since >= CACHED_MS;
}

/** Records the last use of a key, at most once a minute. No request waits for this write or fails with it. */
function createUseRecorder({ store, now, log }: GateDeps): (key: ApiKey) => void {
  const noted = new Map<string, number>();
  return ({ id, lastUsedAt }) => {
    const at = now();
    if (at - Math.max(noted.get(id) ?? -Infinity, lastUsedAt ?? -Infinity) < USE_NOTED_MS) return;
    noted.set(id, at);
    store.commit([{ type: 'api_key_used', keyId: id, at }]).catch((error: Error) => {
      log.debug({ key: id, reason: error.message }, 'the last use of a key was not stored');
    });
  };
}

/** Text of the key in the header; undefined if there is no header, or if its value is not a key. */
function bearerOf(headers: readonly string[]): string | undefined {
  if (headers.length !== 1) return undefined;
  const text = /^Bearer +(\S+) *$/i.exec(headers[0]!)?.[1];
  return text !== undefined && environmentOfKey(text) !== undefined ? text : undefined;
}

function keyNeeded(isMissing: boolean): KeyRefusal {
  const fault = isMissing ? 'This service asks for an API key.' : 'The Authorization header holds no API key.';
  return new KeyRefusal(fault, {
    suggestion:
      'Send one header Authorization: Bearer sk_sandbox_... or sk_live_..., with a whole key that the operator made (tillway keys create); then resend.',
  });
}

export function revokedKeyError(): KeyRefusal {
  return refusedKey('This API key was revoked.');
}

function refusedKey(message: string): KeyRefusal {
  return new KeyRefusal(message, {
    suggestion: 'Use an active key of this service: the operator lists them with "tillway keys list".',
  });
}

import type { ApiKey } from '../domain/api-key.ts';
import type { Instant } from '../domain/records.ts';
import type { Environment } from '../domain/route.ts';
import type { PageResult, Page } from './list-page.ts';

/** `revoked`: every key is revoked; `active`: at least one is not. */
export type KeysKnown = 'none' | 'revoked' | 'active';

export interface ApiKeyFilter {
  environment?: Environment;
}

export type ApiKeyChange =
  /** Guarded by its id and its hash being new. */
  | { type: 'api_key_created'; key: ApiKey }
  /** Guarded by the key not being revoked: a concurrent revocation is applied before or after the whole change set. */
  | { type: 'api_key_active'; keyId: string }
  | { type: 'api_key_used'; keyId: string; at: Instant }
  /** Guarded by not being revoked. */
  | { type: 'api_key_revoked'; keyId: string; at: Instant }
  /** Guarded by the key being active and by both its limits; `amount` is the cents of one checkout, added to the day's. */
  | { type: 'api_key_spent'; keyId: string; day: string; amount: number };

export interface ApiKeyReads {
  apiKey(id: string): Promise<ApiKey | undefined>;
  apiKeyByHash(hash: string): Promise<ApiKey | undefined>;
  apiKeysKnown(): Promise<KeysKnown>;
  listApiKeys(filter: ApiKeyFilter, page: Page): Promise<PageResult<ApiKey>>;
  /** Cents that a key has spent on a day, as `dayOf` writes it. */
  apiKeySpend(keyId: string, day: string): Promise<number>;
}

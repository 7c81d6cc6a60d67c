import type { PageParams } from './types-requests.ts';
import type { Environment } from './types.ts';

/**
 * `read`: the merchant's records; `write`: creates and changes them too; `admin`: keys and other settings of the operator
 * too; `agent`: creates checkouts within its limits, and reads single sessions and payments.
 */
export type ApiKeyScope = 'read' | 'write' | 'admin' | 'agent';

export interface ApiKey {
  /** Starts with `key_`. */
  id: string;
  object: 'api_key';
  name: string;
  /** The only environment that it can see and change. */
  environment: Environment;
  scope: ApiKeyScope;
  /** The last four characters of its text. */
  last4: string;
  status: 'active' | 'revoked';
  /** US dollars that one checkout may cost; null without such a limit. */
  spendPerCheckout: number | null;
  /** US dollars that the checkouts of a day (UTC) may cost together; null without such a limit. */
  spendPerDay: number | null;
  /** US dollars since 00:00 UTC; null for keys without limits. */
  spentToday: number | null;
  source: 'api' | 'command' | 'configuration';
  created: string;
  /** To the minute. */
  lastUsedAt: string | null;
  revokedAt: string | null;
}

/** A key with its text, which is shown this once. */
export interface CreatedApiKey extends ApiKey {
  key: string;
}

export interface ApiKeyParams {
  /** What it is for. */
  name: string;
  scope: ApiKeyScope;
  /** That of the key which asks, and left out the same. */
  environment?: Environment | undefined;
  /** US dollars that one checkout may cost. Of agents only, who need this, `spendPerDay` or both. */
  spendPerCheckout?: number | undefined;
  /** US dollars that the checkouts of a day (UTC) may cost together. Of agents only. */
  spendPerDay?: number | undefined;
}

export interface ApiKeyListParams extends PageParams {
  environment?: Environment | undefined;
}

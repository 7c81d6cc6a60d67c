import { API_KEY_INVARIANTS } from './invariants/api-keys-invariants.ts';
import { CHECKOUT_INVARIANTS } from './invariants/checkouts-invariants.ts';
import { CLOCK_INVARIANTS } from './invariants/clock-invariants.ts';
import { DISCREPANCY_INVARIANTS } from './invariants/discrepancies-invariants.ts';
import type { Invariant } from './invariants/invariant.ts';
import { FEED_INVARIANTS } from './invariants/feed-invariants.ts';
import { LEDGER_INVARIANTS } from './invariants/ledger-invariants.ts';
import { PERSONAL_DATA_INVARIANTS } from './invariants/personal-data-invariants.ts';
import { PROVIDER_INVARIANTS } from './invariants/providers-invariants.ts';
import { RECORD_INVARIANTS } from './invariants/records-invariants.ts';
import { REFUND_INVARIANTS } from './invariants/refunds-invariants.ts';
import { ROUTING_INVARIANTS } from './invariants/routing-invariants.ts';
import { ENDPOINT_INVARIANTS } from './invariants/webhook-endpoints-invariants.ts';
import { WEBHOOK_INVARIANTS } from './invariants/webhooks-invariants.ts';

export type { Invariant } from './invariants/invariant.ts';

/**
 * Properties of every committed state, also while the service is busy; each is one statement that selects the violations.
 * Properties that a constraint or an index of the schema ensures are checked as well.
 */
export const INVARIANTS: readonly Invariant[] = [
  ...RECORD_INVARIANTS,
  ...CHECKOUT_INVARIANTS,
  ...LEDGER_INVARIANTS,
  ...PROVIDER_INVARIANTS,
  ...REFUND_INVARIANTS,
  ...DISCREPANCY_INVARIANTS,
  ...PERSONAL_DATA_INVARIANTS,
  ...WEBHOOK_INVARIANTS,
  ...FEED_INVARIANTS,
  ...ENDPOINT_INVARIANTS,
  ...ROUTING_INVARIANTS,
  ...CLOCK_INVARIANTS,
  ...API_KEY_INVARIANTS,
];

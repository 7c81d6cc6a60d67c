import { CHECKOUT_INVARIANTS } from './invariants/checkouts.ts';
import { CLOCK_INVARIANTS } from './invariants/clock.ts';
import type { Invariant } from './invariants/invariant.ts';
import { LEDGER_INVARIANTS } from './invariants/ledger.ts';
import { PROVIDER_INVARIANTS } from './invariants/providers.ts';
import { RECORD_INVARIANTS } from './invariants/records.ts';
import { ROUTING_INVARIANTS } from './invariants/routing.ts';
import { WEBHOOK_INVARIANTS } from './invariants/webhooks.ts';

export type { Invariant } from './invariants/invariant.ts';

/**
 * What the code promises of every committed state, however busy the service is: each is one statement that selects what
 * breaks the promise. What a constraint or an index of the schema promises already is asked all the same.
 */
export const INVARIANTS: readonly Invariant[] = [
  ...RECORD_INVARIANTS,
  ...CHECKOUT_INVARIANTS,
  ...LEDGER_INVARIANTS,
  ...PROVIDER_INVARIANTS,
  ...WEBHOOK_INVARIANTS,
  ...ROUTING_INVARIANTS,
  ...CLOCK_INVARIANTS,
];

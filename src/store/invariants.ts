import { AUDIT_INVARIANTS } from './invariants/audit-invariants.ts';
import { CHAIN_INVARIANTS } from './invariants/chain-invariants.ts';
import { CHECKOUT_INVARIANTS } from './invariants/checkouts-invariants.ts';
import type { Invariant } from './invariants/invariant.ts';
import { LEDGER_INVARIANTS } from './invariants/ledger-invariants.ts';
import { MONEY_INVARIANTS } from './invariants/money-invariants.ts';
import { SEARCH_INVARIANTS } from './invariants/search-invariants.ts';
import { ROUTING_INVARIANTS } from './invariants/routing-invariants.ts';
import { SALES_INVARIANTS } from './invariants/sales-invariants.ts';
import { WEBHOOK_INVARIANTS } from './invariants/webhooks-invariants.ts';

export type { Invariant } from './invariants/invariant.ts';

/** All invariants that `tillway doctor` checks. */
export const INVARIANTS: readonly Invariant[] = [
  ...CHECKOUT_INVARIANTS,
  ...LEDGER_INVARIANTS,
  ...MONEY_INVARIANTS,
  ...WEBHOOK_INVARIANTS,
  ...ROUTING_INVARIANTS,
  ...AUDIT_INVARIANTS,
  ...CHAIN_INVARIANTS,
  ...SALES_INVARIANTS,
  ...SEARCH_INVARIANTS,
];

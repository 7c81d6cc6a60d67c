import { initial } from './001-initial.ts';
import { apiKeys } from './002-api-keys.ts';
import { webhookEndpoints } from './003-webhook-endpoints.ts';
import { eventFeed } from './004-event-feed.ts';
import { ledger } from './005-ledger.ts';
import { refunds } from './006-refunds.ts';
import { personalData } from './007-personal-data.ts';
import { discrepancies } from './008-discrepancies.ts';
import { tracing } from './009-tracing.ts';
import { wrongAmounts } from './010-wrong-amounts.ts';
import { unknownPayments } from './011-unknown-payments.ts';
import { failures } from './012-failures.ts';
import { providerInbox } from './013-provider-inbox.ts';
import { ledgerSums } from './014-ledger-sums.ts';
import type { Migration } from './migration.ts';

/** Forward only, in order. One that has been released is never edited: the next change is the next number. */
export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'initial', sql: initial },
  apiKeys,
  webhookEndpoints,
  eventFeed,
  ledger,
  refunds,
  personalData,
  discrepancies,
  tracing,
  wrongAmounts,
  unknownPayments,
  failures,
  providerInbox,
  ledgerSums,
];

import { accessSchema } from './access-schema.ts';
import { auditSchema, auditTriggers } from './audit-schema.ts';
import { chainSchema } from './chain-schema.ts';
import { cardColumn, checkoutSchema, unsettledIndex } from './checkout-schema.ts';
import { ledgerSchema, ledgerTriggers } from './ledger-schema.ts';
import { operatorsSchema } from './operators-schema.ts';
import { providersSchema } from './providers-schema.ts';
import { providerStatesSchema, realProvidersSchema, refundDeductionSchema } from './real-providers-schema.ts';
import { experimentSchema, outcomeContexts, routingSchema } from './routing-schema.ts';
import { bookedCorrections, lateFailures, salesSchema, salesViews } from './sales-schema.ts';
import { searchSchema, transactionTerms } from './search-schema.ts';
import { eventSources, webhooksSchema } from './webhooks-schema.ts';

/** One numbered change of the schema. Its `sql` runs on every database. */
export interface Migration {
  version: number;
  name: string;
  sql: string;
  /** SQL that differs between the databases, such as triggers; runs after `sql`. */
  only?: { sqlite: string; postgres: string };
}

/**
 * All migrations in order, forward only. A released migration is never edited: a later change gets the next number.
 * The first number is 14, because this migration replaces 14 migrations from before the first release. Money is integer cents,
 * time integer milliseconds; ids sort by creation, except the ids of events.
 */
export const MIGRATIONS: readonly Migration[] = [
  {
    version: 14,
    name: 'schema',
    sql: checkoutSchema + ledgerSchema + webhooksSchema + providersSchema + routingSchema + accessSchema,
    only: ledgerTriggers,
  },
  { version: 15, name: 'real providers', sql: realProvidersSchema },
  { version: 16, name: 'deducted refunds', sql: refundDeductionSchema },
  { version: 17, name: 'chains', sql: chainSchema },
  { version: 18, name: 'provider states', sql: providerStatesSchema },
  { version: 19, name: 'audit', sql: auditSchema, only: auditTriggers },
  { version: 20, name: 'operators', sql: operatorsSchema },
  { version: 21, name: 'sums', sql: salesSchema, only: salesViews },
  { version: 22, name: 'search', sql: searchSchema },
  { version: 23, name: 'unsettled payments', sql: unsettledIndex },
  { version: 24, name: 'transactions', sql: transactionTerms },
  { version: 25, name: 'contexts', sql: outcomeContexts },
  { version: 26, name: 'event sources', sql: '', only: eventSources },
  { version: 27, name: 'experiments', sql: experimentSchema },
  { version: 28, name: 'cards', sql: cardColumn },
  { version: 29, name: 'late failures', sql: lateFailures },
  { version: 30, name: 'booked corrections', sql: bookedCorrections },
];

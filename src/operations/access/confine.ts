import { GatewayError } from '../../domain/errors.ts';
import type { Environment } from '../../domain/route.ts';
import type { Change, Store } from '../../store/store.ts';

interface OfAnEnvironment {
  environment: Environment;
}

/** The ways in which a read is kept to one environment. */
export interface Confined {
  environment: Environment;
  /** The record, where it is of the environment. */
  own<Item extends OfAnEnvironment>(record: Item | undefined): Item | undefined;
  /** Whether it is; for filters, and for what hangs on another record. */
  owned(record: OfAnEnvironment | undefined): boolean;
  /** The filter with the environment. Throws GatewayError `forbidden` where it names the other one. */
  filtered<Filter extends { environment?: Environment }>(filter: Filter): Filter;
  /** The environment itself. Throws GatewayError `forbidden` for the other one. */
  named(environment: Environment): Environment;
  /** What hangs on a session, where that is of the environment; else nothing. */
  ifSession<Item>(store: Store, sessionId: string, read: (sessionId: string) => Promise<Item[]>): Promise<Item[]>;
}

export function confine(environment: Environment): Confined {
  const owned = (record: OfAnEnvironment | undefined) => record?.environment === environment;
  const named = (asked: Environment) => {
    if (asked !== environment) throw otherEnvironment(environment, asked);
    return asked;
  };
  return {
    environment,
    owned,
    named,
    own: (record) => (owned(record) ? record : undefined),
    filtered: (filter) => ({ ...filter, environment: named(filter.environment ?? environment) }),
    ifSession: async (store, sessionId, read) => (owned(await store.session(sessionId)) ? read(sessionId) : []),
  };
}

/** Throws GatewayError `forbidden` where any record of the change set is of the other environment. */
export function refuseForeign(changes: readonly Change[], environment: Environment): void {
  for (const change of changes) {
    for (const part of [change, ...Object.values(change)]) {
      const found = (part as Partial<OfAnEnvironment> | null)?.environment;
      if (found !== undefined && found !== environment) throw otherEnvironment(environment, found);
    }
  }
}

/** What a key is told that asks for what is not of its environment. */
export function otherEnvironment(own: Environment, asked: Environment): GatewayError {
  return new GatewayError('forbidden', `This API key is of ${own}, and this is about ${asked}.`, {
    field: 'environment',
    suggestion: `Set "environment": "${own}" (on a command line, --environment ${own}), or use a key of ${asked} (sk_${asked === 'production' ? 'live' : 'sandbox'}_...); then resend.`,
  });
}

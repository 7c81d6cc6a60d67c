import { GatewayError } from '../../domain/gateway-error.ts';
import type { Environment } from '../../domain/route.ts';
import type { Change } from '../../store/store.ts';

interface OfAnEnvironment {
  environment: Environment;
}

/** Checks that confine a read to one environment. */
export interface Confined {
  environment: Environment;
  /** The record if it is of the environment. */
  own<Item extends OfAnEnvironment>(record: Item | undefined): Item | undefined;
  /** Whether the record is of the environment. */
  owned(record: OfAnEnvironment | undefined): boolean;
  /** The filter with the environment. Throws GatewayError `forbidden` if it names the other one. */
  filtered<Filter extends { environment?: Environment }>(filter: Filter): Filter;
  /** The environment itself. Throws GatewayError `forbidden` for the other one. */
  named(environment: Environment): Environment;
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
  };
}

/** Throws GatewayError `forbidden` if any record of the change set is of the other environment. */
export function refuseForeign(changes: readonly Change[], environment: Environment): void {
  for (const change of changes) {
    for (const part of [change, ...Object.values(change)]) {
      const found = (part as Partial<OfAnEnvironment> | null)?.environment;
      if (found !== undefined && found !== environment) throw otherEnvironment(environment, found);
    }
  }
}

/** Error for a key that names the other environment. */
export function otherEnvironment(own: Environment, asked: Environment): GatewayError {
  return new GatewayError('forbidden', `This API key is of ${own}, and this is about ${asked}.`, {
    field: 'environment',
    suggestion: `Set "environment": "${own}" (on a command line, --environment ${own}), or use a key of ${asked} (sk_${asked === 'production' ? 'live' : 'sandbox'}_...); then resend.`,
  });
}

import type { Environment } from '../domain/route.ts';

const CAPACITY = 20_000;

/** Cache of customer ids by address. An entry may be out of date: the commit that uses it checks the customer. */
export interface CustomerDirectory {
  find(environment: Environment, email: string): { id: string; status: 'active' } | undefined;
  remember(environment: Environment, email: string, id: string): void;
}

export function createCustomerDirectory(): CustomerDirectory {
  const ids = new Map<string, string>();
  const keyOf = (environment: Environment, email: string) => `${environment} ${email}`;
  return {
    find(environment, email) {
      const id = ids.get(keyOf(environment, email));
      return id === undefined ? undefined : { id, status: 'active' };
    },
    remember(environment, email, id) {
      // Drops the oldest entry: a Map iterates in the order of insertion.
      if (ids.size >= CAPACITY) ids.delete(ids.keys().next().value!);
      ids.set(keyOf(environment, email), id);
    },
  };
}

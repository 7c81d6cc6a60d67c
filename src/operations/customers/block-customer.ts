import { GatewayError } from '../../domain/gateway-error.ts';
import type { Customer } from '../../domain/records.ts';
import type { Deps } from '../deps.ts';
import { getCustomer } from '../read-records.ts';
import { retryOnConflict } from '../retry-on-conflict.ts';

type Blocking = Pick<Deps, 'store'>;

/**
 * Blocks new sessions and payments of a customer on all instances. A blocked customer gets the new reason, if any. Throws
 * GatewayError `not_found`, or `invalid_state` if the customer is erased.
 */
export function blockCustomer(deps: Blocking, id: string, reason: string | null): Promise<Customer> {
  return move(deps, id, (customer) => ({
    ...customer,
    status: 'blocked',
    statusReason: reason ?? customer.statusReason,
  }));
}

/** Throws GatewayError `not_found`, or `invalid_state` if the customer is erased. */
export function unblockCustomer(deps: Blocking, id: string): Promise<Customer> {
  return move(deps, id, (customer) => ({ ...customer, status: 'active', statusReason: null }));
}

function move(deps: Blocking, id: string, moved: (customer: Customer) => Customer): Promise<Customer> {
  return retryOnConflict(deps, `customer ${id}`, async () => {
    const before = await getCustomer(deps, id);
    if (before.status === 'erased')
      throw new GatewayError('invalid_state', `Customer ${id} is erased: nothing can be created for it any more.`, {
        suggestion: 'Leave it. A buyer who comes back with the same address is another customer, who can be blocked.',
      });
    const customer = moved(before);
    const isSame = customer.status === before.status && customer.statusReason === before.statusReason;
    return {
      changes: isSame ? [] : [{ type: 'customer_status_changed', customer, from: before.status }],
      result: customer,
    };
  });
}

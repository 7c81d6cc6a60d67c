import { GatewayError, invalidField } from '../../domain/gateway-error.ts';
import { eraseCustomer as erased, eraseEventBody, eraseSession } from '../../domain/personal-data.ts';
import type { Customer, Session } from '../../domain/records.ts';
import type { PersonalWorkInProgress } from '../../store/tables/erasure-table.ts';
import type { Change } from '../../store/store.ts';
import type { Deps } from '../deps.ts';
import { getCustomer } from '../read-records.ts';

// A buyer's sessions are as good as always fewer: then everything is one transaction.
const SESSIONS_AT_ONCE = 200;
// Each conflict is something that happens to one of the sessions meanwhile.
const MAX_CONFLICTS = 50;

/**
 * Takes away what can name the buyer, for good; amounts, states, ids and the books stay. `confirm` must be the customer's
 * id. Erasing once more takes away what has come since, as does erasing again what was cut off. Throws GatewayError
 * `not_found`; `invalid_input`; `invalid_state` while something is in progress for the customer, naming it.
 */
export async function eraseCustomer(deps: Pick<Deps, 'store' | 'log'>, id: string, confirm: string): Promise<Customer> {
  const { store } = deps;
  const before = await getCustomer(deps, id);
  if (confirm !== id) {
    throw invalidField(
      'confirm',
      'invalid_value',
      'is not the id of the customer',
      `Set confirm to "${id}"; then resend.`,
    );
  }
  const customer = erased(before);
  let conflicts = 0;
  for (let isFirst = true; ;) {
    const sessions = await store.sessionsToErase(id, SESSIONS_AT_ONCE);
    const changes: Change[] = isFirst ? [{ type: 'customer_erased', customer, from: before.status }] : [];
    for (const session of sessions) changes.push(await changeOf(deps, session));
    if (changes.length === 0) break;
    const result = await store.commit(changes);
    if (result.done) isFirst = false;
    else if (result.conflict === 'overtaken') return eraseCustomer(deps, id, confirm);
    else {
      const underWay = await store.workInProgressFor(id);
      if (Object.values(underWay).flat().length > 0) throw stillUnderWay(id, underWay);
      if (++conflicts === MAX_CONFLICTS)
        throw new GatewayError('unavailable', `The sessions of customer ${id} are changing too fast; try again.`);
    }
  }
  deps.log.info({ customerId: id }, 'customer erased');
  return customer;
}

async function changeOf({ store }: Pick<Deps, 'store'>, session: Session): Promise<Change> {
  const events = await store.eventsOfSession(session.id);
  return {
    type: 'session_erased',
    session: eraseSession(session),
    from: session.status,
    events: events.map(({ id, body }) => ({ id, body: eraseEventBody(body) })),
  };
}

function stillUnderWay(id: string, { payments, refunds, deliveries }: PersonalWorkInProgress): GatewayError {
  const parts = [
    ...(payments.length > 0 ? [`payments are pending (${payments.join(', ')})`] : []),
    ...(refunds.length > 0 ? [`refunds are pending (${refunds.join(', ')})`] : []),
    ...(deliveries.length > 0 ? [`events are still to be delivered (${deliveries.join(', ')})`] : []),
  ];
  return new GatewayError('invalid_state', `Customer ${id} cannot be erased yet: ${parts.join('; ')}.`, {
    suggestion: 'Block the customer, so that nothing new begins, and erase it once these have ended.',
  });
}

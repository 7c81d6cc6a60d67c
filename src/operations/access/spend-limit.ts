import { dayOf, nextDay } from '../../domain/api-key.ts';
import { GatewayError } from '../../domain/gateway-error.ts';
import { formatUsd } from '../../domain/money.ts';
import { REFUND_LIMIT } from '../../domain/operator.ts';
import type { Session } from '../../domain/records.ts';
import type { Refund } from '../../domain/refund-record.ts';
import type { Change } from '../../store/store.ts';
import type { Deps } from '../deps.ts';
import { revokedKeyError } from './key-gate.ts';

/** Change that adds a session to the spending of an agent key, guarded by its limits; none for other keys. */
export function spendingOf({ caller }: Pick<Deps, 'caller'>, { amount, created }: Session): Change[] {
  if (caller?.key?.scope !== 'agent') return [];
  return [{ type: 'api_key_spent', keyId: caller.id, day: dayOf(created), amount }];
}

/** Error for refused spending: the key was revoked, or a limit is exceeded. Undefined if the amount fits now, for example on a new day. */
export async function spendingRefusal(
  deps: Pick<Deps, 'store' | 'caller'>,
  { amount, created }: Session,
): Promise<GatewayError | undefined> {
  const key = deps.caller && (await deps.store.apiKey(deps.caller.id));
  if (!key || key.revokedAt !== null) return revokedKeyError();
  const { spendPerCheckout, spendPerDay } = key;
  const spent = spendPerDay === null ? 0 : await deps.store.apiKeySpend(key.id, dayOf(created));
  const left = spendPerDay === null ? Infinity : Math.max(spendPerDay - spent, 0);
  const most = Math.min(left, spendPerCheckout ?? Infinity);
  if (amount <= most) return undefined;
  const ofCheckout = spendPerCheckout === null ? [] : [`${formatUsd(spendPerCheckout)} a checkout`];
  const ofDay =
    spendPerDay === null ? [] : [`${formatUsd(spendPerDay)} a day, of which ${formatUsd(left)} is left today`];
  const limits = [...ofCheckout, ...ofDay].join(' and ');
  const anew =
    spendPerDay === null ? '' : ` The day's limit starts anew at ${new Date(nextDay(created)).toISOString()}.`;
  const advice = most > 0 ? `Set amount to at most ${formatUsd(most)}` : 'Wait';
  const message = `This API key may spend ${limits}; this checkout is ${formatUsd(amount)}.`;
  return new GatewayError('spend_limit_exceeded', message, {
    field: 'amount',
    suggestion: `${advice}, or ask the operator for a key with higher limits.${anew}`,
  });
}

/** Change that adds a refund to the sum of a caller of role support, guarded by the operator's limit; none for other roles. */
export function refundSpendingOf({ caller }: Pick<Deps, 'caller'>, { amount, environment, created }: Refund): Change[] {
  if (caller?.role !== 'support') return [];
  return [{ type: 'operator_spent', operatorId: caller.id, environment, day: dayOf(created), amount }];
}

/** Throws GatewayError `spend_limit_exceeded` if a refund exceeds what a caller of role support may still refund today. */
export async function assertRefundLimit(
  deps: Pick<Deps, 'store' | 'caller'>,
  { amount, environment, created }: Refund,
): Promise<void> {
  const { store, caller } = deps;
  if (caller?.role !== 'support') return;
  const left = Math.max(REFUND_LIMIT - (await store.operatorSpend(environment, caller.id, dayOf(created))), 0);
  if (amount <= left) return;
  const limit = `${formatUsd(REFUND_LIMIT)} a day, of which ${formatUsd(left)} is left today`;
  throw new GatewayError('spend_limit_exceeded', `You may refund ${limit}; this refund is ${formatUsd(amount)}.`, {
    field: 'amount',
    suggestion: `Ask an operator or an admin. The limit starts anew at ${new Date(nextDay(created)).toISOString()}.`,
  });
}

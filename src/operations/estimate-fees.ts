import type { z } from 'zod';
import { renderFeeSplit } from '../contract/payment-contract.ts';
import type { FeesEstimateRequest, feesEstimateResult } from '../contract/action-contract.ts';
import { GatewayError } from '../domain/gateway-error.ts';
import { splitFees } from '../domain/fees.ts';
import { NO_EFFECT } from '../routing/evaluate-rules.ts';
import { assertEnvironment } from './access/caller.ts';
import { centsOf } from './cents-of.ts';
import type { Deps } from './deps.ts';
import { namedRoute, quoteFor, routeOfQuote } from './routing/offers.ts';

/** Fees of an amount on the best route, or on a named one. Writes nothing. Rules need a whole checkout, and do not apply. */
export function estimateFees(
  deps: Pick<Deps, 'caller' | 'router' | 'newId' | 'now'>,
  { environment, preferredRoute, routeId, amount }: FeesEstimateRequest,
): z.output<typeof feesEstimateResult> {
  assertEnvironment(deps, environment);
  const quoted = () => quoteFor(deps, { environment, preferredKind: preferredRoute ?? null, effect: NO_EFFECT });
  const found = routeId === undefined ? routeOfQuote(quoted(), NO_EFFECT) : namedRoute(deps, environment, routeId);
  if (found instanceof GatewayError) throw found;
  const { route, summary } = found;
  return { environment, route: summary, feeSplit: renderFeeSplit(splitFees(centsOf(amount), route)) };
}

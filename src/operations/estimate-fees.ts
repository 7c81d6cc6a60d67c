import type { z } from 'zod';
import { renderFeeSplit } from '../contract/render.ts';
import type { FeesEstimateRequest } from '../contract/requests.ts';
import type { feesEstimateResult } from '../contract/resources.ts';
import { splitFees } from '../domain/fees.ts';
import { chooseRoute } from './choose-route.ts';
import type { Deps } from './deps.ts';
import { describeRoute } from './list-routes.ts';
import { centsOf } from './cents-of.ts';

/** What an amount costs on the route that would be chosen, or on a named one. Writes nothing. */
export function estimateFees(
  deps: Pick<Deps, 'routes'>,
  request: FeesEstimateRequest,
): z.output<typeof feesEstimateResult> {
  const route = chooseRoute(deps, request);
  return {
    environment: request.environment,
    route: describeRoute(route),
    feeSplit: renderFeeSplit(splitFees(centsOf(request.amount), route)),
  };
}

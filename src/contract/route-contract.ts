import { z } from 'zod';
import { KYC_POLICIES, ROUTE_HEALTHS, type Route } from '../domain/route.ts';
import * as field from './resource-fields.ts';
import { kind } from './resource-fields.ts';
import { named, rendererFrom } from './resource.ts';
import { SAMPLE_ROUTE_ID } from './sample-ids.ts';

export const routeHealth = (what: string) => field.choice(ROUTE_HEALTHS, what);

export const routeSummary = named(
  'RouteSummary',
  z
    .strictObject({
      id: field.label('The route.', SAMPLE_ROUTE_ID),
      label: field.label('Name of the route.', 'Card, simulated acquirer'),
      integrationId: field.label('Provider of the route.', 'sandbox'),
      integrationLabel: field.label("The provider's name.", 'Simulated provider'),
      kind,
      network: field.label('Settlement network.', 'card_network'),
      asset: field.label('Settlement asset.', 'USD'),
      score: field.count(
        '0 to 100 points, higher is better: the current expected success, reduced by cost and waiting time.',
        93.1,
      ),
      health: routeHealth('live: takes payments; degraded: loses 2 points of score; standby: takes no payments.'),
      payerLabel: field.label('Name shown to the buyer.', 'Card'),
      eta: field.label('Time to confirmation, as text.', 'a few seconds'),
      buyerFeeRate: field.rate('Fee that the buyer pays on top of the amount.', 0),
      gatewayFeeRate: field.rate('Fee that the gateway deducts from the amount.', 0.029),
      providerCostRate: field.rate("The provider's charge to the gateway.", 0.019),
      kycPolicy: field.choice(KYC_POLICIES, 'Identity check of the buyer: none, light, full, or left to the provider.'),
    })
    .describe('A connection over which a payment can be made.'),
);
export type RouteSummary = z.output<typeof routeSummary>;

/** Renders a route with its score, 0 to 100. */
export const renderRoute = rendererFrom(routeSummary, (route: Route, score: number) => ({ ...route, score }));

export const routesListResult = named(
  'RouteSummaryList',
  z.strictObject({
    ok: z.literal(true).describe('Always true.'),
    routes: z.array(routeSummary).describe('The routes, best first.'),
  }),
);

import { z } from 'zod';
import type { Environment } from '../domain/route.ts';
import type { RouteFacts } from '../routing/decision.ts';
import type { HealthRecord } from '../routing/health-record.ts';
import { routeSelector, ruleSetSchema } from '../routing/rule-set.ts';
import { endpoints } from './endpoint.ts';
import { checkedText, moment, routeKind, text } from './request-fields.ts';
import { anyText, environment, list, listQuery } from './list-query.ts';
import * as field from './resource-fields.ts';
import { named, rendererFrom, rendererOf, resource } from './resource.ts';
import { routeHealth } from './route-contract.ts';
import { estimate, environmentField, routeId, ruleWarnings } from './routing-decision-contract.ts';
import { SAMPLE_ROUTE_ID } from './sample-ids.ts';

// Rules and health of the routes: the operator's part of routing.

named('RouteSelector', routeSelector, 'both');
named('RuleSet', ruleSetSchema, 'both');

export const rulesResource = resource('RoutingRules', 'routing_rules', {
  version: field.count('Grows with every change; 0 if no rules were ever saved.', 3),
  source: field.choice(['none', 'api', 'file'], 'Source of the rules.'),
  ruleSet: ruleSetSchema.describe('The rules.'),
  warnings: ruleWarnings.describe('Likely mistakes in the rules.'),
  created: field.time('Time of saving this version; null for none.').nullable(),
});

export const renderRules = rendererOf(rulesResource);

export const routeStanding = resource('RouteStanding', 'routing_route', {
  id: routeId('The route.'),
  environment: environmentField,
  kind: routeKind.describe('Its kind.'),
  health: routeHealth('Its health now.'),
  words: field.label('Its health in words.', 'live: as configured in the catalogue'),
  since: field.time('Since when.'),
  retryAt: field.time('In standby: when it may be tried again; else null.').nullable(),
  override: z
    .strictObject({
      health: routeHealth("The operator's setting."),
      until: field.time('End of the override; null for none.').nullable(),
      reason: field.label("The operator's reason.", 'maintenance at the provider'),
    })
    .nullable()
    .describe("The operator's override, or null."),
  score: field.count('0 to 100, higher is better.', 90.3),
  ...estimate,
  buyerFeeRate: field.rate("The buyer's fee.", 0),
  gatewayFeeRate: field.rate("The gateway's fee.", 0.029),
  providerCostRate: field.rate("The provider's charge.", 0.019),
  lastOutcomeAt: field.time('About when an attempt over it last ended; null for never.').nullable(),
});

/** A route with its estimate and health; `score` is 0 to 100. */
export const renderStanding = rendererFrom(
  routeStanding,
  (of: Environment, facts: RouteFacts, { manual, since, retryAt }: HealthRecord, score: number) => ({
    ...facts,
    environment: of,
    words: facts.off === null ? facts.words : `standby: ${facts.off}`,
    since,
    retryAt,
    override: manual && { ...manual, health: manual.state },
    score,
    expectedSuccess: facts.p,
    outcomes: facts.n,
    lastOutcomeAt: facts.triedAt,
  }),
);

const overrideRequest = z.strictObject({
  health: field.choice(
    ['live', 'degraded', 'standby', 'automatic'],
    'standby takes the route out of use; automatic returns it to the health machine.',
    'standby',
  ),
  until: z.optional(moment('End of the override: ISO 8601, in the future. Default: none.')),
  reason: text(1, 200)
    .default('no reason given')
    .describe('Reason, for later readers: 1 to 200 characters.')
    .meta({ examples: ['maintenance at the provider'] }),
});
export type OverrideRequest = z.output<typeof overrideRequest>;

export const transitionResource = resource('RoutingTransition', 'routing_transition', {
  id: field.label('The transition. Starts with rtr_.', 'rtr_01m7x0e9zb4c7r2k5v8q1w3n6t0y9f2d4h7j'),
  routeId: routeId('The route.'),
  environment: environmentField,
  from: routeHealth('Before.'),
  to: routeHealth('After.'),
  cause: field.label('The cause, for programs.', 'handoff_errors_in_a_row'),
  words: field.label('The same for people.', 'standby: 3 handoff errors in a row'),
  numbers: z
    .record(z.string(), z.number())
    .describe('The numbers behind it; shares are 0 to 1.')
    .meta({ examples: [{ handoffErrors: 3 }] }),
  created: field.time('Time of the transition.'),
});

export const renderTransition = rendererOf(transitionResource);

const transitionsQuery = listQuery('rtr', {
  routeId: anyText('Only changes of this route.', SAMPLE_ROUTE_ID),
  environment,
});

const standingsQuery = z.strictObject({
  environment: environment.describe('Only routes of this environment. Default: both.'),
});

const rulesQuery = z.strictObject({
  version: checkedText('integer', (value) => (/^\d{1,9}$/.test(value) ? undefined : 'must be a whole number'))
    .optional()
    .describe('This version instead of the one in force.')
    .meta({ type: 'integer', minimum: 0, examples: ['1'] }),
});

export const ROUTING_ENDPOINTS = endpoints('routing', {
  getRoutingRules: {
    route: 'GET /api/gateway/routing/rules',
    summary: 'Get the routing rules',
    description: 'The rules in force, or those of an earlier version.',
    query: rulesQuery,
    response: rulesResource,
    errors: ['not_found'],
  },
  saveRoutingRules: {
    route: 'PUT /api/gateway/routing/rules',
    access: 'admin',
    keys: 'production',
    summary: 'Save the routing rules',
    description:
      'Activates a rule set as a new version. The same set again changes nothing. If the set is invalid, the error names every problem and the previous rules stay active. If the rules come from a file, the request is rejected. The rules apply to both environments, so a sandbox API key is rejected.',
    body: ruleSetSchema,
    requestExample: {
      version: 1,
      // oxlint-disable-next-line unicorn/no-thenable -- the rule language says then
      rules: [{ id: 'small-first', when: { amount: { lt: 10 } }, then: { explore: false } }],
    },
    response: rulesResource,
    errors: ['invalid_state'],
  },
  listRoutingRoutes: list(
    '/api/gateway/routing/routes',
    'List the routes as the router knows them',
    standingsQuery,
    routeStanding,
    "Health with its cause, expected success with its basis, and the operator's override. Best first.",
  ),
  overrideRouteHealth: {
    route: 'PUT /api/gateway/routing/routes/{routeId}/health',
    access: 'admin',
    summary: 'Override the health of a route',
    description:
      'Takes a route out of use, or holds it in use, until a time or until health is set to automatic. A route that an override puts in standby is not used even if no other is left.',
    body: overrideRequest,
    requestExample: { health: 'standby', until: '2027-01-15T12:00:00Z', reason: 'maintenance at the provider' },
    response: routeStanding,
    errors: ['invalid_state'],
  },
  listRoutingTransitions: list(
    '/api/gateway/routing/transitions',
    'List changes of route health',
    transitionsQuery,
    transitionResource,
    'Newest first, each with its cause and the numbers behind it.',
  ),
});

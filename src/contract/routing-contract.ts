import { z } from 'zod';
import { type Environment, ROUTE_HEALTHS } from '../domain/route.ts';
import type { RouteFacts } from '../routing/decision.ts';
import type { HealthRecord } from '../routing/health-record.ts';
import type { RouteMoney } from '../routing/route-money.ts';
import { routeSelector, ruleSetSchema } from '../routing/rule-set.ts';
import { endpoints } from './endpoint.ts';
import { checkedText, moment, notTogether, routeKind, text } from './request-fields.ts';
import { anyText, environment, list, listQuery } from './list-query.ts';
import * as field from './resource-fields.ts';
import { named, rendererFrom, rendererOf, resource } from './resource.ts';
import { routeHealth } from './route-contract.ts';
import { estimate, environmentField, fraction, routeId, ruleWarnings } from './routing-decision-contract.ts';
import { SAMPLE_ROUTE_ID } from './sample-ids.ts';

// Routing rules and route health, which the operator controls.

named('RouteSelector', routeSelector, 'both');
named('RuleSet', ruleSetSchema, 'both');

export const rulesResource = resource('RoutingRules', 'routing_rules', {
  version: field.count('Version number, which grows with every change; 0 if no rules were ever saved.', 3),
  source: field.choice(['none', 'api', 'file'], 'Source of the rules.'),
  ruleSet: ruleSetSchema.describe('The rules.'),
  warnings: ruleWarnings.describe('Likely mistakes in the rules.'),
  created: field.time('Time when this version was saved; null for version 0.').nullable(),
});

export const renderRules = rendererOf(rulesResource);

export const routeStanding = resource('RouteStanding', 'routing_route', {
  id: routeId('The route.'),
  environment: environmentField,
  kind: routeKind.describe('Payment method of the route.'),
  health: routeHealth('Current health.'),
  words: field.label('Health and its cause, as text.', 'live: as configured in the catalogue'),
  since: field.time('Start of the current health state.'),
  retryAt: field.time('In standby: time of the next probe; otherwise null.').nullable(),
  override: z
    .strictObject({
      health: routeHealth('Health that the operator has set.'),
      until: field.time('End of the override; null if it has no end.').nullable(),
      reason: field.label('Reason of the operator.', 'maintenance at the provider'),
    })
    .nullable()
    .describe("The operator's override, or null."),
  score: field.count('0 to 100, higher is better.', 90.3),
  ...estimate,
  buyerFeeRate: field.rate("The buyer's fee.", 0),
  gatewayFeeRate: field.rate("The gateway's fee.", 0.029),
  providerCostRate: field.rate(
    "The provider's charge without its fixed part, from reports and the configuration.",
    0.019,
  ),
  costCoverage: fraction('Share of the paid payments with a reported charge.', 0.97),
  lostRate: field.rate('Share of the paid money that is lost afterwards.', 0.004),
  lastOutcomeAt: field.time('Approximate time of the last outcome of the route, or null.').nullable(),
});

/** Renders a route with its estimate, health and score, 0 to 100. */
export const renderStanding = rendererFrom(
  routeStanding,
  (of: Environment, facts: RouteFacts, { manual, since, retryAt }: HealthRecord, money: RouteMoney, score: number) => ({
    ...facts,
    ...money,
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

const overrideRequest = z
  .strictObject({
    health: field.choice(
      [...ROUTE_HEALTHS, 'automatic'],
      'standby takes the route out of use; automatic ends the override.',
      'standby',
    ),
    until: z.optional(moment('End of the override: ISO 8601, in the future. Default: no end.')),
    reason: text(1, 200)
      .optional()
      .describe('Reason, stored with the override: 1 to 200 characters. Default: "no reason given".')
      .meta({ examples: ['maintenance at the provider'] }),
  })
  .refine(({ health, until }) => health !== 'automatic' || until === undefined, notTogether('until', 'automatic'))
  .refine(({ health, reason }) => health !== 'automatic' || reason === undefined, notTogether('reason', 'automatic'));
export type OverrideRequest = z.output<typeof overrideRequest>;

export const transitionResource = resource('RoutingTransition', 'routing_transition', {
  id: field.id('rtr', 'The transition.'),
  routeId: routeId('The route.'),
  environment: environmentField,
  from: routeHealth('Before.'),
  to: routeHealth('After.'),
  cause: field.label('Machine-readable cause.', 'handoff_errors_in_a_row'),
  words: field.label('The new health and its cause, as text.', 'standby: 3 handoff errors in a row'),
  numbers: z
    .record(z.string(), z.number())
    .describe('The numbers that caused the transition; shares are from 0 to 1.')
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
  version: checkedText('integer', (value) =>
    /^\d{1,9}$/.test(value) ? undefined : 'must be an integer from 0 to 999999999',
  )
    .optional()
    .describe('Version to return. Default: the active version.')
    .meta({ type: 'integer', minimum: 0, examples: ['1'] }),
});

export const ROUTING_ENDPOINTS = endpoints('routing', {
  getRoutingRules: {
    route: 'GET /api/gateway/routing/rules',
    summary: 'Get the routing rules',
    description: 'The active rules, or the rules of an earlier version.',
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
      'Activates a rule set as a new version. Saving the active rule set again changes nothing. If the rule set is invalid, the error names all problems and the active rules stay. Rejected if the rules come from a file. The rules apply to both environments, so a sandbox API key is rejected.',
    body: ruleSetSchema,
    requestExample: {
      version: 1,
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of the rule language
      rules: [{ id: 'small-first', when: { amount: { lt: 10 } }, then: { explore: false } }],
    },
    response: rulesResource,
    errors: ['invalid_state'],
  },
  listRoutingRoutes: list(
    '/api/gateway/routing/routes',
    'List the routes with health and estimates',
    standingsQuery,
    routeStanding,
    "Each route has its health and cause, expected success, and the operator's override. Best first.",
  ),
  overrideRouteHealth: {
    route: 'PUT /api/gateway/routing/routes/{routeId}/health',
    access: 'admin',
    summary: 'Override the health of a route',
    description:
      'Takes a route out of use, or keeps it in use, until a given time or until health is set to automatic. A route with an override to standby is never used, even if it is the only route.',
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
    'Newest first. Each transition has its cause and the numbers that caused it.',
  ),
});

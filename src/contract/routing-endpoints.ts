import { SAMPLE_ROUTE_ID, SAMPLE_SESSION_ID } from './requests.ts';
import type { Endpoint } from './endpoint.ts';
import { rulesQuery, standingsQuery, transitionsQuery } from './queries.ts';
import { listOf } from './resources.ts';
import {
  backtestRequest,
  backtestResult,
  dryRunRequest,
  dryRunResult,
  overrideRequest,
  routeStanding,
  routingDecisions,
  routingReplay,
  rulesResource,
  transitionResource,
} from './routing.ts';
import { ruleSetSchema } from '../routing/rules.ts';

const sessionId = { sessionId: { description: 'A checkout session: chk_...', example: SAMPLE_SESSION_ID } };

/** What the operator sees and sets of routing. */
export const ROUTING_ENDPOINTS = {
  listDecisions: {
    operationId: 'listRoutingDecisions',
    method: 'GET',
    access: 'read',
    path: '/api/gateway/routing/decisions/{sessionId}',
    tag: 'routing',
    summary: 'Explain the route of a session',
    description:
      'Every routing decision about a session, with all candidates, their numbers and why they were not chosen: what it was quoted, and where each attempt was sent.',
    params: sessionId,
    response: routingDecisions,
    errors: ['not_found'],
  },
  replayDecisions: {
    operationId: 'replayRoutingDecisions',
    method: 'GET',
    access: 'read',
    path: '/api/gateway/routing/decisions/{sessionId}/replay',
    tag: 'routing',
    summary: 'Make the decisions of a session again',
    description:
      'Makes every decision about a session again from what is stored of it, and says whether each gives the same bytes. Changes nothing.',
    params: sessionId,
    response: routingReplay,
    errors: ['not_found'],
  },
  dryRun: {
    operationId: 'dryRunRouting',
    method: 'POST',
    access: 'read',
    path: '/api/gateway/routing/dry-run',
    tag: 'routing',
    summary: 'Ask which route a checkout would get',
    description:
      'Which route this checkout would be quoted, or with kind where its buyer would be sent, and why; with rules, under those instead of the saved ones. Explores nothing and writes nothing.',
    body: dryRunRequest,
    requestExample: { amount: 49.99, metadata: { country: 'DE' } },
    response: dryRunResult,
    errors: [],
  },
  backtest: {
    operationId: 'backtestRouting',
    method: 'POST',
    access: 'read',
    path: '/api/gateway/routing/backtest',
    tag: 'routing',
    summary: 'Try rules on past payments',
    description:
      'Makes the newest decisions about attempts again, from what was known then, under other rules, margin or objective, and says what would have been different. Writes nothing.',
    body: backtestRequest,
    requestExample: { margin: 0.15, limit: 500 },
    response: backtestResult,
    errors: [],
  },
  getRules: {
    operationId: 'getRoutingRules',
    method: 'GET',
    access: 'read',
    path: '/api/gateway/routing/rules',
    tag: 'routing',
    summary: 'Get the routing rules',
    description: 'The rules in force, or those of an earlier version.',
    query: rulesQuery,
    response: rulesResource,
    errors: ['not_found'],
  },
  saveRules: {
    operationId: 'saveRoutingRules',
    method: 'PUT',
    access: 'admin',
    keys: 'production',
    path: '/api/gateway/routing/rules',
    tag: 'routing',
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
  listStandings: {
    operationId: 'listRoutingRoutes',
    method: 'GET',
    access: 'read',
    path: '/api/gateway/routing/routes',
    tag: 'routing',
    summary: 'List the routes as the router knows them',
    description:
      'Health with its cause, expected success with what it rests on, and what the operator has set. Best first.',
    query: standingsQuery,
    response: listOf(routeStanding),
    errors: [],
  },
  overrideHealth: {
    operationId: 'overrideRouteHealth',
    method: 'PUT',
    access: 'admin',
    path: '/api/gateway/routing/routes/{routeId}/health',
    tag: 'routing',
    summary: 'Override the health of a route',
    description:
      'Takes a route out of use, or holds it in use, until a time or until health is set to automatic. A route in standby by this is not even used where nothing else is left.',
    params: { routeId: { description: 'The id of a route.', example: SAMPLE_ROUTE_ID } },
    body: overrideRequest,
    requestExample: { health: 'standby', until: '2027-01-15T12:00:00Z', reason: 'maintenance at the provider' },
    response: routeStanding,
    errors: ['invalid_state', 'not_found'],
  },
  listTransitions: {
    operationId: 'listRoutingTransitions',
    method: 'GET',
    access: 'read',
    path: '/api/gateway/routing/transitions',
    tag: 'routing',
    summary: 'List changes of route health',
    description: 'Newest first, with the cause of each and the numbers that it was decided on.',
    query: transitionsQuery,
    response: listOf(transitionResource),
    errors: [],
  },
} as const satisfies Record<string, Endpoint>;

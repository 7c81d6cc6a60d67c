import { noInput } from '../contract/action-contract.ts';
import { type Capabilities, capabilitiesResult } from '../contract/capabilities-contract.ts';
import { routesListResult } from '../contract/route-contract.ts';
import { checkoutCreate, checkoutPreview, feesEstimate } from './actions/checkout-actions.ts';
import { webhookExampleAction, webhookVerifySample } from './actions/webhook-actions.ts';
import { capabilitiesOf } from './capabilities.ts';
import { usualEnvironment } from './access/caller.ts';
import { listRoutes } from './routing/offers.ts';
import { paymentGet, paymentList, refundCreate, refundGet, sessionExpire, sessionGet } from './tools/record-tools.ts';
import { type Action, type Operation, READ_ONLY, defineOperation } from './operation.ts';

/** Actions of `POST /api/agent/actions/{action}`. */
export const ACTIONS: readonly Action[] = [
  checkoutPreview,
  checkoutCreate,
  feesEstimate,
  webhookExampleAction,
  webhookVerifySample,
];

const routesList = defineOperation({
  name: 'routes.list',
  description:
    'Answers the routes of sandbox, or of the environment of the API key, best first, with their fees, health and identity checks.',
  access: 'look',
  input: noInput,
  output: routesListResult,
  annotations: READ_ONLY,
  next: 'Call fees.estimate with a routeId.',
  run: (deps) => ({ result: { ok: true as const, routes: listRoutes(deps, usualEnvironment(deps)) } }),
});

const capabilities = defineOperation({
  name: 'capabilities',
  description: 'Answers everything that an agent needs in order to use this service.',
  access: 'look',
  input: noInput,
  output: capabilitiesResult,
  annotations: READ_ONLY,
  next: 'Call an action.',
  run: (deps) => ({ result: describeService(deps) }),
});

/** The tools of the Model Context Protocol, in listed order. The operations in `tools/` have REST endpoints of their own. */
export const TOOLS: readonly Operation[] = [
  feesEstimate,
  checkoutPreview,
  checkoutCreate,
  webhookExampleAction,
  webhookVerifySample,
  routesList,
  sessionGet,
  sessionExpire,
  paymentGet,
  paymentList,
  refundCreate,
  refundGet,
];

export const OPERATIONS: ReadonlyMap<string, Operation> = new Map(
  [...ACTIONS, routesList, capabilities].map((operation) => [operation.name, operation]),
);

/** Answer of `capabilities`. */
export function describeService(deps: Parameters<typeof capabilitiesOf>[0]): Capabilities {
  return capabilitiesOf(deps, ACTIONS, [...OPERATIONS.keys()]);
}

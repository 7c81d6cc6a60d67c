import { checkoutUrl, sessionRequest } from '../../contract/session-contract.ts';
import { renderFeeSplit } from '../../contract/payment-contract.ts';
import { SAMPLE_IDS } from '../../contract/sample-ids.ts';
import {
  checkoutResult as checkoutResultSchema,
  feesEstimateRequest,
  feesEstimateResult,
} from '../../contract/action-contract.ts';
import { splitFees } from '../../domain/fees.ts';
import { optionsOf } from '../capabilities.ts';
import { checkoutResult, createCheckout, previewCheckout } from '../create-checkout.ts';
import { transferOfSession } from '../pending-transfer.ts';
import { estimateFees } from '../routing/offers.ts';
import {
  BLOCKED,
  type ExampleDeps,
  IDEMPOTENCY_CONFLICT,
  NO_ROUTE,
  READ_ONLY,
  SPEND_LIMIT,
  defineAction,
} from '../operation.ts';
import { sampleRoute } from '../webhook-samples.ts';

export const checkoutPreview = defineAction({
  name: 'checkout.preview',
  title: 'Preview a checkout',
  description:
    'Answers what checkout.create would: same route, same fees. Use it to check a body or show terms first, not to sell: its checkoutUrl takes no payment. Writes nothing, uses no idempotencyKey up.',
  input: sessionRequest,
  reader: ({ sessionReader }) => sessionReader,
  output: checkoutResultSchema,
  annotations: READ_ONLY,
  access: 'look',
  errors: [IDEMPOTENCY_CONFLICT, BLOCKED, NO_ROUTE, SPEND_LIMIT],
  next: 'Send the same body to checkout.create.',
  command: (input) => ['checkout', 'preview', ...optionsOf(input)],
  example: (deps) => {
    const { request, feeSplit } = checkoutExample(deps);
    return { request, response: { dryRun: true, feeSplit } };
  },
  run: previewCheckout,
});

export const checkoutCreate = defineAction({
  name: 'checkout.create',
  title: 'Create a checkout',
  description:
    'Creates a session, at whose checkoutUrl the buyer pays. Use it once per order, with an idempotencyKey to make a resend safe; not to look at prices: that is checkout.preview. Charges nobody.',
  input: sessionRequest,
  reader: ({ sessionReader }) => sessionReader,
  output: checkoutResultSchema,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  access: 'create',
  errors: [IDEMPOTENCY_CONFLICT, BLOCKED, NO_ROUTE, SPEND_LIMIT],
  next: 'Give checkoutUrl to the buyer; await webhook payment.paid or poll getPayment with id.',
  command: (input) => ['checkout', 'create', ...optionsOf(input)],
  // The example has no idempotencyKey, because all orders made from the example would share it.
  example: (deps) => ({
    request: checkoutExample(deps).request,
    response: { id: SAMPLE_IDS.chk, checkoutUrl: checkoutUrl(deps.urls, SAMPLE_IDS.chk), dryRun: false },
  }),
  run: async (deps, input) => {
    const { session, replayed } = await createCheckout(deps, input);
    const transfer = replayed ? await transferOfSession(deps, session.id) : null;
    return { result: checkoutResult(deps, session, false, transfer), replayed };
  },
});

export const feesEstimate = defineAction({
  name: 'fees.estimate',
  title: 'Estimate fees',
  description:
    'Splits amount into buyerFee, gatewayFee and merchantNet, on the best route (else no_eligible_route) or on routeId. Use it to compare routes; for a known buyer, checkout.preview. Writes nothing.',
  input: feesEstimateRequest,
  output: feesEstimateResult,
  annotations: READ_ONLY,
  access: 'look',
  // OpenAPI has no room for another set of errors with its examples, so the description names no_eligible_route.
  errors: [],
  next: 'Call checkout.create with the same amount and preferredRoute.',
  command: ({ amount, ...others }) => ['fees', String(amount), ...optionsOf(others)],
  example: (deps) => {
    const { request, feeSplit } = checkoutExample(deps);
    const { customer: _customer, product: _product, ...estimate } = request;
    return { request: estimate, response: { feeSplit } };
  },
  run: (deps, input) => ({ result: estimateFees(deps, input) }),
});

/** Request for a minimal checkout, and its fees. */
function checkoutExample({ routes }: ExampleDeps) {
  const route = sampleRoute(routes);
  const { environment } = route;
  const request = { product: 'Field guide', amount: 49.99, customer: 'buyer@example.com' };
  return {
    // The sandbox is the default.
    request: { ...request, ...(environment === 'production' && { environment }) },
    feeSplit: renderFeeSplit(splitFees(4999, route)),
  };
}

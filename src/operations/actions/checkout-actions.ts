import { checkoutUrl, sessionRequest } from '../../contract/session-contract.ts';
import { renderFeeSplit } from '../../contract/payment-contract.ts';
import { SAMPLE_IDS } from '../../contract/sample-ids.ts';
import {
  type CheckoutResult,
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
    const { request, response } = checkoutExample(deps);
    return {
      request,
      response: { ...response, checkoutUrl: `${response.checkoutUrl}?preview=1`, dryRun: true },
    };
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
  example: checkoutExample,
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
    'Splits an amount into buyer fee, gateway fee and merchant net, on the best route or on routeId. Use it to compare routes; with a known buyer use checkout.preview. Writes nothing.',
  input: feesEstimateRequest,
  output: feesEstimateResult,
  annotations: READ_ONLY,
  access: 'look',
  errors: [NO_ROUTE],
  next: 'Call checkout.create with the same amount and preferredRoute.',
  command: ({ amount, ...others }) => ['fees', String(amount), ...optionsOf(others)],
  example: (deps) => {
    const { request, response } = checkoutExample(deps);
    const { customer: _customer, product: _product, ...estimate } = request;
    const { environment, route, feeSplit } = response;
    return { request: estimate, response: { environment, route, feeSplit } };
  },
  run: (deps, input) => ({ result: estimateFees(deps, input) }),
});

/** Request and response of a minimal checkout. */
function checkoutExample({ routes, router, urls, merchantName }: ExampleDeps): {
  request: Record<string, unknown>;
  response: CheckoutResult;
} {
  const route = sampleRoute(routes);
  const { environment } = route;
  const request = { product: 'Field guide', amount: 49.99, customer: 'buyer@example.com' };
  const url = checkoutUrl(urls, SAMPLE_IDS.chk);
  return {
    // The sandbox is the default.
    request: { ...request, ...(environment === 'production' && { environment }) },
    response: {
      id: SAMPLE_IDS.chk,
      merchant: merchantName,
      ...request,
      route: router.view(environment).routes.get(route.id)!.summary,
      feeSplit: renderFeeSplit(splitFees(4999, route)),
      checkoutUrl: url,
      redirectUrl: `${url}/complete`,
      status: 'routed',
      environment,
      dryRun: false,
      transfer: null,
    },
  };
}

import { checkoutUrl, sessionRequest } from '../../contract/session-contract.ts';
import { renderFeeSplit } from '../../contract/payment-contract.ts';
import { SAMPLE_SESSION_ID } from '../../contract/sample-ids.ts';
import { type CheckoutResult, checkoutResult } from '../../contract/action-contract.ts';
import { splitFees } from '../../domain/fees.ts';
import { optionsOf } from '../capabilities/command-line.ts';
import { previewCheckout } from '../create-checkout.ts';
import {
  BLOCKED,
  type ExampleDeps,
  IDEMPOTENCY_CONFLICT,
  INVALID_INPUT,
  INVALID_JSON,
  NO_ROUTE,
  READ_ONLY,
  SPEND_LIMIT,
  UNAVAILABLE,
  defineAction,
} from '../operation.ts';
import { sampleRoute } from '../webhook-example.ts';

export const checkoutPreview = defineAction({
  name: 'checkout.preview',
  title: 'Preview a checkout',
  description:
    'Answers what checkout.create would: same route, same fees. Use it to check a body or show terms first, not to sell: its checkoutUrl takes no payment. Writes nothing, uses no idempotencyKey up.',
  input: sessionRequest,
  reader: ({ sessionReader }) => sessionReader,
  output: checkoutResult,
  annotations: READ_ONLY,
  access: 'look',
  errors: [INVALID_INPUT, INVALID_JSON, IDEMPOTENCY_CONFLICT, BLOCKED, NO_ROUTE, SPEND_LIMIT, UNAVAILABLE],
  next: 'Send the same body to checkout.create.',
  command: (input) => ['checkout', 'preview', ...checkoutOptions(input)],
  example: (deps) => {
    const { request, response } = checkoutExample(deps);
    return {
      request,
      response: { ...response, checkoutUrl: `${response.checkoutUrl}?preview=1`, dryRun: true },
    };
  },
  run: previewCheckout,
});

const OPTIONS = {
  product: 'product',
  amount: 'amount',
  customer: 'customer',
  preferredRoute: 'kind',
  redirectUrl: 'redirect-url',
  metadata: 'metadata',
  idempotencyKey: 'idempotency-key',
  clientReferenceId: 'reference',
  environment: 'environment',
};

/** A checkout as the options of a command. */
export function checkoutOptions(input: Record<string, unknown>): string[] {
  return optionsOf(input, OPTIONS);
}

/** A smallest checkout, and what it answers. */
export function checkoutExample({ routes, router, urls, merchantName }: ExampleDeps): {
  request: Record<string, unknown>;
  response: CheckoutResult;
} {
  const route = sampleRoute(routes);
  const { environment } = route;
  const asked = { product: 'Field guide', amount: 49.99, customer: 'buyer@example.com' };
  const url = checkoutUrl(urls, SAMPLE_SESSION_ID);
  return {
    // Sandbox goes without saying.
    request: { ...asked, ...(environment === 'production' && { environment }) },
    response: {
      id: SAMPLE_SESSION_ID,
      merchant: merchantName,
      ...asked,
      route: router.view(environment).routes.get(route.id)!.summary,
      feeSplit: renderFeeSplit(splitFees(4999, route)),
      checkoutUrl: url,
      redirectUrl: `${url}/complete`,
      status: 'routed',
      environment,
      dryRun: false,
    },
  };
}

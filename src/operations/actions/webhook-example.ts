import { webhookExampleRequest, webhookExampleResult } from '../../contract/action-contract.ts';
import { optionsOf } from '../capabilities/command-line.ts';
import { INVALID_INPUT, INVALID_JSON, READ_ONLY, defineAction } from '../operation.ts';
import { sampleRoute, webhookExample } from '../webhook-example.ts';

const OPTIONS = {
  event: 'event',
  provider: 'provider',
  sessionId: 'session',
  customerId: 'customer',
  amount: 'amount',
  routeId: 'route',
  txHash: 'tx-hash',
  livemode: 'livemode',
  metadata: 'metadata',
};
const SAMPLE_TIME = Date.parse('2026-01-15T09:30:00.000Z');

export const webhookExampleAction = defineAction({
  name: 'webhook.example',
  title: 'Show a webhook delivery',
  description:
    'Answers headers and body of a delivery, signed with webhooks.sampleSecret. Use it to build a receiver, not to learn about a payment. Sends nothing, reads no record.',
  input: webhookExampleRequest,
  output: webhookExampleResult,
  annotations: READ_ONLY,
  access: 'look',
  errors: [INVALID_INPUT, INVALID_JSON],
  next: 'POST JSON.stringify(payload) with headers to your endpoint: it must answer 200.',
  command: (input) => ['webhook', 'example', ...optionsOf(input, OPTIONS)],
  example: ({ routes }) => ({
    request: {},
    response: webhookExample({ routes }, webhookExampleRequest.parse({ routeId: sampleRoute(routes).id }), SAMPLE_TIME),
  }),
  run: (deps, input) => ({ result: webhookExample(deps, input, deps.now(), deps.realNow()) }),
});

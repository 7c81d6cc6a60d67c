import { z } from 'zod';
import { label, template, uri } from './described.ts';
import { routeSummary } from './resources.ts';

const anything = (what: string, example: Record<string, unknown>) =>
  z
    .record(z.string(), z.unknown())
    .describe(what)
    .meta({ examples: [example] });
const flag = (what: string) =>
  z
    .boolean()
    .describe(what)
    .meta({ examples: [true] });

export const schemaResult = z.strictObject({
  ok: z.literal(true).describe('Always true.'),
  operation: label('The operation asked for.', 'fees.estimate'),
  inputSchema: anything('JSON Schema, draft 2020-12, of the request body.', { type: 'object' }),
  outputSchema: anything(
    'JSON Schema, draft 2020-12, of the `result` of an action, or of the whole answer of routes.list and capabilities.',
    { type: 'object' },
  ),
});

const entrypoint = z.strictObject({
  id: label('Name of the endpoint.', 'getPayment'),
  method: z.enum(['GET', 'POST']).describe('HTTP method.'),
  url: template('Absolute URL; parts in braces are yours to fill in.', 'https://gateway.example/api/gateway/payments'),
  use: label('What it is for, and its query parameters.', 'List payments. Query: limit.'),
});

const action = z.strictObject({
  name: label('Name of the action.', 'fees.estimate'),
  description: label('What it does, when to use it, when not, and what it does not do.', 'Splits an amount into fees.'),
  method: z.literal('POST').describe('Always POST.'),
  url: uri('Where to send the input as JSON.', 'https://gateway.example/api/agent/actions/fees.estimate'),
  schemaUrl: uri('Where its input and output schemas stand.', 'https://gateway.example/api/agent/schema/fees.estimate'),
  annotations: z
    .strictObject({
      readOnlyHint: flag('It changes nothing.'),
      destructiveHint: flag('It can destroy or undo something.'),
      idempotentHint: flag('Sending the same input again changes nothing more.'),
      openWorldHint: flag('It can reach systems outside this service.'),
    })
    .describe('Hints with the meaning that the Model Context Protocol gives them.'),
  inputSchema: anything('JSON Schema of the input: the same as at schemaUrl.', { type: 'object' }),
  example: z
    .strictObject({
      request: anything('An input that works as it stands.', { amount: 49.99 }),
      response: anything('An excerpt of `result`; its schema is at schemaUrl.', { environment: 'sandbox' }),
    })
    .describe('One call.'),
  cli: label(
    'The example as a command line for sh; prints the answer.',
    'tillway fees 49.99 --url https://gateway.example --json',
  ),
  errors: z
    .array(
      z.strictObject({
        code: label('The error code.', 'invalid_input'),
        recovery: z
          .enum(['fix_input', 'retry_same', 'stop'])
          .describe('fix_input: change the body; retry_same: send the same body again; stop: tell your user.'),
        do: label('What to do, in one sentence.', 'Do what suggestion says, then resend.'),
      }),
    )
    .describe('What can go wrong, besides what the summary names.'),
  next: label('What to do after success.', 'Call checkout.create.'),
});

export const capabilitiesResult = z.strictObject({
  product: label('Name of the service.', 'Tillway'),
  summary: label('What it is, how it is used, and the units of every number.', 'Hosted checkout.'),
  entrypoints: z.array(entrypoint).describe('Every endpoint.'),
  webhooks: anything('Events, headers, signatures, retries and rules for a receiver.', { events: [] }),
  schemas: z
    .strictObject({
      url: template(
        'Schema lookup; fill in one of operations.',
        'https://gateway.example/api/agent/schema/{operation}',
      ),
      operations: z.array(label('Name of an operation.', 'fees.estimate')).describe('Every operation.'),
    })
    .describe('Where the schemas stand.'),
  actions: z.array(action).describe('The typed actions.'),
  routes: z
    .array(
      routeSummary.pick({
        id: true,
        kind: true,
        score: true,
        health: true,
        eta: true,
        buyerFeeRate: true,
        gatewayFeeRate: true,
        kycPolicy: true,
      }),
    )
    .describe('The payment routes of sandbox, best first: what one is chosen by.'),
});
export type Capabilities = z.output<typeof capabilitiesResult>;

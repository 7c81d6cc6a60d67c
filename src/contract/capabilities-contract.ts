import { z } from 'zod';
import { ENVIRONMENTS } from '../domain/route.ts';
import { endpoints } from './endpoint.ts';
import * as field from './resource-fields.ts';
import { named } from './resource.ts';
import { routeSummary, routesListResult } from './route-contract.ts';

const anything = (what: string, example: Record<string, unknown>) =>
  z
    .record(z.string(), z.unknown())
    .describe(what)
    .meta({ examples: [example] });
const flag = (what: string) => field.flag(what, true);

const schemaResult = named(
  'OperationSchemas',
  z.strictObject({
    ok: z.literal(true).describe('Always true.'),
    operation: field.label('The requested operation.', 'fees.estimate'),
    inputSchema: anything('JSON Schema, draft 2020-12, of the request body.', { type: 'object' }),
    outputSchema: anything(
      'JSON Schema, draft 2020-12, of the `result` of an action, or of the whole response of routes.list and capabilities.',
      { type: 'object' },
    ),
  }),
);

const entrypoint = z.strictObject({
  id: field.label('Name of the endpoint.', 'getPayment'),
  method: z.enum(['GET', 'POST']).describe('HTTP method.'),
  url: field.template('Absolute URL; replace the parts in braces.', 'https://gateway.example/api/gateway/payments'),
  use: field.label('Its purpose and its query parameters.', 'List payments. Query: limit.'),
});

const action = z.strictObject({
  name: field.label('Name of the action.', 'fees.estimate'),
  description: field.label(
    'Effect of the action, when to use it, when not to use it, and effects that it does not have.',
    'Splits an amount into fees.',
  ),
  method: z.literal('POST').describe('Always POST.'),
  url: field.uri(
    'The URL to which the input is sent as JSON.',
    'https://gateway.example/api/agent/actions/fees.estimate',
  ),
  schemaUrl: field.uri(
    'URL of the input and output schemas.',
    'https://gateway.example/api/agent/schema/fees.estimate',
  ),
  annotations: z
    .strictObject({
      readOnlyHint: flag('True if the action changes nothing.'),
      destructiveHint: flag('True if the action can destroy or undo something.'),
      idempotentHint: flag('True if sending the same input again has no further effect.'),
      openWorldHint: flag('True if the action can contact systems outside this service.'),
    })
    .describe('Tool annotations as defined by the Model Context Protocol.'),
  inputSchema: anything('JSON Schema of the input, as returned by schemaUrl.', { type: 'object' }),
  example: z
    .strictObject({
      request: anything('Input that works as written.', { amount: 49.99 }),
      response: anything('Excerpt of `result`; schemaUrl has its schema.', { environment: 'sandbox' }),
    })
    .describe('Example of a call.'),
  cli: field.label(
    'The example as a shell command that prints the response.',
    'tillway fees 49.99 --url https://gateway.example --json',
  ),
  errors: z
    .array(
      z.strictObject({
        code: field.label('The error code.', 'invalid_input'),
        recovery: z
          .enum(['fix_input', 'retry_same', 'stop'])
          .describe('fix_input: change the body; retry_same: send the same body again; stop: tell your user.'),
        do: field.label('The remedy, in one sentence.', 'Do what suggestion says, then resend.'),
      }),
    )
    .describe('Possible errors, in addition to those in the summary.'),
  next: field.label('The next step after success.', 'Call checkout.create.'),
});

export const capabilitiesResult = named(
  'Capabilities',
  z.strictObject({
    product: field.label('Name of the service.', 'Tillway'),
    summary: field.label('Purpose and use of the service, and units of all numbers.', 'Hosted checkout.'),
    entrypoints: z.array(entrypoint).describe('Every endpoint.'),
    webhooks: anything('Events, headers, signatures, retries, and rules for receivers.', { events: [] }),
    schemas: z
      .strictObject({
        url: field.template(
          'URL template of the schema lookup; `operation` is one of `operations`.',
          'https://gateway.example/api/agent/schema/{operation}',
        ),
        operations: z.array(field.label('Name of an operation.', 'fees.estimate')).describe('Every operation.'),
      })
      .describe('The URLs of the schemas.'),
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
      .describe('The payment routes of sandbox, best first.'),
  }),
);
export type Capabilities = z.output<typeof capabilitiesResult>;

const routesQuery = z.strictObject({
  environment: z.optional(
    field.choice(ENVIRONMENTS, 'Routes of this environment. Default: that of the API key; without keys, sandbox.'),
  ),
});

/** Agent endpoints except the actions, whose endpoints are derived from the operation registry. */
export const AGENT_ENDPOINTS = endpoints('agent', {
  capabilities: {
    route: 'GET /api/agent/capabilities',
    etag: true,
    access: 'look',
    summary: 'Discover the API',
    description: 'Entry points, actions with their schemas and examples, routes and webhook events.',
    response: capabilitiesResult,
    // Every endpoint can return `forbidden` for an unknown host name. This endpoint has no other cause of `forbidden`.
    errors: ['forbidden'],
    errorExamples: {
      forbidden: {
        message: 'This service is not known under that host name.',
        suggestion: 'Use the address in BASE_URL, or set BASE_URL to the address that you use.',
      },
    },
  },
  listRoutes: {
    route: 'GET /api/agent/routes',
    access: 'look',
    summary: 'List payment routes',
    description: 'Best first. Rates are fractions (0.029 is 2.9 %), score is 0 to 100.',
    query: routesQuery,
    response: routesListResult,
  },
  getSchema: {
    route: 'GET /api/agent/schema/{operation}',
    access: 'look',
    summary: 'Get the schemas of an operation',
    description:
      'Input and output of one operation as JSON Schema, draft 2020-12: the source of truth for required fields, enums and limits.',
    response: schemaResult,
    envelope: 'operation',
    errors: ['unknown_operation', 'not_found'],
    errorExamples: { not_found: { message: 'There is nothing at this path.' } },
  },
});

import type { Endpoint } from '../contract/endpoint.ts';
import { actionUrl, schemaUrl, commandLine } from '../operations/capabilities.ts';
import type { Action, ExampleDeps } from '../operations/operation.ts';
import { SAMPLE_PROVIDER_SECRET } from '../operations/webhook-samples.ts';

/** Contents of /llms.txt. */
export interface LlmsTextInput {
  deps: ExampleDeps;
  actions: readonly Action[];
  /** Names of the operations whose schemas are listed. */
  operations: readonly string[];
  /** Endpoints to list in addition to actions and schemas. */
  endpoints: readonly Endpoint[];
}

type Line = [title: string, url: string, note: string];

const HEADINGS_BY_TAG: Partial<Record<Endpoint['tag'], string>> & Record<'agent', string> = {
  agent: 'Lookups for agents',
  routing: 'Routing, for operators',
};

/** Text of /llms.txt (https://llmstxt.org): a heading, a summary, the steps of a sale, and lists of links. */
export function llmsText({ deps, actions, operations, endpoints }: LlmsTextInput): string {
  const { base } = deps.urls;
  const sections: [heading: string, lines: Line[]][] = [
    ['Start here', startLines(base)],
    ['Actions', actions.map((action) => actionLine(deps, action))],
    ['Schemas', operations.map((name) => [name, schemaUrl(base, name), `Input and output of ${name}.`])],
    ...endpointSections(base, endpoints),
    ['Optional', optionalLines(base)],
  ];
  return [
    '# Tillway',
    '> Self-hosted hosted checkout and payment routing: a program creates a checkout with one request, the buyer pays on a hosted page, and the merchant fulfils the order when a signed webhook arrives.',
    ...flow(base),
    ...sections.map(([heading, lines]) => `## ${heading}\n\n${lines.map(lineText).join('\n')}`),
    '',
  ]
    .join('\n\n')
    .trimEnd()
    .concat('\n');
}

function lineText([title, url, note]: Line): string {
  return `- [${title}](${url}): ${note}`;
}

function flow(base: string): string[] {
  return [
    `To sell one item: 1. Call the action checkout.create with product, amount and customer. 2. Give the checkoutUrl of the result to the buyer; only the buyer can pay. 3. Wait for the webhook payment.paid, or poll GET ${base}/api/gateway/payments/{session id} until its status is paid; it returns 404 until the buyer starts to pay. 4. Then fulfil the order, and not before. To see the fees first, call fees.estimate or checkout.preview, which create nothing.`,
    'Amounts are in US dollars, not cents. A service that answers 401 requires an API key: send Authorization: Bearer sk_sandbox_... or sk_live_... The operator creates keys with tillway keys create, each for one environment. environment is sandbox (the default, with test money) or production. Requests and responses are JSON: a successful action returns {ok, action, result}, an error {ok: false, error}, in which suggestion says how to correct the request. Send an idempotencyKey with checkout.create: a repeated request then returns the same session. Names below that begin with webhooks. are fields of the capabilities.',
    'To pay as the buyer in sandbox, open checkoutUrl and use card 4242 4242 4242 4242, any future expiry date, any security code and any name.',
    `To pay without a browser, call the action webhook.verify_sample with payload {"eventId": any new id, "sessionId": the session id, "status": "paid", "amount": the amount of the session} and signature t=<unix seconds>,v1=<hex HMAC-SHA256 of t, a full stop and the payload as compact JSON in the order of keys sent, keyed with ${SAMPLE_PROVIDER_SECRET}>. This marks the session as paid; with status failed it marks the payment as failed and sends payment.failed. Or run tillway trigger payment.paid, which creates a checkout and pays it.`,
    `The tillway command does the same: tillway --help lists its commands, which accept --url ${base} and --json, and tillway listen shows each webhook when it is sent. The MCP tools are the actions, with _ instead of the dot in their names, and routes_list, session_get, session_expire, payment_get, payment_list, refund_create and refund_get.`,
  ];
}

function startLines(base: string): Line[] {
  return [
    [
      'Capabilities',
      `${base}/api/agent/capabilities`,
      'One JSON document for agents: endpoints, actions with schemas and examples, routes, and webhook signatures.',
    ],
    [
      'MCP server',
      `${base}/mcp`,
      'The actions as tools of the Model Context Protocol, over Streamable HTTP; for stdio, run tillway mcp.',
    ],
    ['OpenAPI', `${base}/openapi.json`, 'Every endpoint with its fields and errors, as OpenAPI 3.1.'],
    ['Workflows', `${base}/arazzo.yaml`, 'Selling one item and checking a webhook, step by step, as Arazzo 1.0.'],
    ['API reference', `${base}/docs`, 'The OpenAPI document as a web page.'],
  ];
}

function actionLine(deps: ExampleDeps, action: Action): Line {
  const { base } = deps.urls;
  const { name, description, next, command, example } = action;
  const line = commandLine(base, command(example(deps).request));
  return [name, actionUrl(base, name), `POST. ${description} Next: ${next} Command: \`${line}\``];
}

/** One section per tag, in which each endpoint links to its place in the API reference. */
function endpointSections(base: string, endpoints: readonly Endpoint[]): [string, Line[]][] {
  const tags = [...new Set(endpoints.map(({ tag }) => tag))];
  return tags.map((tag) => [
    HEADINGS_BY_TAG[tag] ?? capitalized(tag),
    endpoints
      .filter((endpoint) => endpoint.tag === tag)
      .map(({ method, path, operationId, summary }) => [
        `${method} ${path}`,
        `${base}/docs#${operationId}`,
        `${summary}.`,
      ]),
  ]);
}

function optionalLines(base: string): Line[] {
  return [
    [
      'Test outcomes',
      `${base}/simulator`,
      'Test cards and names that make a sandbox payment succeed, fail, stay pending or lose its callback.',
    ],
    [
      'API catalogue',
      `${base}/.well-known/api-catalog`,
      'Links to all descriptions of this API, in the format of RFC 9727.',
    ],
    ['Readiness', `${base}/readyz`, 'Returns 200 while the service accepts requests.'],
  ];
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

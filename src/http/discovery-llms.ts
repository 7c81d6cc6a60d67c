import type { Endpoint } from '../contract/endpoint.ts';
import { actionUrl, schemaUrl, commandLine } from '../operations/capabilities.ts';
import type { Action, ExampleDeps } from '../operations/operation.ts';
import { SAMPLE_PROVIDER_SECRET } from '../operations/webhook-samples.ts';

export interface Described {
  deps: ExampleDeps;
  actions: readonly Action[];
  /** Names of operations, for the schema lookup. */
  operations: readonly string[];
  /** Endpoints with their own path, unlike actions and operations. */
  endpoints: readonly Endpoint[];
}

type Line = [title: string, url: string, note: string];

const GROUPS: Partial<Record<Endpoint['tag'], string>> & Record<'agent', string> = {
  agent: 'Lookups for agents',
  routing: 'Routing, for operators',
};

/** The service in short, after https://llmstxt.org: a heading, a summary, the flow, and lists of links. */
export function llmsText({ deps, actions, operations, endpoints }: Described): string {
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
    '> Self-hosted hosted checkout and payment routing: a program creates a checkout with one request, the buyer pays on a hosted page, and a signed webhook says when to fulfil.',
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
    `To sell one item: call the action checkout.create with product, amount and customer; give the checkoutUrl of its result to the buyer, who pays there (you cannot pay); then poll GET ${base}/api/gateway/payments/{session id}, which is 404 until the buyer starts, until its status is paid, or wait for the webhook payment.paid. Fulfil only then. Look at prices first with fees.estimate or checkout.preview, which write nothing.`,
    'Amounts are US dollars, not cents. Where the service answers 401 it has API keys: send Authorization: Bearer sk_sandbox_... or sk_live_..., made by the operator with tillway keys create; a key is of one environment. environment is sandbox (the default: test money) or production. Requests and answers are JSON; an action answers {ok, action, result}, and a refusal {ok: false, error}, whose suggestion says how to mend the body. Send an idempotencyKey with checkout.create to make a resend safe. What is called webhooks.something below is in the capabilities.',
    'To play the buyer in sandbox, open checkoutUrl and pay with card 4242 4242 4242 4242, any expiry to come, any security code and name.',
    `Without a browser, run the action webhook.verify_sample with payload {"eventId": your own, "sessionId": the session id, "status": "paid", "amount": the amount of the session} and signature t=<unix seconds>,v1=<hex HMAC-SHA256 of t, a full stop and the payload as compact JSON in the order of keys sent, keyed with ${SAMPLE_PROVIDER_SECRET}>: the session is paid by it; with status failed it fails, and payment.failed is sent. Or run tillway trigger payment.paid, which makes a checkout of its own and pays it.`,
    `The command line tillway does all of this: each command takes --url ${base} and --json; tillway --help lists them, and tillway listen shows every webhook as it happens. Over MCP, the tools are the actions with _ in place of the dot, and routes_list and those of the records: session_get, session_expire, payment_get, payment_list, refund_create, refund_get.`,
  ];
}

function startLines(base: string): Line[] {
  return [
    [
      'Capabilities',
      `${base}/api/agent/capabilities`,
      'Everything for an agent in one answer of JSON: endpoints, actions with schemas and examples, routes, how webhooks are signed.',
    ],
    [
      'MCP server',
      `${base}/mcp`,
      'The actions as tools of the Model Context Protocol (Streamable HTTP; stdio: tillway mcp).',
    ],
    ['OpenAPI', `${base}/openapi.json`, 'Every endpoint with every field and error, OpenAPI 3.1.'],
    ['Workflows', `${base}/arazzo.yaml`, 'Selling one item and checking a webhook, step by step, as Arazzo 1.0.'],
    ['API reference', `${base}/docs`, 'The same as OpenAPI, as a page.'],
  ];
}

function actionLine(deps: ExampleDeps, action: Action): Line {
  const { base } = deps.urls;
  const { name, description, next, command, example } = action;
  const line = commandLine(base, command(example(deps).request));
  return [name, actionUrl(base, name), `POST. ${description} Next: ${next} Command: \`${line}\``];
}

/** The endpoints by tag, each with a link to its section of the reference. */
function endpointSections(base: string, endpoints: readonly Endpoint[]): [string, Line[]][] {
  const tags = [...new Set(endpoints.map(({ tag }) => tag))];
  return tags.map((tag) => [
    GROUPS[tag] ?? capitalized(tag),
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
      'Card numbers and names that make a sandbox payment succeed, fail, wait or get lost.',
    ],
    ['API catalogue', `${base}/.well-known/api-catalog`, 'Where the descriptions of this API are, as RFC 9727 has it.'],
    ['Readiness', `${base}/readyz`, '200 while the service takes requests.'],
  ];
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

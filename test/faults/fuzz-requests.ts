import { createHmac } from 'node:crypto';
import { METHODS } from 'node:http';
import { AGENT_ENDPOINTS } from '../../src/contract/capabilities-contract.ts';
import { CUSTOMER_ENDPOINTS } from '../../src/contract/customer-contract.ts';
import type { Endpoint } from '../../src/contract/endpoint.ts';
import { INVOICE_ENDPOINTS, PAYMENT_ENDPOINTS } from '../../src/contract/payment-contract.ts';
import { SESSION_ENDPOINTS } from '../../src/contract/session-contract.ts';
import { ACTIONS, OPERATIONS } from '../../src/operations/registry.ts';
import { SIGNATURE_HEADER } from '../../src/providers/sandbox.ts';
import { INSTRUMENTS } from '../../src/simulator/instruments.ts';
import { type Members, garbled, membersOf, mutatedBody, nastyText, nastyValue, randomBytes } from './fuzz-values.ts';
import type { Random } from './random.ts';

/** A service to send requests to, and what is known of it. */
export interface Target {
  port: number;
  world: World;
  /** Everything it logs, one JSON line each. */
  logged: readonly string[];
}

/** What the service is known to hold, so that requests can name it. */
export interface World {
  host: string;
  /** Ids that answers carried, newest last. */
  ids: Map<string, string[]>;
  /** What the simulated provider takes; without them nothing behind its door would be reached. */
  apiKey: string;
  callbackSecret: string;
}

export interface FuzzRequest {
  bytes: Buffer;
  method: string;
  /** Path and query as sent. */
  url: string;
  /** Whether it is HTTP, so that the connection must not just be closed. */
  mustAnswer: boolean;
  /** Whether nothing more comes on this connection. */
  last: boolean;
}

interface Draft {
  method: string;
  url: string;
  headers: [name: string, value: string][];
  body: string | undefined;
}

type Draw = (random: Random, world: World) => Draft;

/** Every kind of request, by how often it comes. */
const KINDS: readonly [weight: number, draw: Draw][] = [
  [30, bodyRequest],
  [20, queryRequest],
  [12, recordRequest],
  [14, checkoutRequest],
  [20, simulatorPageRequest],
  [5, simulatorApiRequest],
  [6, callbackRequest],
  [5, elsewhereRequest],
];
const TOTAL_WEIGHT = KINDS.reduce((sum, [weight]) => sum + weight, 0);
const RAW_SHARE = 0.03;
const FLAWED_SHARE = 0.25;

/** One request. It follows from the random numbers and from what the world holds. */
export function drawRequest(random: Random, world: World): FuzzRequest {
  if (random.chance(RAW_SHARE)) return rawRequest(random, world);
  let at = random.int(TOTAL_WEIGHT);
  const [, draw] = KINDS.find(([weight]) => (at -= weight) < 0)!;
  const draft = draw(random, world);
  draft.headers.unshift(['host', world.host]);
  return random.chance(FLAWED_SHARE) ? flawed(random, draft) : written(draft);
}

const SESSION = {
  product: 'Field guide',
  amount: 49.99,
  customer: 'buyer@example.com',
  preferredRoute: 'wallet',
  redirectUrl: 'https://shop.example/thanks',
  metadata: { orderId: 'A-1' },
  idempotencyKey: 'order-0001',
  clientReferenceId: 'A-1',
  environment: 'sandbox',
};

const ACTION_BODIES: Record<string, Record<string, unknown>> = {
  'fees.estimate': { amount: 10, preferredRoute: 'card', routeId: 'sandbox_card_acquirer', environment: 'sandbox' },
  'webhook.example': { event: 'payment.paid', amount: 5, livemode: false, txHash: null, metadata: { a: 'b' } },
  'webhook.verify_sample': {
    provider: 'sandbox',
    signature: `t=1700000000,v1=${'0'.repeat(64)}`,
    payload: { eventId: 'e1', sessionId: 'chk_1', status: 'paid', amount: 5, txHash: 'x' },
  },
};

function bodyRequest(random: Random, world: World): Draft {
  const actions = ACTIONS.map(({ name }) => name);
  if (random.chance(0.4)) return json(SESSION_ENDPOINTS.createSession.path, mutatedBody(random, sessionOf(random)));
  const action = random.chance(0.95) ? random.pick(actions) : nastyText(random);
  const known = ACTION_BODIES[action];
  const valid = known ? membersOf(known) : sessionOf(random);
  // The payload is an object of its own, with faults of its own.
  for (const member of valid) {
    if (member[0] === 'payload' && random.chance(0.5)) member[1] = mutatedBody(random, payloadOf(random, world));
  }
  return json(`/api/agent/actions/${action}`, mutatedBody(random, valid));
}

function sessionOf(random: Random): Members {
  const number = random.int(200);
  const tag = random.chance(0.05) ? '+handoff_error' : '';
  return membersOf({
    ...SESSION,
    customer: `buyer${number}${tag}@example.com`,
    preferredRoute: random.pick(['card', 'wallet', 'local']),
    idempotencyKey: `order-${String(random.int(100_000)).padStart(6, '0')}`,
    environment: random.chance(0.9) ? 'sandbox' : 'production',
  });
}

function payloadOf(random: Random, world: World): Members {
  return membersOf({
    eventId: `e${random.int(500)}`,
    sessionId: idOf(random, world, 'chk'),
    status: 'paid',
    amount: 5,
  });
}

const LISTS = [
  SESSION_ENDPOINTS.listSessions,
  CUSTOMER_ENDPOINTS.listCustomers,
  PAYMENT_ENDPOINTS.listPayments,
  INVOICE_ENDPOINTS.listInvoices,
  AGENT_ENDPOINTS.listRoutes,
].map(({ path }) => path);

const PARAMETERS = (
  'limit,startingAfter,endingBefore,customerId,invoiceId,paymentId,sessionId,email,customer,status,environment,' +
  'clientReferenceId,notice,preview,use,session_id,__proto__,constructor,limit[],status[$ne],a[b][c],'
).split(',');

function queryRequest(random: Random, world: World): Draft {
  return get(`${random.pick(LISTS)}${queryOf(random, world)}`);
}

function queryOf(random: Random, world: World): string {
  const pairs = Array.from({ length: random.int(5) }, () => {
    const name = random.pick(PARAMETERS);
    const value = random.chance(0.5) ? idOf(random, world) : nastyText(random);
    const pair = `${name}=${value}`;
    return random.pick([pair, pair, pair, name, `${pair}&${pair}`]);
  });
  const separator = random.chance(0.9) ? '&' : random.pick([';', '&&', '?', '%26']);
  return pairs.length === 0 ? random.pick(['', '', '?', '??', '?&', '?=']) : `?${pairs.join(separator)}`;
}

const PREFIXES = ['chk', 'pay', 'inv', 'cus'];
const { getCustomer } = CUSTOMER_ENDPOINTS;
const RECORDS = [SESSION_ENDPOINTS, { getCustomer }, PAYMENT_ENDPOINTS, INVOICE_ENDPOINTS, AGENT_ENDPOINTS]
  .flatMap((group) => Object.values<Endpoint>(group))
  .filter(({ path }) => /\{|capabilities/.test(path));

function recordRequest(random: Random, world: World): Draft {
  const { method, path } = random.pick(RECORDS);
  const url = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    name === 'operation' ? nameOf(random) : idOf(random, world, name.slice(0, 3).replace('ses', 'chk')),
  );
  return { method, url: url + (random.chance(0.1) ? queryOf(random, world) : ''), headers: [], body: undefined };
}

function nameOf(random: Random): string {
  return random.chance(0.7) ? random.pick([...OPERATIONS.keys()]) : nastyText(random);
}

/** An id: mostly one that exists, of the wanted kind or another, sometimes a damaged one. */
function idOf(random: Random, { ids }: World, prefix = random.pick(PREFIXES)): string {
  const wanted = random.chance(0.85) ? prefix : random.pick(PREFIXES);
  const id = random.pick(ids.get(wanted) ?? []) ?? `${wanted}_0`;
  switch (random.int(12)) {
    case 0:
      return nastyText(random);
    case 1:
      return id.slice(0, -1);
    case 2:
      return id.toUpperCase();
    case 3:
      return id + random.pick(['0', '%00', '%20', '/', '.', '%0a']);
    default:
      return id;
  }
}

const STEPS = ['', '', '/pay', '/pay', '/pay', '/switch', '/cancel', '/continue', '/complete', '/status', '/x', '/'];

function checkoutRequest(random: Random, world: World): Draft {
  const step = random.pick(STEPS);
  const url = `/checkout/${idOf(random, world, 'chk')}${step}`;
  if (random.chance(0.3)) return get(url + queryOf(random, world));
  const kind = random.pick(['card', 'wallet', 'local']);
  return form(random, url, [
    ['kind', kind],
    [`total_${kind}`, random.pick(['99999999', '4999', '0', '-1', '1e9', '999999999999'])],
  ]);
}

function simulatorPageRequest(random: Random, world: World): Draft {
  if (random.chance(0.1)) return get(`/simulator${queryOf(random, world)}`);
  const url = `/simulator/pay/${idOf(random, world, 'sim')}${random.chance(0.2) ? '/cancel' : ''}`;
  if (random.chance(0.3))
    return get(url + random.pick(['', `?use=${random.pick(INSTRUMENTS).id}`, queryOf(random, world)]));
  // Half of them pay at once: some payments must be paid, although few requests in a row are valid.
  const { id, cardNumber } = random.chance(0.5) ? INSTRUMENTS[0]! : random.pick(INSTRUMENTS);
  return form(random, url, [
    ['number', cardNumber],
    ['expiry', random.chance(0.5) ? '12 / 34' : random.pick(['1234', '13/99', '00/00'])],
    ['cvc', '123'],
    ['name', 'Test Buyer'],
    ['outcome', id],
  ]);
}

function simulatorApiRequest(random: Random, world: World): Draft {
  const root = '/simulator/api/payments';
  const headers: Draft['headers'] = [
    ['authorization', `Bearer ${random.chance(0.8) ? world.apiKey : nastyHeader(random)}`],
  ];
  if (random.chance(0.5)) {
    const order = membersOf({
      charge: `charge-${random.int(2000)}`,
      order: idOf(random, world, 'chk'),
      kind: random.pick(['card', 'wallet', 'local']),
      amount: 4999,
      total: 4999,
      currency: 'USD',
      merchant: 'Shop',
      product: 'Field guide',
      buyer_email: 'buyer@example.com',
      return_url: `http://${world.host}/checkout/x`,
    });
    const draft = json(root, mutatedBody(random, order));
    return { ...draft, headers: [...draft.headers, ...headers] };
  }
  const charge = random.chance(0.5) ? `charge-${random.int(2000)}` : idOf(random, world, 'pay');
  const verb = random.pick(['', '', '/cancel', '/refunds', '/x']);
  return { method: verb === '' ? 'GET' : 'POST', url: `${root}/${charge}${verb}`, headers, body: undefined };
}

/** What a provider says: often with the right signature, so that what it says is read at all. */
function callbackRequest(random: Random, world: World): Draft {
  const provider = random.chance(0.9) ? 'sandbox' : nastyText(random);
  const event = membersOf({
    event: `fuzz-${random.int(2000)}`,
    type: 'charge.updated',
    order: idOf(random, world, 'chk'),
    charge: idOf(random, world, 'pay'),
    state: random.pick(['CAPTURED', 'DECLINED', 'CANCELLED', 'PROCESSING', 'constructor', '__proto__']),
    amount: 4999,
    currency: 'USD',
    transaction: random.pick([null, 'sim_1']),
  });
  const body = mutatedBody(random, event);
  const draft = json(`/api/providers/${provider}/callbacks`, body);
  const now = Math.floor(Date.now() / 1000);
  const signature = `t=${now},v1=${hmacHex(world.callbackSecret, `${now}.${body}`)}`;
  draft.headers.push([
    SIGNATURE_HEADER,
    random.pick([signature, signature, signature, garbled(random, signature), `t=${now},v1=`, nastyHeader(random)]),
  ]);
  return draft;
}

function hmacHex(secret: string, bytes: string): string {
  return createHmac('sha256', secret).update(Buffer.from(bytes, 'latin1')).digest('hex');
}

const ELSEWHERE = [
  '/',
  '/demo',
  '/docs',
  '/openapi.json',
  '/healthz',
  '/readyz',
  '/assets/',
  '/api',
  '/api/gateway',
  '//',
];

function elsewhereRequest(random: Random, world: World): Draft {
  if (random.chance(0.2)) return form(random, '/demo', []);
  const path = random.chance(0.6) ? random.pick(ELSEWHERE) : `/${nastyText(random)}/${nastyText(random)}`;
  return get(path + queryOf(random, world));
}

function get(url: string): Draft {
  return { method: 'GET', url, headers: [], body: undefined };
}

function json(url: string, body: string): Draft {
  return { method: 'POST', url, headers: [['content-type', 'application/json']], body };
}

function form(random: Random, url: string, fields: [string, string][]): Draft {
  const kept = fields.filter(() => random.chance(0.95));
  let body = kept.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  if (random.chance(0.2)) body += `&${random.pick(kept)?.[0] ?? 'x'}=${nastyText(random)}`;
  if (random.chance(0.1)) body = garbled(random, body);
  return { method: 'POST', url, headers: [['content-type', 'application/x-www-form-urlencoded']], body };
}

const TYPES = [
  'application/json',
  'application/json; charset=utf-8',
  'APPLICATION/JSON',
  'application/json; charset=utf-16',
  'application/json;;;=',
  'application/json, text/plain',
  'application/ld+json',
  'application/x-www-form-urlencoded',
  'text/plain',
  'multipart/form-data; boundary=x',
  'application/',
  '/',
  'json',
  '',
  ';;;=',
  'a'.repeat(300),
];

const HEADERS: readonly [string, string][] = [
  ['expect', '100-continue'],
  ['expect', 'a miracle'],
  ['upgrade', 'websocket'],
  ['connection', 'upgrade'],
  ['connection', 'close'],
  ['content-encoding', 'gzip'],
  ['accept', 'application/xml'],
  ['accept', '*/*;q=x'],
  ['accept-version', '9.9.9'],
  ['sec-fetch-site', 'cross-site'],
  ['sec-fetch-site', 'same-origin'],
  ['if-none-match', '*'],
  ['range', 'bytes=0-1'],
  ['x-forwarded-for', "' OR 1=1"],
  ['x-forwarded-host', 'evil.example'],
  ['x-http-method-override', 'DELETE'],
  ['x-request-id', '\x80\xff'],
  ['cookie', '__proto__=1; a=%'],
  ['idempotency-key', '"'.repeat(500)],
  ['__proto__', 'x'],
  ['x-long', 'y'.repeat(20_000)],
];

function nastyHeader(random: Random): string {
  return random.pick(['', 'x', '\x80\xff', 'a'.repeat(2000), '0'.repeat(64), `t=1,v1=${'0'.repeat(64)}`, 't=,v1=,v1=']);
}

/** The same request with something wrong around its body. */
function flawed(random: Random, draft: Draft): FuzzRequest {
  const { headers } = draft;
  const type = headers.find(([name]) => name === 'content-type');
  switch (random.int(9)) {
    case 0:
      draft.method = random.pick([...METHODS, 'FOO', 'get', 'G@T', '']);
      break;
    case 1:
      if (type) type[1] = random.pick(TYPES);
      else headers.push(['content-type', random.pick(TYPES)]);
      break;
    case 2:
      if (type) headers.splice(headers.indexOf(type), 1);
      break;
    case 3:
      draft.body = random.pick([nastyValue(random), '', 'x'.repeat(131_073), randomBytes(random, random.int(200))]);
      break;
    case 4:
      headers[0]![1] = random.pick(['evil.example', '', 'localhost', '127.0.0.1:x', '[::1]', '\xff', 'a'.repeat(300)]);
      break;
    case 5:
      headers.splice(0, random.pick([0, 1]), random.pick(headers));
      break;
    case 6:
      return chunked(random, draft);
    default:
      headers.push(random.pick(HEADERS));
  }
  return written(draft);
}

// The server has no tunnel to offer, and hangs up.
const UNANSWERED_METHODS = new Set(['CONNECT']);
// A server that answers before it has read everything may reset the connection under its own answer.
const LARGE_BODY = 131_072;

function written({ method, url, headers, body }: Draft): FuzzRequest {
  const length: Draft['headers'] = body === undefined ? [] : [['content-length', String(body.length)]];
  const bytes = `${headOf(method, url, [...headers, ...length])}${body ?? ''}`;
  return requestOf(bytes, method, url, (body?.length ?? 0) <= LARGE_BODY);
}

function chunked(random: Random, { method, url, headers, body = '' }: Draft): FuzzRequest {
  const cut = random.int(body.length + 1);
  const chunks = [body.slice(0, cut), body.slice(cut)]
    .filter((chunk) => chunk !== '')
    .map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`);
  const whole = `${chunks.join('')}0\r\n\r\n`;
  const sound = random.chance(0.7);
  const bytes =
    headOf(method, url, [...headers, ['transfer-encoding', 'chunked']]) + (sound ? whole : garbled(random, whole));
  return { ...requestOf(bytes, method, url, sound && body.length <= LARGE_BODY), last: !sound };
}

function headOf(method: string, url: string, headers: Draft['headers']): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${url} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

function requestOf(bytes: string, method: string, url: string, mustAnswer: boolean): FuzzRequest {
  return {
    bytes: Buffer.from(bytes, 'latin1'),
    method,
    url,
    mustAnswer: mustAnswer && !UNANSWERED_METHODS.has(method),
    last: false,
  };
}

/** Bytes that are hardly HTTP, after which nothing more comes. */
function rawRequest(random: Random, world: World): FuzzRequest {
  const draft = random.pick([bodyRequest, checkoutRequest, callbackRequest])(random, world);
  draft.headers.unshift(['host', world.host]);
  const { bytes, method, url } = written(draft);
  const text = bytes.toString('latin1');
  const length = /content-length: \d+/;
  const spoiled = [
    () => randomBytes(random, 1 + random.int(2000)),
    () => text.slice(0, random.int(text.length)),
    () => garbled(random, text),
    () => text.replace('HTTP/1.1', random.pick(['HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', 'HTTP/9.9', 'http/1.1', ''])),
    () =>
      text.replace(length, random.pick(['content-length: -1', 'content-length: 1e9', 'content-length: 99999999999'])),
    () =>
      text.replace(length, random.pick(['$&\r\n$&', '$&\r\ncontent-length: 3', '$&\r\ntransfer-encoding: chunked'])),
    () => text.replaceAll('\r\n', random.pick(['\n', '\r', '\r\n ', '\0\r\n'])),
    () => `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${randomBytes(random, 40)}`,
    () => `\x16\x03\x01\x02\x00${randomBytes(random, 200)}`,
    () => text.replace(/host: [^\r]*\r\n/, ''),
  ];
  return { ...requestOf(random.pick(spoiled)(), method, url, false), last: true };
}

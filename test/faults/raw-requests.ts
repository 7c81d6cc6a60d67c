import { createHmac } from 'node:crypto';
import { METHODS } from 'node:http';
import * as fc from 'fast-check';
import { SIGNATURE_HEADER } from '../../src/providers/sandbox.ts';
import { INSTRUMENTS } from '../../src/simulator/test-instruments.ts';
import { anyCodePoint } from '../support/code-point.ts';
import { HOSTILE_CONTENT_TYPES, HOSTILE_HEADERS, HOSTILE_HOSTS } from './hostile-text.ts';
import type { KnownIds } from './known-ids.ts';
import type { SeededRandom } from './random.ts';

/** Records and secrets that the generated requests refer to. */
export interface FuzzWorld {
  host: string;
  ids: KnownIds;
  /** Secrets of the simulated provider; without them, its API would reject every request. */
  apiKey: string;
  callbackSecret: string;
}

export interface RawRequest {
  bytes: Buffer;
  method: string;
  /** Path and query as sent. */
  url: string;
  /** True for valid HTTP, which the service must answer instead of only closing the connection. */
  mustAnswer: boolean;
  /** True if the server closes the connection after this request. */
  last: boolean;
}

// Each character (latin1) of a text below represents one byte, so that a text can be invalid UTF-8.

interface Draft {
  method: string;
  url: string;
  headers: [name: string, value: string][];
  body?: string;
}

const MAX_BODY_BYTES = 131_072;
const KINDS = ['card', 'wallet', 'local'];
const PROPERTY_NAMES = [...'__proto__ constructor toString \\u0000 id amount metadata'.split(' '), '', 'x'.repeat(700)];
const HOSTILE_STRINGS = ['', '1'.repeat(400), '"\xed\xa0\x80"', '"\xff\xfe"', '"\x00"', '"\\r\\nset-cookie: a=b"'];
const HOSTILE_JSON = [
  ...'1e400 -0 5e-324 9007199254740993 0.001 49.995 NaN 01 0x10 " [ } "\\u0000" "\\ud800" "a@b"'.split(' '),
  ...'"javascript:alert(1)" "http://[::1]:99999/" "https://xn--/" "production" "paid"'.split(' '),
  ...'{"__proto__":{"polluted":1}} {"toString":null,"length":-1} {"a":1,"a":2} {"toJSON":"x"}'.split(' '),
  ...HOSTILE_STRINGS,
  ...[2, 32, 500, 20_000].map((depth) => '['.repeat(depth) + ']'.repeat(depth)),
  ...[130, 600, 3000].map((length) => `"${'\\ud83d'.repeat(length / 6)}"`),
];
const HOSTILE_PATHS = [...'%00 %ff % %zz %ED%A0%80 %0d%0a %2e%2e%2f .. * {id} \xff'.split(' '), 'x'.repeat(3000)];
const jsonValue = fc.jsonValue({ maxDepth: 3, stringUnit: anyCodePoint });

function randomBytes({ int }: SeededRandom): string {
  return Buffer.from(Array.from({ length: 1 + int(200) }, () => int(256))).toString('latin1');
}

/** JSON text with hostile content, or text that is nearly JSON. */
function hostileJson({ int, chance, pick }: SeededRandom): string {
  if (chance(0.6)) return pick(HOSTILE_JSON);
  const [value] = fc.sample(jsonValue, { seed: int(2 ** 31), numRuns: 1 });
  return Buffer.from(JSON.stringify(value), 'utf8').toString('latin1');
}

/** Hostile text for a path or a query. */
function hostilePath(random: SeededRandom): string {
  return random.chance(0.5) ? random.pick(HOSTILE_PATHS) : escape(randomBytes(random).slice(0, 20));
}

/** Truncates a text, inserts or overwrites bytes, or repeats it. */
function garble(text: string, random: SeededRandom): string {
  const at = random.int(text.length + 1);
  const [before, after] = [text.slice(0, at), text.slice(at)];
  const extra = randomBytes(random);
  return random.pick([before, before + extra + after, before + extra + after.slice(extra.length), text + text]);
}

/** A JSON body from valid members, some of them missing, repeated or with another value. */
function jsonBody(members: Record<string, unknown>, random: SeededRandom): string {
  const pairs = Object.entries(members).flatMap(([name, value]) => {
    const valid = `"${name}":${JSON.stringify(value)}`;
    switch (random.int(53)) {
      case 0:
        return [];
      case 1:
        return [`"${name}":${hostileJson(random)}`];
      case 2:
        return [valid, `"${random.pick(PROPERTY_NAMES)}":${hostileJson(random)}`];
      default:
        return [valid];
    }
  });
  const object = `{${pairs.join(',')}}`;
  const text = random.chance(0.03) ? `[${object}]` : object;
  return random.chance(0.08) ? garble(text, random) : text;
}

/** A request before it is damaged: to a page, the simulated provider, a callback, or the API. */
function draftOf(random: SeededRandom, { ids, apiKey }: FuzzWorld): Draft {
  const { int, chance, pick } = random;
  const id = (...prefixes: string[]) => ids.at(pick(prefixes), int(40));
  const get = (path: string): Draft => {
    const query = Array.from({ length: int(4) }, () => {
      const name = pick(['limit', 'startingAfter', 'status', 'email', 'use', 'a[b]', '']);
      return `${name}=${chance(0.5) ? id('chk', 'pay', 'inv', 'cus', 'sim') : hostilePath(random)}`;
    }).join('&');
    return { method: 'GET', url: path + (query && `?${query}`), headers: [] };
  };
  const post = (url: string, body: string, ...headers: Draft['headers']): Draft => {
    return { method: 'POST', url, headers: [['content-type', 'application/json'], ...headers], body };
  };
  const form = (url: string, fields: Record<string, string>): Draft => {
    const valid = new URLSearchParams(fields).toString();
    const damaged = () => (chance(0.5) ? garble(valid, random) : `${valid}&x=${hostilePath(random)}`);
    const headers: Draft['headers'] = [['content-type', 'application/x-www-form-urlencoded']];
    return { method: 'POST', url, headers, body: chance(0.15) ? damaged() : valid };
  };
  const charge = chance(0.5) ? `charge-${int(50)}` : id('pay');
  const authorization = (): [string, string] => ['authorization', `Bearer ${chance(0.8) ? apiKey : '\x80\xff'}`];

  const session = (): Draft => {
    const buyer = int(200);
    const paths = ['/api/gateway/sessions', '/api/agent/actions/checkout.create', '/api/agent/actions/x'];
    const body = {
      product: 'Field guide',
      amount: 49.99,
      customer: `buyer${buyer}${buyer % 20 === 0 ? '+handoff_error' : ''}@example.com`,
      preferredRoute: pick(KINDS),
      idempotencyKey: `order-${int(500)}`,
    };
    return post(pick(paths), jsonBody(body, random));
  };
  const checkout = (): Draft => {
    const step = pick(['/pay', '/pay', '/pay', '/switch', '/cancel', '/continue', '/x', '/']);
    const kind = pick(KINDS);
    const total = pick(['99999999', '99999999', '4999', '-1', '1e9']);
    return form(`/checkout/${id('chk')}${step}`, { kind, [`total_${kind}`]: total });
  };
  const simulatorPage = (): Draft => {
    // Half of the buyers use the card that pays at once, so that some payments are paid although few requests are valid.
    const { id: outcome, cardNumber } = chance(0.5) ? INSTRUMENTS[0]! : pick(INSTRUMENTS);
    const expiry = pick(['12 / 34', '12 / 34', '13/99']);
    const fields = { number: cardNumber, expiry, cvc: '123', name: 'Test Buyer', outcome };
    return form(`/simulator/pay/${id('sim')}${pick(['', '', '', '/cancel'])}`, fields);
  };
  const providerPayment = (): Draft => {
    const body = {
      charge,
      order: id('chk'),
      kind: pick(KINDS),
      amount: 4999,
      total: 4999,
      currency: 'USD',
      merchant: 'Shop',
      product: 'Field guide',
      buyer_email: pick(['buyer@example.com', 'buyer+handoff_error@example.com']),
      return_url: 'http://localhost/checkout/x',
    };
    return post('/simulator/api/payments', jsonBody(body, random), authorization());
  };
  const providerCommand = (): Draft => {
    const url = `/simulator/api/payments/${charge}${pick(['/cancel', '/refunds', '/x'])}`;
    return post(url, hostileJson(random), authorization());
  };
  const callback = (): Draft => {
    const body = {
      event: `fuzz-${int(2000)}`,
      type: 'charge.updated',
      order: id('chk'),
      charge: id('pay'),
      state: pick(['CAPTURED', 'DECLINED', 'CANCELLED', 'PROCESSING', '__proto__']),
      amount: 4999,
      currency: 'USD',
      transaction: pick([null, 'sim_1']),
    };
    const forged = ['t=1,v1=', `t=1,v1=${'0'.repeat(64)}`, '', 'a'.repeat(2000)];
    const signature = chance(0.4) ? '{signature}' : pick(forged);
    const provider = chance(0.9) ? 'sandbox' : hostilePath(random);
    return post(`/api/providers/${provider}/callbacks`, jsonBody(body, random), [SIGNATURE_HEADER, signature]);
  };
  const read = (): Draft => {
    const fixed = ['/', '/demo', '/docs', '/openapi.json', '/readyz', '/assets/', '/api', '//', '/simulator'];
    const lists = ['sessions', 'customers', 'payments', 'invoices'].map((name) => `/api/gateway/${name}`);
    const page = `/checkout/${id('chk')}${pick(['', '/status', '/complete'])}`;
    const payment = `/api/gateway/payments/${id('chk', 'pay', 'inv', 'cus', 'sim')}`;
    const paths = [pick(fixed), pick(lists), page, `/simulator/pay/${id('sim')}`, payment];
    return get(pick([...paths, `/${hostilePath(random)}`]));
  };
  const frequent = [session, checkout, simulatorPage];
  const rare = [providerPayment, providerCommand, callback, simulatorPage, read, read, read];
  return pick([...frequent, ...frequent, ...frequent, ...frequent, ...rare])();
}

/** Replaces one part of a request: its method, its body, its host, its content type or another header. */
function withFlaw(draft: Draft, random: SeededRandom): Draft {
  const { pick } = random;
  const { headers } = draft;
  const untyped = headers.filter(([name]) => name !== 'content-type');
  return pick<() => Draft>([
    () => ({ ...draft, method: pick([...METHODS, 'FOO', 'get', 'G@T', '']) }),
    () => ({ ...draft, body: pick([hostileJson(random), randomBytes(random), 'x'.repeat(MAX_BODY_BYTES + 1)]) }),
    () => ({ ...draft, headers: [...headers, pick(HOSTILE_HEADERS)] }),
    () => ({ ...draft, headers: untyped }),
    () => ({ ...draft, headers: [...untyped, ['content-type', pick(HOSTILE_CONTENT_TYPES)]] }),
    () => ({ ...draft, headers: [['host', pick(HOSTILE_HOSTS)], ...headers] }),
  ])();
}

/** Damages the text of a request so that it is hardly HTTP. */
function damaged(text: string, random: SeededRandom): string {
  const { pick } = random;
  const lengths = ['content-length: -1', 'content-length: 1e9', '$&\r\n$&', '$&\r\ntransfer-encoding: chunked'];
  return pick([
    () => garble(text, random),
    () => randomBytes(random),
    () => text.replace('HTTP/1.1', pick(['HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', ''])),
    () => text.replace(/content-length: \d+/, pick(lengths)),
    () => text.replaceAll('\r\n', pick(['\n', '\r', '\r\n ', '\0\r\n'])),
    () => text.replace(/host: [^\r]*\r\n/, ''),
  ])();
}

/** A generated request. One in four has a defect outside its JSON body, and one in thirty is hardly HTTP. */
export function rawRequest(random: SeededRandom, world: FuzzWorld): RawRequest {
  const valid = draftOf(random, world);
  const { method, url, headers, body } = random.chance(0.25) ? withFlaw(valid, random) : valid;
  const isChunked = body !== undefined && random.chance(0.125);
  const isDamaged = random.chance(1 / 30);
  const lines: Draft['headers'] = headers.some(([name]) => name === 'host') ? [] : [['host', world.host]];
  lines.push(...headers);
  if (body !== undefined)
    lines.push(isChunked ? ['transfer-encoding', 'chunked'] : ['content-length', `${body.length}`]);
  const signed = lines.map(([name, value]) => `${name}: ${value.replace('{signature}', sign(world, body ?? ''))}\r\n`);
  const chunk = body ? `${body.length.toString(16)}\r\n${body}\r\n` : '';
  const content = isChunked ? `${chunk}0\r\n\r\n` : (body ?? '');
  const text = `${method} ${url} HTTP/1.1\r\n${signed.join('')}\r\n${content}`;
  return {
    bytes: Buffer.from(isDamaged ? damaged(text, random) : text, 'latin1'),
    method,
    url,
    // The server closes the connection after CONNECT. A server that responds before it has read a large body can reset the
    // connection under its own response.
    mustAnswer: !isDamaged && method !== 'CONNECT' && (body?.length ?? 0) <= MAX_BODY_BYTES,
    last: isDamaged,
  };
}

function sign({ callbackSecret }: FuzzWorld, body: string): string {
  const now = Math.floor(Date.now() / 1000);
  const hmac = createHmac('sha256', callbackSecret).update(Buffer.from(`${now}.${body}`, 'latin1'));
  return `t=${now},v1=${hmac.digest('hex')}`;
}

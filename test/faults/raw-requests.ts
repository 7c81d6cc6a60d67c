import { createHmac } from 'node:crypto';
import { METHODS } from 'node:http';
import * as fc from 'fast-check';
import { SIGNATURE_HEADER } from '../../src/providers/sandbox.ts';
import { INSTRUMENTS } from '../../src/simulator/test-instruments.ts';
import type { KnownIds } from './known-ids.ts';
import { anyCodePoint } from '../support/code-point.ts';

/** Records and secrets that the generated requests refer to. */
export interface World {
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
  /** True for valid HTTP: closing the connection is no response to it. */
  mustAnswer: boolean;
  /** True if the connection is closed after it. */
  last: boolean;
}

// Text stands for bytes here, one character (latin1) for one byte, so that it can be invalid UTF-8.

interface Draft {
  method: string;
  url: string;
  headers: readonly (readonly [name: string, value: string])[];
  body?: string;
}

type Edit<Value> = fc.Arbitrary<(value: Value) => Value>;

const latin1 = (text: string) => Buffer.from(text, 'utf8').toString('latin1');
const bytes = fc.uint8Array({ minLength: 1, maxLength: 200 }).map((array) => Buffer.from(array).toString('latin1'));
const id = (...prefixes: string[]) =>
  fc.tuple(fc.constantFrom(...prefixes), fc.nat(39)).map(([prefix, n]) => `{known:${prefix}:${n}}`);
const anyId = id('chk', 'pay', 'inv', 'cus', 'sim');
const KINDS = ['card', 'wallet', 'local'];
const NAMES = ['__proto__', 'constructor', 'toString', '', '\\u0000', 'id', 'amount', 'metadata', 'x'.repeat(700)];

/** JSON text with hostile content, or text that is nearly JSON. */
const hostileValue = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.jsonValue({ maxDepth: 3, stringUnit: anyCodePoint }).map((value) => latin1(JSON.stringify(value))),
  },
  fc.constantFrom(
    '1e400',
    '-0',
    '5e-324',
    '9007199254740993',
    '0.001',
    '49.995',
    '1'.repeat(400),
    'NaN',
    '01',
    '0x10',
    '',
  ),
  fc.constantFrom(
    '"\\u0000"',
    '"\\ud800"',
    '"\xed\xa0\x80"',
    '"\xff\xfe"',
    '"\\r\\nset-cookie: a=b"',
    '"\x00"',
    '"',
    '[',
    '}',
  ),
  fc.constantFrom(
    '"javascript:alert(1)"',
    '"http://[::1]:99999/"',
    '"https://xn--/"',
    '"a@b"',
    '"production"',
    '"paid"',
  ),
  fc.constantFrom('{"__proto__":{"polluted":1}}', '{"toString":null,"length":-1}', '{"a":1,"a":2}', '{"toJSON":"x"}'),
  fc.constantFrom(2, 32, 500, 20_000).map((depth) => '['.repeat(depth) + ']'.repeat(depth)),
  fc.constantFrom(130, 600, 3000).map((length) => `"${'\\ud83d'.repeat(length / 6)}"`),
);

/** Text for a path or a query. */
const hostileText = fc.oneof(
  fc.constantFrom(
    '%00',
    '%ff',
    '%',
    '%zz',
    '%ED%A0%80',
    '%0d%0a',
    '%2e%2e%2f',
    '..',
    '*',
    '{id}',
    '\xff',
    'x'.repeat(3000),
  ),
  fc.string({ maxLength: 20 }).map(encodeURIComponent),
);

/** Cuts a text off, inserts or overwrites bytes, or doubles it. */
const garble: Edit<string> = fc.tuple(fc.nat(), bytes, fc.nat(3)).map(([place, extra, kind]) => (text) => {
  const at = place % (text.length + 1);
  const [before, after] = [text.slice(0, at), text.slice(at)];
  return [before, before + extra + after, before + extra + after.slice(extra.length), text + text][kind]!;
});

/** The identity most of the time. */
const rarely = <Value>(edit: Edit<Value>, weight: number): Edit<Value> =>
  fc.oneof({ weight: 100 - weight, arbitrary: fc.constant((value: Value) => value) }, { weight, arbitrary: edit });

/** A JSON body from valid members, some of them missing, repeated or with another value. */
function bodyOf(members: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<string> {
  const pair = (name: string, value: string) => `${latin1(JSON.stringify(name))}:${value}`;
  const parts = Object.entries(members).map(([name, valid]) => {
    const good = valid.map((value) => pair(name, latin1(JSON.stringify(value))));
    const bad = hostileValue.map((value) => pair(name, value));
    return fc.oneof(
      { weight: 50, arbitrary: good },
      bad,
      fc.constant(''),
      fc
        .tuple(good, fc.constantFrom(...NAMES), hostileValue)
        .map(([own, extra, value]) => `${own},${pair(extra, value)}`),
    );
  });
  const object = fc.tuple(...parts).map((some) => `{${some.filter((part) => part !== '').join(',')}}`);
  return fc.tuple(object, rarely(garble, 8)).map(([text, edit]) => edit(text));
}

function post(url: fc.Arbitrary<string>, body: fc.Arbitrary<string>, ...headers: fc.Arbitrary<[string, string]>[]) {
  return fc.tuple(url, body, fc.tuple(...headers)).map(([url, body, headers]): Draft => ({
    method: 'POST',
    url,
    headers: [['content-type', 'application/json'], ...headers],
    body,
  }));
}

function form(url: fc.Arbitrary<string>, fields: Record<string, fc.Arbitrary<string>>): fc.Arbitrary<Draft> {
  const body = fc.record(fields).map((values) => new URLSearchParams(values).toString());
  const changed = fc.tuple(
    body,
    rarely(
      fc.oneof(
        garble,
        hostileText.map((text) => (own: string) => `${own}&x=${text}`),
      ),
      15,
    ),
  );
  const type = 'application/x-www-form-urlencoded';
  return fc.tuple(url, changed).map(([url, [body, edit]]): Draft => ({
    method: 'POST',
    url,
    headers: [['content-type', type]],
    body: edit(body),
  }));
}

const query = fc
  .array(
    fc.tuple(
      fc.constantFrom('limit', 'startingAfter', 'status', 'email', 'use', 'a[b]', ''),
      fc.oneof(anyId, hostileText),
    ),
    {
      maxLength: 3,
    },
  )
  .map((pairs) => pairs.map(([name, value], index) => `${index === 0 ? '?' : '&'}${name}=${value}`).join(''));
const get = (path: fc.Arbitrary<string>) =>
  fc.tuple(path, query).map(([path, query]): Draft => ({ method: 'GET', url: path + query, headers: [] }));

const constant = (...values: unknown[]) => fc.constantFrom(...values);
const charge = fc.oneof(
  fc.nat(2000).map((n) => `charge-${n}`),
  id('pay'),
);
const authorization = fc.constantFrom<[string, string]>(
  ...Array.from({ length: 4 }, (): [string, string] => ['authorization', 'Bearer {key}']),
  ['authorization', 'Bearer \x80\xff'],
);
const signature = fc
  .constantFrom(
    '{signature}',
    '{signature}',
    '{signature}',
    't=1,v1=',
    `t=1,v1=${'0'.repeat(64)}`,
    '',
    'a'.repeat(2000),
  )
  .map((value): [string, string] => [SIGNATURE_HEADER, value]);
// Half of the buyers pay at once: few requests in a row are valid, and some payments must be paid.
const instrument = fc.oneof(fc.constant(INSTRUMENTS[0]!), fc.constantFrom(...INSTRUMENTS));

/** The requests before they are damaged: pages, the simulated provider, callbacks, and what the API fuzzer does not reach. */
const draft: fc.Arbitrary<Draft> = fc.oneof(
  {
    weight: 4,
    arbitrary: post(
      fc.constantFrom('/api/gateway/sessions', '/api/agent/actions/checkout.create', '/api/agent/actions/x'),
      bodyOf({
        product: constant('Field guide'),
        amount: constant(49.99),
        customer: fc.nat(200).map((n) => `buyer${n}${n % 20 === 0 ? '+handoff_error' : ''}@example.com`),
        preferredRoute: constant(...KINDS),
        idempotencyKey: fc.nat(500).map((n) => `order-${n}`),
      }),
    ),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom(...KINDS).chain((kind) =>
      form(
        fc
          .tuple(id('chk'), fc.constantFrom('/pay', '/pay', '/pay', '/switch', '/cancel', '/continue', '/x', '/'))
          .map(([session, step]) => `/checkout/${session}${step}`),
        { kind: fc.constant(kind), [`total_${kind}`]: fc.constantFrom('99999999', '99999999', '4999', '-1', '1e9') },
      ),
    ),
  },
  {
    weight: 5,
    arbitrary: instrument.chain(({ id: outcome, cardNumber }) =>
      form(
        fc
          .tuple(id('sim'), fc.constantFrom('', '', '', '/cancel'))
          .map(([payment, step]) => `/simulator/pay/${payment}${step}`),
        {
          number: fc.constant(cardNumber),
          expiry: fc.constantFrom('12 / 34', '12 / 34', '13/99'),
          cvc: fc.constant('123'),
          name: fc.constant('Test Buyer'),
          outcome: fc.constant(outcome),
        },
      ),
    ),
  },
  post(
    fc.constant('/simulator/api/payments'),
    bodyOf({
      charge,
      order: id('chk'),
      kind: constant(...KINDS),
      amount: constant(4999),
      total: constant(4999),
      currency: constant('USD'),
      merchant: constant('Shop'),
      product: constant('Field guide'),
      buyer_email: constant('buyer@example.com'),
      return_url: constant('http://localhost/checkout/x'),
    }),
    authorization,
  ),
  post(
    fc
      .tuple(charge, fc.constantFrom('/cancel', '/refunds', '/x'))
      .map(([of, verb]) => `/simulator/api/payments/${of}${verb}`),
    hostileValue,
    authorization,
  ),
  post(
    fc
      .oneof({ weight: 9, arbitrary: fc.constant('sandbox') }, hostileText)
      .map((name) => `/api/providers/${name}/callbacks`),
    bodyOf({
      event: fc.nat(2000).map((n) => `fuzz-${n}`),
      type: constant('charge.updated'),
      order: id('chk'),
      charge: id('pay'),
      state: constant('CAPTURED', 'DECLINED', 'CANCELLED', 'PROCESSING', '__proto__'),
      amount: constant(4999),
      currency: constant('USD'),
      transaction: constant(null, 'sim_1'),
    }),
    signature,
  ),
  {
    weight: 3,
    arbitrary: get(
      fc.oneof(
        fc.constantFrom('/', '/demo', '/docs', '/openapi.json', '/readyz', '/assets/', '/api', '//', '/simulator'),
        fc.constantFrom('sessions', 'customers', 'payments', 'invoices').map((name) => `/api/gateway/${name}`),
        fc.tuple(id('chk'), fc.constantFrom('', '/status', '/complete')).map(([of, step]) => `/checkout/${of}${step}`),
        id('sim').map((payment) => `/simulator/pay/${payment}`),
        anyId.map((record) => `/api/gateway/payments/${record}`),
        hostileText.map((text) => `/${text}`),
      ),
    ),
  },
);

const HEADERS: [string, string][] = [
  ['expect', '100-continue'],
  ['expect', 'a miracle'],
  ['upgrade', 'websocket'],
  ['connection', 'upgrade'],
  ['connection', 'close'],
  ['content-encoding', 'gzip'],
  ['accept', '*/*;q=x'],
  ['sec-fetch-site', 'cross-site'],
  ['if-none-match', '*'],
  ['range', 'bytes=0-1'],
  ['x-forwarded-host', 'evil.example'],
  ['x-request-id', '\x80\xff'],
  ['cookie', '__proto__=1; a=%'],
  ['__proto__', 'x'],
  ['x-long', 'y'.repeat(20_000)],
];
const TYPES = [
  'text/plain',
  'APPLICATION/JSON',
  'application/json; charset=utf-16',
  'multipart/form-data; boundary=x',
  '/',
  ';;;=',
];
const HOSTS = ['evil.example', '', '127.0.0.1:x', '[::1]', '\xff', 'a'.repeat(300)];
const OVERSIZED = 'x'.repeat(131_073);
// A server that responds before it has read everything can reset the connection under its own response.
const LARGE_BODY = 131_072;

/** One fault outside the body. */
const flaw: Edit<Draft> = fc.oneof(
  fc.constantFrom(...METHODS, 'FOO', 'get', 'G@T', '').map((method) => (own: Draft) => ({ ...own, method })),
  fc.oneof(hostileValue, bytes, fc.constant(OVERSIZED)).map((body) => (own: Draft) => ({ ...own, body })),
  fc.constantFrom(...HEADERS).map((header) => (own: Draft) => ({ ...own, headers: [...own.headers, header] })),
  fc.constantFrom(undefined, ...TYPES).map((type) => (own: Draft) => {
    const others = own.headers.filter(([name]) => name !== 'content-type');
    return { ...own, headers: type === undefined ? others : [...others, ['content-type', type] as const] };
  }),
  fc
    .constantFrom(...HOSTS)
    .map((host) => (own: Draft) => ({ ...own, headers: [['host', host] as const, ...own.headers] })),
);

const LENGTH = /content-length: \d+/;
/** A fault after which the bytes are hardly HTTP. */
const damage: Edit<string> = fc.oneof(
  garble,
  bytes.map((random) => () => random),
  fc
    .constantFrom('HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', '')
    .map((version) => (text: string) => text.replace('HTTP/1.1', version)),
  fc
    .constantFrom('content-length: -1', 'content-length: 1e9', '$&\r\n$&', '$&\r\ntransfer-encoding: chunked')
    .map((header) => (text: string) => text.replace(LENGTH, header)),
  fc.constantFrom('\n', '\r', '\r\n ', '\0\r\n').map((end) => (text: string) => text.replaceAll('\r\n', end)),
  fc.constant((text: string) => text.replace(/host: [^\r]*\r\n/, '')),
);

/** A generated request; its placeholders are filled in when it is sent. */
export type Plan = (world: World) => RawRequest;

/** Plans of requests: most valid in their bytes, some with a fault around the body, a few hardly HTTP. */
export const plans: fc.Arbitrary<Plan> = fc
  .tuple(draft, rarely(flaw, 25), fc.boolean(), fc.oneof({ weight: 29, arbitrary: fc.constant(null) }, damage))
  .map(([valid, edit, chunked, destroy]) => (world) => {
    const edited = edit(valid);
    const body = edited.body === undefined ? undefined : world.ids.fill(edited.body);
    const fill = (text: string) => world.ids.fill(text).replace('{key}', world.apiKey);
    const url = fill(edited.url);
    const hasHost = edited.headers.some(([name]) => name === 'host');
    const isChunked = chunked && edited !== valid;
    const length: [string, string][] =
      body === undefined
        ? []
        : [isChunked ? ['transfer-encoding', 'chunked'] : ['content-length', String(body.length)]];
    const headers = [...(hasHost ? [] : [['host', world.host] as const]), ...edited.headers, ...length];
    const lines = headers.map(
      ([name, value]) => `${name}: ${fill(value).replace('{signature}', sign(world, body ?? ''))}\r\n`,
    );
    const chunk = body === '' ? '' : `${(body ?? '').length.toString(16)}\r\n${body}\r\n`;
    const content = isChunked && body !== undefined ? `${chunk}0\r\n\r\n` : (body ?? '');
    const text = `${edited.method} ${url} HTTP/1.1\r\n${lines.join('')}\r\n${content}`;
    return {
      bytes: Buffer.from(destroy ? destroy(text) : text, 'latin1'),
      method: edited.method,
      url,
      // The server has no tunnel to offer for CONNECT, and closes the connection.
      mustAnswer: !destroy && edited.method !== 'CONNECT' && (body?.length ?? 0) <= LARGE_BODY,
      last: destroy !== null,
    };
  });

function sign({ callbackSecret }: World, body: string): string {
  const now = Math.floor(Date.now() / 1000);
  const hmac = createHmac('sha256', callbackSecret).update(Buffer.from(`${now}.${body}`, 'latin1'));
  return `t=${now},v1=${hmac.digest('hex')}`;
}

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { webhooks } from '../../sdk/src/index.ts';
import { diagnose } from '../../src/cli/verify/diagnose.ts';
import type { Diagnosis, Received } from '../../src/cli/verify/diagnosis.ts';
import { judge } from '../../src/cli/verify/judge.ts';
import { readHeaders } from '../../src/cli/verify/headers.ts';
import { renderEvent } from '../../src/contract/event-contract.ts';
import { SAMPLE_WEBHOOK_SECRET } from '../../src/operations/samples.ts';
import { deliveryHeaders } from '../../src/webhooks/sign.ts';
import { temporaryFolder } from '../process/program.ts';
import { runWith } from './terminal.ts';

const NOW = 1_772_366_400;
const SECRET = 'whsec_AAECAwQFBgcICQoL/+0ODxAREhMUFRYXGBkaGxwdHh8=';
const OTHER = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const SESSION = 'chk_01m7x0e4kq3v8n5c2t9y6w1r4b7d0f3h5j8m';

interface Delivery {
  headers: Record<string, string>;
  body: string;
}

function delivery(
  metadata: Record<string, string> = { orderId: 'A/1001' },
  { livemode = false, secret = SECRET } = {},
): Delivery {
  const event = renderEvent({
    sessionId: SESSION,
    customerId: 'cus_01m7x0e4kp6z2s8d4g1k7n0q3v9x5b2f8h4c',
    status: 'paid',
    livemode,
    amount: 4999,
    fees: { buyerFee: 0, gatewayFee: 145, merchantNet: 4854, total: 4999 },
    route: {
      id: 'r',
      kind: 'card',
      label: 'Card',
      provider: 'sandbox',
      asset: 'USD',
      network: 'card_network',
    } as never,
    txHash: null,
    metadata,
    created: NOW * 1000,
  });
  const body = JSON.stringify(event);
  return { headers: deliveryHeaders({ eventId: event.id, body, timestamp: NOW, secrets: [secret] }), body };
}

/** A delivery as it is received a few seconds later, changed in one place. */
function received(
  changed: Partial<Received & { text: string; header: Record<string, string | undefined> }> = {},
): Received {
  const { headers, body } = delivery();
  const { text = body, header = {}, ...rest } = changed;
  const lines = Object.entries({ ...headers, ...header }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const given = [{ name: null, secret: SECRET }];
  return { headers: lines, body: Buffer.from(text), secrets: given, now: NOW + 3, toleranceSeconds: 300, ...rest };
}

const causesOf = ({ findings }: Diagnosis) => findings.map(({ cause }) => cause);
const secret = (text: string): Partial<Received> => ({ secrets: [{ name: null, secret: text }] });

/** Everything that is wrong with it is this, and it is proven. */
function assertProven(diagnosis: Diagnosis, cause: string, says: RegExp): void {
  assert.equal(diagnosis.genuine, false);
  assert.deepEqual(
    diagnosis.findings.map((each) => [each.cause, each.certainty]),
    [[cause, 'proven']],
    JSON.stringify(diagnosis.findings, null, 1),
  );
  assert.match(diagnosis.findings[0]!.message, says);
}

function assertLikely(diagnosis: Diagnosis, cause: string, says: RegExp): void {
  assert.deepEqual(
    diagnosis.findings.map((each) => [each.cause, each.certainty]),
    [[cause, 'likely']],
  );
  assert.match(diagnosis.findings[0]!.message, says);
}

describe('a genuine delivery', () => {
  it('is called so, with its event, its age and both schemes', () => {
    assert.deepEqual(diagnose(received()), {
      genuine: true,
      schemes: ['x-gateway-signature', 'webhook-signature'],
      secret: null,
      event: { id: `evt_${SESSION}_paid`, type: 'payment.paid', environment: 'sandbox' },
      ageSeconds: 3,
      findings: [],
    });
  });

  it('needs one scheme only', () => {
    assert.deepEqual(diagnose(received({ header: { 'x-gateway-signature': undefined } })).schemes, [
      'webhook-signature',
    ]);
    assert.deepEqual(
      diagnose(received({ header: { 'webhook-signature': undefined, 'webhook-id': undefined } })).schemes,
      ['x-gateway-signature'],
    );
  });

  it('is so while its secret is being rotated, and the secret that fits is named', () => {
    const { body } = delivery();
    const headers = deliveryHeaders({ eventId: `evt_${SESSION}_paid`, body, timestamp: NOW, secrets: [OTHER, SECRET] });
    const secrets = [
      { name: 'old', secret: SAMPLE_WEBHOOK_SECRET },
      { name: 'new', secret: SECRET },
    ];
    const diagnosis = diagnose(received({ headers: Object.entries(headers), secrets }));
    assert.deepEqual([diagnosis.genuine, diagnosis.secret], [true, 'new']);
  });
});

const PRETTY = JSON.stringify(JSON.parse(delivery().body), null, 2);
const GATEWAY_VALUE = delivery().headers['x-gateway-signature']!;
const STANDARD_VALUE = delivery().headers['webhook-signature']!;
const HEX = GATEWAY_VALUE.split('v1=')[1]!;
const sign = (key: string | Buffer, content: string) => createHmac('sha256', key).update(content).digest();

const PROVEN: [what: string, changed: Parameters<typeof received>[0], cause: string, says: RegExp][] = [
  ['a delivery of yesterday', { now: NOW + 86_400 }, 'timestamp_stale', /1 d ago.*Its signature is of that time/],
  ['a clock that is behind', { now: NOW - 900 }, 'timestamp_future', /15 min ahead/],
  ['a pretty body', { text: PRETTY }, 'body_rewritten', /pretty-printed with 2 spaces/],
  ['a pretty body with CRLF', { text: PRETTY.replaceAll('\n', '\r\n') }, 'body_rewritten', /CRLF/],
  ['a newline at the end', { text: `${delivery().body}\n` }, 'body_rewritten', /given a newline at its end/],
  ['a byte order mark', { text: `\u{feff}${delivery().body}` }, 'body_rewritten', /byte order mark/],
  ['escaped slashes', { text: delivery().body.replaceAll('/', '\\/') }, 'body_rewritten', /escaped as "\\\/"/],
  ['a body stringified twice', { text: JSON.stringify(delivery().body) }, 'body_rewritten', /stringified twice/],
  ['a body in an envelope', { text: JSON.stringify({ body: delivery().body }) }, 'body_rewritten', /envelope/],
  ['a body in base64', { text: btoa(delivery().body) }, 'body_rewritten', /base64/],
  ['a newline in the secret', secret(`${SECRET}\n`), 'secret_altered', /white space around/],
  ['quotes in the secret', secret(`"${SECRET}"`), 'secret_altered', /quotation marks/],
  ['a line of settings', secret(`WEBHOOK_SECRET='${SECRET}'`), 'secret_altered', /quotation marks|whole line/],
  ['a secret without its beginning', secret(SECRET.slice(6)), 'secret_altered', /lacks the beginning whsec_/],
  ['a secret in base64url', secret(SECRET.replaceAll('/', '_').replaceAll('+', '-')), 'secret_altered', /base64url/],
  [
    'a secret whose last character was mistyped',
    { ...secret(SECRET.replace('8=', '9=')), header: { 'webhook-signature': undefined } },
    'secret_altered',
    /does not end as base64/,
  ],
  ['an empty secret', secret(''), 'secret_empty', /^The secret that was given is empty\.$/],
  [
    'a placeholder for a secret',
    secret('whsec_...'),
    'secret_impossible',
    /^"whsec_\.\.\." cannot be a secret: it is whsec_ and the base64 of 24 to 64 bytes\.$/,
  ],
  [
    'a secret that is too short, which is not repeated',
    secret('whsec_c2hvcnQgYnV0IG5vdCBzbw=='),
    'secret_impossible',
    /^What was given cannot be a secret/,
  ],
  ['a decoded secret', secret(Buffer.from(SECRET.slice(6), 'base64').toString('hex')), 'secret_altered', /hex/],
  [
    'the other value',
    { header: { 'x-gateway-signature': STANDARD_VALUE } },
    'wrong_header',
    /holds the value of webhook-signature/,
  ],
  [
    'the other value, the other way',
    { header: { 'webhook-signature': GATEWAY_VALUE } },
    'wrong_header',
    /holds the value of x-gateway/,
  ],
  [
    'the name that Stripe uses',
    { header: { 'x-gateway-signature': undefined, 'webhook-signature': undefined, 'stripe-signature': GATEWAY_VALUE } },
    'wrong_header',
    /stands in stripe-signature/,
  ],
  [
    'the name of the callbacks of providers',
    {
      header: {
        'x-gateway-signature': undefined,
        'webhook-signature': undefined,
        'x-provider-signature': GATEWAY_VALUE,
      },
    },
    'wrong_header',
    /stands in x-provider-signature, and not in x-gateway-signature/,
  ],
  [
    'a signature split at "="',
    { header: { 'x-gateway-signature': `t=${NOW},${HEX}` } },
    'signature_format',
    /"v1=" is gone/,
  ],
  [
    'a signature split at ","',
    { header: { 'x-gateway-signature': `v1=${HEX}` } },
    'timestamp_missing',
    /no t in x-gateway-signature/,
  ],
  [
    'upper case',
    { header: { 'x-gateway-signature': `t=${NOW},v1=${HEX.toUpperCase()}` } },
    'signature_format',
    /upper case/,
  ],
  ['quotes around', { header: { 'x-gateway-signature': `"${GATEWAY_VALUE}"` } }, 'signature_format', /quotation marks/],
  ['a cut signature', { header: { 'x-gateway-signature': GATEWAY_VALUE.slice(0, 60) } }, 'signature_cut', /cut off/],
  ['a lost time', { header: { 'webhook-timestamp': undefined } }, 'timestamp_missing', /no webhook-timestamp/],
  ['another time', { header: { 'webhook-timestamp': String(NOW + 1) } }, 'timestamp_changed', /signed with 1772366400/],
  ['a lost id', { header: { 'webhook-id': undefined } }, 'id_changed', /webhook-id is missing/],
  ['another id', { header: { 'webhook-id': 'msg_1' } }, 'id_changed', /webhook-id says msg_1/],
  [
    'no id at all',
    { header: { 'webhook-id': undefined, 'x-gateway-event': undefined } },
    'id_changed',
    /webhook-id is missing/,
  ],
  ['an empty body', { text: '' }, 'body_empty', /is empty/],
  [
    'a cut body',
    { text: delivery().body.slice(0, 200), header: { 'content-length': '688' } },
    'body_truncated',
    /688 bytes, and there are 200/,
  ],
  [
    'a sample',
    {
      headers: Object.entries(delivery({ orderId: 'A/1001' }, { secret: SAMPLE_WEBHOOK_SECRET }).headers),
    },
    'sample_secret',
    /a sample of the action webhook.example/,
  ],
  [
    'a sample of your own, keyed with the decoded secret',
    {
      header: {
        'webhook-signature': undefined,
        'x-gateway-signature': `t=${NOW},v1=${sign(Buffer.from(SECRET.slice(6), 'base64'), `${NOW}.${delivery().body}`).toString('hex')}`,
      },
    },
    'wrong_keying',
    /the bytes that the secret stands for in base64/,
  ],
  [
    'a sample of your own without the time in it',
    {
      header: {
        'webhook-signature': undefined,
        'x-gateway-signature': `t=${NOW},v1=${sign(SECRET, delivery().body).toString('hex')}`,
      },
    },
    'wrong_content',
    /the body alone/,
  ],
  [
    'an event of the other environment',
    { environment: 'production' },
    'other_environment',
    /of sandbox \(livemode false\), and production is expected/,
  ],
  [
    'the secret of the other environment',
    {
      secrets: [
        { name: 'sandbox', secret: OTHER },
        { name: 'production', secret: SECRET },
      ],
    },
    'other_environment',
    /the secret that fits is the one called production/,
  ],
  [
    'no header that signs',
    { headers: [['content-type', 'application/json']] },
    'no_signature',
    /neither .* among content-type/,
  ],
];

const LIKELY: [what: string, changed: Parameters<typeof received>[0], cause: string, says: RegExp][] = [
  ['another secret', secret(OTHER), 'wrong_secret', /another secret, or what the body says was changed/],
  [
    'another amount',
    { text: delivery().body.replace('49.99', '0.01') },
    'wrong_secret',
    /what the body says was changed/,
  ],
  ['half a body', { text: delivery().body.slice(0, 300) }, 'body_truncated', /beginning of JSON only/],
  [
    'a signature of something else',
    { header: { 'x-gateway-signature': GATEWAY_VALUE.replace(HEX, 'ab'.repeat(32)) } },
    'signature_changed',
    /webhook-signature of the same delivery proves them/,
  ],
  [
    'the secret of the other environment',
    { ...secret(OTHER), environment: 'production' },
    'other_environment',
    /the secret does not fit/,
  ],
];

describe('what is not genuine is told why', () => {
  for (const [what, changed, cause, says] of PROVEN) {
    it(`${what}: ${cause}, proven`, () => assertProven(diagnose(received(changed)), cause, says));
  }
  for (const [what, changed, cause, says] of LIKELY) {
    it(`${what}: ${cause}, likely`, () => assertLikely(diagnose(received(changed)), cause, says));
  }

  it('two mistakes at once are both proven', () => {
    const diagnosis = diagnose(received({ text: PRETTY, ...secret(` ${SECRET}`), now: NOW + 1000 }));
    assert.deepEqual(causesOf(diagnosis), ['body_rewritten', 'secret_altered', 'timestamp_stale']);
  });

  it('an old delivery under another secret is not said to have been right', () => {
    const diagnosis = diagnose(received({ ...secret(OTHER), now: NOW + 1000 }));
    assert.deepEqual(
      diagnosis.findings.map(({ cause, certainty }) => [cause, certainty]),
      [
        ['timestamp_stale', 'likely'],
        ['wrong_secret', 'likely'],
      ],
    );
    assert.match(diagnosis.findings[0]!.message, /not known/);
  });
});

describe('how a body was written anew is named', () => {
  const { headers, body } = delivery({ at: 'Straße/7', tag: '<&>' });
  const json = JSON.parse(body) as unknown;
  const ascii = (text: string) =>
    text.replaceAll(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const NAMED: [written: string, says: RegExp][] = [
    [JSON.stringify(json, null, 4), /pretty-printed with 4 spaces\.$/],
    [JSON.stringify(json, null, '\t'), /pretty-printed with tabs\.$/],
    [ascii(body), /letters beyond ASCII escaped as \\uXXXX\.$/],
    [ascii(body).replaceAll('/', '\\/'), /by PHP's json_encode\.$/],
    [body.replaceAll(/[<>&]/g, (one) => `\\u00${one.charCodeAt(0).toString(16)}`), /by Go's json\.Marshal\.$/],
    [body.replaceAll('":', '": ').replaceAll(',"', ', "'), /by Python's json\.dumps\.$/],
    [body.replaceAll('":', '"  :'), /other white space\.$/],
    [body.replace('49.99', '49.990'), /numbers or letters written otherwise\.$/],
    [JSON.stringify(Object.fromEntries(Object.entries(json as object).toReversed())), /keys in another order\.$/],
    [Buffer.from(body).toString('latin1'), /read as Latin-1 although it is UTF-8\.$/],
    [encodeURIComponent(body), /URL-encoded\.$/],
  ];
  for (const [written, says] of NAMED) {
    it(String(says), () =>
      assertProven(diagnose(received({ headers: Object.entries(headers), text: written })), 'body_rewritten', says),
    );
  }
});

describe('for every delivery', () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 12 }),
    fc.constantFrom('ä/ö', '<&>', '\u{1f600}', '7', 'a b'),
  );
  const metadata = fc.dictionary(fc.oneof(text, fc.constantFrom('10', '9', 'z', 'orderId')), text, {
    maxKeys: 4,
    noNullPrototype: true,
  });
  const bytes = fc.uint8Array({ minLength: 24, maxLength: 64 });
  const made = fc.record({ metadata, bytes, age: fc.integer({ min: -300, max: 300 }), livemode: fc.boolean() });

  interface Made extends Delivery {
    secret: string;
  }
  type Distort = (made: Made) => Partial<Made> & { now?: number };

  const python = (json: unknown): string => {
    if (typeof json !== 'object' || json === null) return JSON.stringify(json);
    return `{${Object.entries(json)
      .map(([key, value]) => `${JSON.stringify(key)}: ${python(value)}`)
      .join(', ')}}`;
  };
  const sorted = (json: unknown): unknown =>
    typeof json !== 'object' || json === null
      ? json
      : Object.fromEntries(
          Object.entries(json)
            .toSorted(([a], [b]) => (a < b ? -1 : 1))
            .map(([key, value]) => [key, sorted(value)]),
        );
  const ascii = (all: string) =>
    all.replaceAll(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const body =
    (change: (body: string) => string): Distort =>
    (delivered) => ({ body: change(delivered.body) });
  const header =
    (name: string, change: (value: string) => string): Distort =>
    ({ headers }) => ({
      headers: { ...headers, [name]: change(headers[name]!) },
    });

  const DISTORTIONS: Record<string, [cause: string, distort: Distort]> = {
    'pretty 2': ['body_rewritten', body((json) => JSON.stringify(JSON.parse(json), null, 2))],
    'pretty 4': ['body_rewritten', body((json) => JSON.stringify(JSON.parse(json), null, 4))],
    tabs: ['body_rewritten', body((json) => JSON.stringify(JSON.parse(json), null, '\t'))],
    python: ['body_rewritten', body((json) => ascii(python(JSON.parse(json))))],
    sorted: ['body_rewritten', body((json) => JSON.stringify(sorted(JSON.parse(json))))],
    ascii: ['body_rewritten', body(ascii)],
    slashes: ['body_rewritten', body((json) => json.replaceAll('/', '\\/'))],
    newline: ['body_rewritten', body((json) => `${json}\n`)],
    crlf: ['body_rewritten', body((json) => `${json}\r\n`)],
    mark: ['body_rewritten', body((json) => `\u{feff}${json}`)],
    twice: ['body_rewritten', body((json) => JSON.stringify(json))],
    latin: ['body_rewritten', body((json) => Buffer.from(json).toString('latin1'))],
    empty: ['body_empty', body(() => '')],
    'secret newline': ['secret_altered', ({ secret: own }) => ({ secret: `${own}\n` })],
    'secret space': ['secret_altered', ({ secret: own }) => ({ secret: ` ${own}` })],
    'secret quotes': ['secret_altered', ({ secret: own }) => ({ secret: `"${own}"` })],
    'secret bare': ['secret_altered', ({ secret: own }) => ({ secret: own.slice(6) })],
    'secret url': ['secret_altered', ({ secret: own }) => ({ secret: own.replaceAll('/', '_').replaceAll('+', '-') })],
    'another secret': ['wrong_secret', () => ({ secret: OTHER })],
    stale: ['timestamp_stale', () => ({ now: NOW + 301 })],
    future: ['timestamp_future', () => ({ now: NOW - 301 })],
    'gateway upper': [
      'signature_format',
      header('x-gateway-signature', (value) => value.replace(/v1=.*/, (hex) => `v1=${hex.slice(3).toUpperCase()}`)),
    ],
    'gateway cut': ['signature_cut', header('x-gateway-signature', (value) => value.slice(0, -3))],
    'standard cut': ['signature_cut', header('webhook-signature', (value) => value.slice(0, -6))],
    'standard split': ['signature_format', header('webhook-signature', (value) => value.slice(3))],
    'other time': ['timestamp_changed', header('webhook-timestamp', (value) => String(Number(value) + 1))],
    'other id': ['id_changed', header('webhook-id', () => 'evt_1')],
  };

  const diagnosed = ({ headers, body: text, secret: own }: Made, now: number) =>
    diagnose({
      headers: Object.entries(headers),
      body: Buffer.from(text),
      secrets: [{ name: null, secret: own }],
      now,
      toleranceSeconds: 300,
    });
  const make = ({
    metadata: given,
    bytes: key,
    livemode,
  }: {
    metadata: Record<string, string>;
    bytes: Uint8Array;
    livemode: boolean;
  }): Made => {
    const own = `whsec_${Buffer.from(key).toString('base64')}`;
    return { ...delivery(given, { livemode, secret: own }), secret: own };
  };

  it('a genuine one is never called false', () => {
    fc.assert(
      fc.property(made, ({ age, ...rest }) => {
        const diagnosis = diagnosed(make(rest), NOW + age);
        assert.deepEqual([diagnosis.genuine, diagnosis.findings, diagnosis.schemes.length], [true, [], 2]);
      }),
    );
  });

  for (const [name, [cause, distort]] of Object.entries(DISTORTIONS)) {
    it(`one distortion is named rightly: ${name}`, () => {
      fc.assert(
        fc.property(made, ({ age, ...rest }) => {
          const genuine = make(rest);
          const distorted = { ...genuine, now: NOW + age, ...distort(genuine) };
          const isSame =
            JSON.stringify({ ...genuine, now: 0 }) === JSON.stringify({ ...distorted, now: 0 }) &&
            Math.abs(distorted.now - NOW) <= 300;
          const diagnosis = diagnosed(distorted, distorted.now);
          assert.deepEqual(causesOf(diagnosis), isSame ? [] : [cause]);
        }),
        { numRuns: 40 },
      );
    });
  }
});

describe('what the SDK accepts is genuine, and nothing else', () => {
  const { headers, body } = delivery();
  const { 'x-gateway-signature': gateway, 'webhook-signature': standard, ...others } = headers;
  const rightly = (text: string, id = 'evt_x'): [Record<string, string>, string] => [
    deliveryHeaders({ eventId: id, body: text, timestamp: NOW, secrets: [SECRET] }),
    text,
  ];
  const G = (value: string): [Record<string, string>, string] => [{ 'x-gateway-signature': value }, body];
  const S = (value: string): [Record<string, string>, string] => [{ ...others, 'webhook-signature': value }, body];
  const v1 = (text: string) => `,v1=${text.repeat(64)}`;
  const deep = '['.repeat(50_000) + ']'.repeat(50_000);
  const CASES: [what: string, request: [Record<string, string>, string], genuine: boolean, cause?: string][] = [
    ['a space behind the comma', G(gateway!.replace(',', ', ')), true],
    ['a signature of a version to come', G(`${gateway},v0=abc`), true],
    ['a second time behind the signature', G(`${gateway},t=1`), true],
    ['another time before it', G(`t=1,${gateway}`), false],
    ['twelve signatures', G(`${gateway}${Array.from('0123456789a', v1).join('')}`), true],
    ['hundreds of signatures', G(`t=${NOW}${v1('0').repeat(300)}${gateway!.slice(gateway!.indexOf(','))}`), false],
    ['the right digest under another version alone', G(`${gateway!.replace('v1=', 'v0=')}${v1('1')}`), false],
    ['one signature in upper case', G(`${gateway}${v1('A')}`), false],
    ['an asymmetric signature beside', S(`${standard} v1a,abcdef`), true],
    ['two signatures, the second right', S(`v1,${'A'.repeat(43)}= ${standard}`), true],
    ['a name of another event', [{ ...headers, 'x-gateway-event': 'evt_other' }, body], false, 'invalid_payload'],
    ['a rightly signed body that is no event', rightly('{"id":"evt_x"}'), false, 'invalid_payload'],
    ['a rightly signed body that is no JSON', rightly('not json'), false, 'invalid_payload'],
    ['a rightly signed body that is nested deep', rightly(deep), false, 'invalid_payload'],
    ['a body that is nested deep', [headers, deep], false, 'body_changed'],
  ];
  for (const [what, [given, text], genuine, cause] of CASES) {
    it(`${what}: ${genuine ? 'genuine' : 'not genuine'}`, async () => {
      const lines = Object.entries(given);
      const diagnosis = await judge(received({ headers: lines, text }));
      assert.equal(diagnosis.genuine, genuine, JSON.stringify(diagnosis.findings));
      assert.equal(diagnosis.findings.length === 0, genuine);
      if (cause !== undefined) assert.equal(diagnosis.findings[0]?.cause, cause);
      const accepted = await webhooks.verify(text, given, SECRET, { now: (NOW + 3) * 1000 }).then(
        () => true,
        () => false,
      );
      assert.equal(accepted, genuine);
    });
  }
});

describe('headers are read', () => {
  const expected = [
    ['x-gateway-event', 'evt_1'],
    ['webhook-id', 'evt_1'],
  ];
  const FORMS: [form: string, text: string][] = [
    ['as lines', 'X-Gateway-Event: evt_1\r\nwebhook-id:evt_1\r\n'],
    ['as JSON', '{"x-gateway-event": "evt_1", "webhook-id": ["evt_1"]}'],
    ['as curl shows them', '> POST / HTTP/1.1\n> x-gateway-event: evt_1\n> webhook-id: evt_1\n>\n'],
    ['under the names of CGI', 'HTTP_X_GATEWAY_EVENT: evt_1\nHTTP_WEBHOOK_ID: evt_1'],
  ];
  for (const [form, text] of FORMS) it(form, () => assert.deepEqual(readHeaders(text), expected));
});

describe('tillway webhook verify', () => {
  const { headers, body } = delivery();
  const lines = Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\n`)
    .join('');
  const clock = { now: () => (NOW + 12) * 1000 };

  function files(text = body) {
    const folder = temporaryFolder();
    writeFileSync(folder.path('headers.txt'), lines);
    writeFileSync(folder.path('body.json'), text);
    const args = ['webhook', 'verify', '--headers', folder.path('headers.txt'), '--body', folder.path('body.json')];
    return { args, [Symbol.dispose]: () => folder[Symbol.dispose]() };
  }

  it('says genuine and exits with 0', async () => {
    using given = files();
    const { code, stdout, stderr } = await runWith(clock, ...given.args, '--secret', SECRET);
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, /^Genuine\n/);
    assert.match(stdout, /payment\.paid/);
    assert.match(stdout, /12 s ago/);
    assert.match(stdout, /x-gateway-signature, webhook-signature/);
  });

  it('says why not, what to do, and exits with 1', async () => {
    using given = files(PRETTY);
    const { code, stdout, stderr } = await runWith(clock, ...given.args, '--secret', SECRET);
    assert.deepEqual([code, stderr], [1, '']);
    assert.match(stdout, /^Not genuine\n/);
    assert.match(stdout, /\nProven {2}The body is not the bytes that were signed: .*pretty-printed/);
    assert.match(stdout, /\nDo {6}Verify the raw bytes/);
    assert.ok(Math.max(...stdout.split('\n').map((line) => line.length)) <= 100);
  });

  it('says the same as JSON', async () => {
    using given = files(PRETTY);
    const { code, stdout } = await runWith(clock, ...given.args, '--secret', SECRET, '--json');
    const answer = JSON.parse(stdout) as Diagnosis;
    assert.deepEqual([code, answer.genuine, causesOf(answer)], [1, false, ['body_rewritten']]);
  });

  it('takes the body from the standard input, headers one by one, and secrets with names', async () => {
    const readInput = async () => Buffer.from(body);
    const header = ['--header', `x-gateway-signature: ${headers['x-gateway-signature']}`];
    const secrets = ['--secret', `production=${OTHER}`, '--secret', `sandbox=${SECRET}`];
    const { code, stdout } = await runWith(
      { ...clock, readInput },
      'webhook',
      'verify',
      ...header,
      ...secrets,
      '--json',
    );
    const answer = JSON.parse(stdout) as Diagnosis;
    assert.deepEqual(
      [code, answer.genuine, answer.secret, answer.schemes],
      [0, true, 'sandbox', ['x-gateway-signature']],
    );
  });

  const WHOLE: [what: string, text: string][] = [
    ['as it was kept', `${lines}\n${body}`],
    ['with a line end at its end', `${lines}\n${body}\n`],
    ['with its request line, and CRLF', `POST /hook HTTP/1.1\r\n${lines.replaceAll('\n', '\r\n')}\r\n${body}\r\n`],
  ];
  for (const [what, text] of WHOLE) {
    it(`takes a whole request ${what}, from the standard input or a file`, async () => {
      using folder = temporaryFolder();
      writeFileSync(folder.path('request.txt'), text);
      const readInput = async () => Buffer.from(text);
      for (const args of [[], ['--headers', '-'], ['--headers', folder.path('request.txt')]]) {
        const given = args[1] === folder.path('request.txt') ? clock : { ...clock, readInput };
        const { code, stdout } = await runWith(given, 'webhook', 'verify', '--secret', SECRET, ...args);
        assert.equal(code, 0, stdout);
      }
    });
  }

  it('finds a line end in the body all the same, where Content-Length counts it', async () => {
    const text = `${lines}content-length: ${Buffer.byteLength(body) + 1}\n\n${body}\n`;
    const { code, stdout } = await runWith(
      { ...clock, readInput: async () => Buffer.from(text) },
      'webhook',
      'verify',
      '--secret',
      SECRET,
      '--json',
    );
    assert.deepEqual([code, causesOf(JSON.parse(stdout) as Diagnosis)], [1, ['body_rewritten']]);
  });

  it('reads the secret from WEBHOOK_SECRET where none is given', async () => {
    const readInput = async () => Buffer.from(`${lines}\n${body}`);
    const right = await runWith({ ...clock, readInput, webhookSecret: SECRET }, 'webhook', 'verify');
    assert.equal(right.code, 0, right.stderr);
    const given = await runWith({ ...clock, readInput, webhookSecret: OTHER }, 'webhook', 'verify', '--secret', SECRET);
    assert.equal(given.code, 0, given.stderr);
  });

  it('says what to look at where the secret is empty', async () => {
    const readInput = async () => Buffer.from(`${lines}\n${body}`);
    const { code, stdout } = await runWith({ ...clock, readInput }, 'webhook', 'verify', '--secret', '');
    assert.equal(code, 1);
    assert.match(stdout, /\nProven {2}The secret that was given is empty\.\nDo {6}Is the variable set in this shell\?/);
  });

  it('fits the terminal', async () => {
    using given = files(PRETTY);
    const narrow = await runWith({ ...clock, columns: 60 }, ...given.args, '--secret', SECRET);
    const rest = narrow.stdout.slice(narrow.stdout.indexOf('Proven')).split('\n');
    assert.ok(Math.max(...rest.map((line) => line.length)) <= 60, narrow.stdout);
  });

  it('exits with 2 where something is not given or not readable', async () => {
    const MISUSED: [args: string[], says: RegExp][] = [
      [[], /--secret/],
      [['--secret', SECRET], /pass the request to the standard input \(header lines, an empty line, the body\)/],
      [['--secret', SECRET, '--header', 'nonsense'], /'name: value', not "nonsense"/],
      [['--secret', SECRET, '--headers', '/nowhere/at/all'], /cannot be read/],
      [['--secret', SECRET, '--header', 'a: b', '--tolerance', 'long'], /--tolerance: a time is written 90s/],
      [['--secret', SECRET, '--body', '/nowhere/at/all'], /pass the request to the standard input/],
      [['--secret', SECRET, '--headers', '-', '--body', '-'], /only one of them/],
    ];
    for (const [args, says] of MISUSED) {
      const { code, stderr } = await runWith(
        { ...clock, readInput: async () => Buffer.from('') },
        'webhook',
        'verify',
        ...args,
      );
      assert.equal(code, 2, args.join(' '));
      assert.match(stderr, says);
    }
  });
});

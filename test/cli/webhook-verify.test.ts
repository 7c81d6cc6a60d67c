import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { webhooks } from '../../sdk/src/index.ts';
import { type Diagnosis, type Received, diagnose } from '../../src/cli/webhook-diagnosis.ts';
import { renderEvent } from '../../src/contract/event-contract.ts';
import { deliveryHeaders } from '../../src/webhooks/sign.ts';
import { temporaryFolder } from '../process/program.ts';
import { runWith } from './terminal.ts';

const NOW = 1_772_366_400;
const SECRET = 'whsec_AAECAwQFBgcICQoL/+0ODxAREhMUFRYXGBkaGxwdHh8=';
const OTHER = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const UNRELATED = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
const SESSION = 'chk_01m7x0e4kq3v8n5c2t9y6w1r4b7d0f3h5j8m';

interface Delivery {
  headers: Record<string, string>;
  body: string;
}

const METADATA = { orderId: 'A/1001', note: 'größer <&> \u{1f600}', 10: 'ten', 9: '' };

function delivery(): Delivery {
  const event = renderEvent({
    sessionId: SESSION,
    customerId: 'cus_01m7x0e4kp6z2s8d4g1k7n0q3v9x5b2f8h4c',
    status: 'paid',
    livemode: false,
    amount: 4999,
    fees: { buyerFee: 0, gatewayFee: 145, merchantNet: 4854, total: 4999 },
    route: { id: 'r', kind: 'card', label: 'Card', provider: 'sandbox', asset: 'USD', network: 'card' } as never,
    txHash: null,
    metadata: METADATA,
    created: NOW * 1000,
  });
  const body = JSON.stringify(event);
  return { headers: deliveryHeaders({ eventId: event.id, body, timestamp: NOW, secrets: [SECRET] }), body };
}

/** A delivery that arrives after three seconds, with the given changes. */
function received(
  changed: Partial<Omit<Received, 'headers'> & { text: string; header: Record<string, string | undefined> }> = {},
  { headers, body }: Delivery = delivery(),
): Received {
  const { text = body, header = {}, ...rest } = changed;
  const given = Object.entries({ ...headers, ...header }).flatMap(([name, value]) => (value ? [[name, value]] : []));
  return {
    headers: Object.fromEntries(given),
    body: Buffer.from(text),
    secret: SECRET,
    now: NOW + 3,
    toleranceSeconds: 300,
    ...rest,
  };
}

const causesOf = ({ findings }: Diagnosis) => findings.map(({ cause }) => cause);
const secret = (text: string) => ({ secret: text });
const BODY = delivery().body;
const PRETTY = JSON.stringify(JSON.parse(BODY), null, 2);
const GATEWAY_VALUE = delivery().headers['x-gateway-signature']!;
const NO_SIGNATURE = { 'x-gateway-signature': undefined, 'webhook-signature': undefined };

describe('a genuine delivery', () => {
  it('a genuine delivery is reported with its event and its age', async () => {
    assert.deepEqual(await diagnose(received()), {
      genuine: true,
      event: { id: `evt_${SESSION}_paid`, type: 'payment.paid', environment: 'sandbox' },
      ageSeconds: 3,
      findings: [],
    });
  });

  it('a delivery is genuine if one of its two signature schemes is present and valid', async () => {
    for (const missing of ['x-gateway-signature', 'webhook-signature']) {
      assert.equal((await diagnose(received({ header: { [missing]: undefined } }))).genuine, true, missing);
    }
  });

  it('a delivery is recognized as genuine during a rotation of secrets', async () => {
    const signed = { eventId: `evt_${SESSION}_paid`, body: BODY, timestamp: NOW, secrets: [OTHER, SECRET] };
    const diagnosis = await diagnose(received({}, { headers: deliveryHeaders(signed), body: BODY }));
    assert.equal(diagnosis.genuine, true);
  });
});

type Changed = Parameters<typeof received>[0];
const rotated = deliveryHeaders({ eventId: 'evt_1', body: BODY, timestamp: NOW, secrets: [OTHER, UNRELATED] });

const gateway = (value: string) => ({ header: { 'x-gateway-signature': value } });
const escaped = (text: string) =>
  text.replaceAll(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

type Case = [what: string, changed: Changed, cause: string, message: RegExp];
const PROVEN: Case[] = [
  ['an empty secret', secret(''), 'wrong_secret', /The secret is empty/],
  ['a line end in the secret', secret(`${SECRET}\n`), 'wrong_secret', /leading or trailing whitespace/],
  ['a placeholder for a secret', secret('whsec_...'), 'wrong_secret', /base64/],
  ['an event of the other environment', { environment: 'production' }, 'other_environment', /production is expected/],
  ['an indented body', { text: PRETTY }, 'body_rewritten', /parsed and serialized again/],
  ['a body stringified twice', { text: JSON.stringify(BODY) }, 'body_rewritten', /serialized again/],
  ['a newline at the end', { text: `${BODY}\n` }, 'body_changed', /white space/],
  ['a byte order mark', { text: `\u{feff}${BODY}` }, 'body_changed', /byte order mark/],
  ['a CRLF at the end', { text: `${BODY}\r\n` }, 'body_changed', /white space/],
  ['a body read as Latin-1', { text: Buffer.from(BODY).toString('latin1') }, 'body_changed', /Latin-1/],
  ['escaped letters', { text: escaped(BODY) }, 'body_rewritten', /serialized again/],
  ['escaped slashes', { text: BODY.replaceAll('/', '\\/') }, 'body_rewritten', /serialized again/],
  ['an empty body', { text: '' }, 'body_changed', /has 0 bytes/],
  ['a body shorter than announced', { text: '{}', header: { 'content-length': '688' } }, 'body_changed', /is 688/],
  ['no signature', { header: NO_SIGNATURE }, 'header_missing', /neither the header x-gateway-signature/],
  ['a missing time', { header: { 'webhook-timestamp': undefined } }, 'header_missing', /not webhook-timestamp/],
  ['a missing id', { header: { 'webhook-id': undefined } }, 'header_missing', /not webhook-id/],
  ['quotes around a signature', gateway(`"${GATEWAY_VALUE}"`), 'header_changed', /x-gateway-signature must be/],
  ['a cut signature', gateway(GATEWAY_VALUE.slice(0, 60)), 'header_changed', /x-gateway-signature must be/],
  ['a delivery from yesterday', { now: NOW + 86_400 }, 'clock_skew', /1 d ago/],
  ['a clock that is behind', { now: NOW - 900 }, 'clock_skew', /15 min ahead/],
];
const SORTED = PRETTY.replace(/("id".*\n)(.*\n)/, '$2$1');
const LIKELY: Case[] = [
  ['another secret', secret(OTHER), 'wrong_secret', /another secret, or its body was changed/],
  ['another amount', { text: BODY.replace('49.99', '0.01') }, 'wrong_secret', /its body was changed/],
  ['another secret', { ...secret(OTHER), environment: 'production' }, 'other_environment', /be from production/],
  ['a rotated secret', { header: rotated }, 'rotated_secret', /several secrets/],
  ['a body with sorted keys, not compact', { text: SORTED }, 'body_rewritten', /not compact JSON/],
  ['half a body', { text: BODY.slice(0, 300) }, 'body_changed', /not JSON/],
  ['another time', { header: { 'webhook-timestamp': String(NOW + 1) } }, 'header_changed', /same delivery is valid/],
  ['another id', { header: { 'webhook-id': 'msg_1' } }, 'header_changed', /same delivery is valid/],
  ['another signature', gateway(`t=${NOW},v1=${'ab'.repeat(32)}`), 'header_changed', /same delivery is valid/],
];

describe('the diagnosis of a delivery that is not genuine', () => {
  for (const [certainty, cases] of Object.entries({ proven: PROVEN, likely: LIKELY })) {
    for (const [what, changed, cause, message] of cases) {
      it(`the diagnosis of a delivery reports ${cause} as ${certainty} for ${what}`, async () => {
        const { genuine, findings } = await diagnose(received(changed));
        const found = findings.map((each) => [each.cause, each.certainty]);
        assert.deepEqual([genuine, found], [false, [[cause, certainty]]], JSON.stringify(findings));
        assert.match(findings[0]!.message, message);
      });
    }
  }

  it('the diagnosis of a delivery reports two causes if one of them is the clock', async () => {
    assert.deepEqual(causesOf(await diagnose(received({ text: PRETTY, now: NOW + 1000 }))), [
      'body_rewritten',
      'clock_skew',
    ]);
    const { findings } = await diagnose(received({ ...secret(OTHER), now: NOW + 1000 }));
    assert.deepEqual(
      findings.map(({ cause, certainty }) => [cause, certainty]),
      [
        ['wrong_secret', 'likely'],
        ['clock_skew', 'likely'],
      ],
    );
  });
});

describe('diagnose and webhooks.verify of the SDK agree about', () => {
  const { headers, body } = delivery();
  const { 'x-gateway-signature': gateway, 'webhook-signature': standard, ...others } = headers;
  const correctlySigned = (text: string, id = 'evt_x'): [Record<string, string>, string] => [
    deliveryHeaders({ eventId: id, body: text, timestamp: NOW, secrets: [SECRET] }),
    text,
  ];
  const G = (value: string): [Record<string, string>, string] => [{ 'x-gateway-signature': value }, body];
  const S = (value: string): [Record<string, string>, string] => [{ ...others, 'webhook-signature': value }, body];
  const v1 = (text: string) => `,v1=${text.repeat(64)}`;
  const deep = '['.repeat(50_000) + ']'.repeat(50_000);
  const CASES: [what: string, request: [Record<string, string>, string], genuine: boolean, cause?: string][] = [
    ['a space after the comma', G(gateway!.replace(',', ', ')), true],
    ['a signature of a future version', G(`${gateway},v0=abc`), true],
    ['a second time after the signature', G(`${gateway},t=1`), true],
    ['another time before the signature', G(`t=1,${gateway}`), false],
    ['twelve signatures', G(`${gateway}${Array.from('0123456789a', v1).join('')}`), true],
    ['hundreds of signatures', G(`t=${NOW}${v1('0').repeat(300)}${gateway!.slice(gateway!.indexOf(','))}`), false],
    ['the right digest only under another version', G(`${gateway!.replace('v1=', 'v0=')}${v1('1')}`), false],
    ['one signature in upper case', G(`${gateway}${v1('A')}`), false],
    ['an additional asymmetric signature', S(`${standard} v1a,abcdef`), true],
    ['two signatures, the second right', S(`v1,${'A'.repeat(43)}= ${standard}`), true],
    [
      'the id of another event in a header',
      [{ ...headers, 'x-gateway-event': 'evt_other' }, body],
      false,
      'invalid_payload',
    ],
    ['a correctly signed body that is no event', correctlySigned('{"id":"evt_x"}'), false, 'invalid_payload'],
    ['a correctly signed body that is no JSON', correctlySigned('not json'), false, 'invalid_payload'],
    ['a correctly signed body that is nested deeply', correctlySigned(deep), false, 'invalid_payload'],
    ['a wrongly signed body that is nested deeply', [headers, deep], false],
  ];
  for (const [what, [given, text], genuine, cause] of CASES) {
    it(`the diagnosis and webhooks.verify of the SDK agree about ${what}: ${genuine ? 'genuine' : 'not genuine'}`, async () => {
      const diagnosis = await diagnose(received({}, { headers: given, body: text }));
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

describe('tillway webhook verify', () => {
  const { headers, body } = delivery();
  const lines = Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\n`)
    .join('');
  const clock = { now: () => (NOW + 12) * 1000 };
  const withInput = (text: string) => ({ readInput: async () => Buffer.from(text) });
  const VERIFY = `webhook verify --secret ${SECRET}`;

  function files(text = body) {
    const folder = temporaryFolder();
    writeFileSync(folder.path('headers.txt'), lines);
    writeFileSync(folder.path('body.json'), text);
    const args = ['webhook', 'verify', '--headers', folder.path('headers.txt'), '--body', folder.path('body.json')];
    return { args, [Symbol.dispose]: () => folder[Symbol.dispose]() };
  }

  it('`tillway webhook verify` prints that the delivery is genuine, and exits with 0', async () => {
    using given = files();
    const { code, stdout, stderr } = await runWith(clock, ...given.args, '--secret', SECRET);
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, /^Genuine\n/);
    assert.match(stdout, /payment\.paid/);
    assert.match(stdout, /12 s ago/);
  });

  it('`tillway webhook verify` prints the cause and the remedy, and exits with 1', async () => {
    using given = files(PRETTY);
    const { code, stdout, stderr } = await runWith(clock, ...given.args, '--secret', SECRET);
    assert.deepEqual([code, stderr], [1, '']);
    assert.match(stdout, /^Not genuine\n[^]*\nProven {2}The body differs from the signed bytes[^]*\nDo {6}Verify/);
    const json = await runWith(clock, ...given.args, '--secret', SECRET, '--json');
    const answer = JSON.parse(json.stdout) as Diagnosis;
    assert.deepEqual([json.code, answer.genuine, causesOf(answer)], [1, false, ['body_rewritten']]);
  });

  const WHOLE: [what: string, text: string][] = [
    ['a whole request', `${lines}\n${body}`],
    ['a request with a final line end', `${lines}\n${body}\n`],
    [
      'a request with a request line and CRLF',
      `POST /hook HTTP/1.1\r\n${lines.replaceAll('\n', '\r\n')}\r\n${body}\r\n`,
    ],
  ];
  for (const [what, text] of WHOLE) {
    it(`\`tillway webhook verify\` reads ${what} from standard input`, async () => {
      const { code, stdout } = await runWith({ ...clock, ...withInput(text) }, VERIFY);
      assert.equal(code, 0, stdout);
    });
  }

  it('`tillway webhook verify` detects an additional line end in the body if Content-Length includes it', async () => {
    const text = `${lines}content-length: ${Buffer.byteLength(body) + 1}\n\n${body}\n`;
    const { code, stdout } = await runWith({ ...clock, ...withInput(text) }, `${VERIFY} --json`);
    assert.deepEqual([code, causesOf(JSON.parse(stdout) as Diagnosis)], [1, ['body_changed']]);
  });

  it('`tillway webhook verify` reads the secret from WEBHOOK_SECRET without --secret', async () => {
    const request = { ...clock, ...withInput(`${lines}\n${body}`) };
    for (const ended of [
      await runWith({ ...request, webhookSecret: SECRET }, 'webhook verify'),
      await runWith({ ...request, webhookSecret: OTHER }, VERIFY),
    ]) {
      assert.equal(ended.code, 0, ended.stderr);
    }
  });

  it('`tillway webhook verify` exits with 2 if an input is missing or unreadable', async () => {
    const MISUSED: [args: string[], message: RegExp][] = [
      [['webhook verify'], /--secret/],
      [[VERIFY], /the request has no header/],
      [[`${VERIFY} --headers /nowhere --body /nowhere`], /cannot be read/],
      [[`${VERIFY} --tolerance long`], /--tolerance: expected a time such as 90s/],
      [[`${VERIFY} --body body.json`], /give both --headers and --body/],
    ];
    for (const [args, message] of MISUSED) {
      const { code, stderr } = await runWith({ ...clock, ...withInput('') }, ...args);
      assert.equal(code, 2, args.join(' '));
      assert.match(stderr, message);
    }
  });
});

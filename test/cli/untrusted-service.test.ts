import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { attempt, createSession } from '../simulator/buyer.ts';
import { freePort } from '../process/program.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, call, startTestService } from '../support/service.ts';
import { startServer } from '../support/http-server.ts';
import { type CommandResult, runWith } from './terminal.ts';

/** An escape sequence, a C1 control character and a character that changes the text direction. */
const CONTROL_CHARACTERS = '\u001B[2J\u009B31m\u202E';

function startAnswering(status: number, body: string): ReturnType<typeof startServer> {
  return startServer((_request, response) => response.writeHead(status).end(body));
}

let on: TestService;
let paid: string;
before(async () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  const hook = `http://127.0.0.1:${await freePort()}/hook`;
  on = await startTestService({ variables: { TEST_CLOCK: 'true', WEBHOOK_URL: hook, WEBHOOK_SECRET: secret } });
  paid = await createSession(on, { metadata: { orderId: 'A-1001' } });
  await attempt(on, paid, 'card', 'paid');
  await on.pass(60_000);
  await providerSays(on, paid, 'paid', { paymentId: 'pay_unknown' });
  await call('POST', `${on.url}/api/gateway/payments/${paid}/refunds`, { amount: 1 });
});
after(() => on[Symbol.asyncDispose]());

/** A proxy of the service that adds control characters to every text of a response. */
async function startPoisoningProxy(): ReturnType<typeof startServer> {
  // The SDK recognizes responses by their `object`.
  const withControlCharacters = (name: string, value: unknown): unknown =>
    typeof value === 'string' && name !== 'object' ? value + CONTROL_CHARACTERS : value;
  return startServer(async (request, response) => {
    const sent = Buffer.concat(await request.toArray());
    const answer = await fetch(`${on.url}${request.url}`, {
      method: request.method!,
      headers: { 'content-type': 'application/json' },
      ...(sent.length > 0 && { body: sent }),
    });
    const text = JSON.stringify(await answer.json(), withControlCharacters);
    const body = text.includes('"data":[]') ? text : text.replace('"hasMore":false', '"hasMore":true');
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(body);
  });
}

const COMMANDS = (session: string) => [
  'fees 5',
  'checkout preview --product x --amount 5 --customer a@b.co',
  'sessions',
  `sessions get ${session}`,
  'payments',
  `payments get ${session}`,
  'customers',
  'invoices',
  'events',
  `events get evt_${session}_paid`,
  'events feed --limit 1',
  'deliveries',
  'schema',
  'schema fees.estimate',
  'webhook example',
  'routes',
  `routes why ${session}`,
  `routes replay ${session}`,
  'routes history',
  'routes rules',
  'routes dry-run 5',
  'routes backtest --objective total',
  'ledger',
  'ledger balances',
  'ledger journal',
  `settlements record ${session}`,
  'endpoints',
  'discrepancies',
  'refunds',
  'clock',
  'sessions get chk_nothing',
];

describe('a response with terminal control characters', () => {
  it('a response with terminal control characters is printed without these characters', async () => {
    await using service = await startPoisoningProxy();
    for (const line of COMMANDS(paid)) {
      for (const option of ['', ' --json']) {
        const { code, stdout, stderr } = await runWith({ url: service.url, columns: 100 }, line + option);
        assert.equal(code, line.endsWith('chk_nothing') ? 1 : 0, stderr);
        for (const text of [stdout, stderr])
          assert.doesNotMatch(text, /[^\P{C}\n]/u, `${line}: ${JSON.stringify(text)}`);
        // The escaped characters prove that the command has printed a value of the response.
        if (option !== '' && !stdout.includes('"data": []'))
          assert.ok(stdout.includes('\\u001b[2J\\u009b31m\\u202e'), `${line}: ${stdout}`);
      }
    }
  });
});

describe('a program that is not Tillway', () => {
  const bodies = ['{"status":"up"}', '{"ok":false,"error":"no"}', '[]', '"up"', 'null', '<html>', '{"ok":true}'];
  const create = 'checkout create --product x --amount 5 --customer a@b.co';
  for (const body of bodies) {
    it(`a program that is not Tillway is recognized by its response ${body}`, async () => {
      await using other = await startAnswering(200, body);
      for (const line of [create, 'fees 5', 'payments', 'payments --all', 'sessions get chk_1']) {
        for (const option of ['', ' --json']) {
          const { code, stderr } = await runWith({ url: other.url }, line + option);
          assert.equal(code, 1, line + option);
          assert.match(stderr, /^tillway: \S+ answered(?: 200)?, but is not a Tillway service\n/, line);
        }
      }
    });
  }

  for (const [status, body] of [
    [404, '[]'],
    [502, ''],
    [301, ''],
  ] as const) {
    it(`a program that is not Tillway is recognized by its status ${status}`, async () => {
      await using other = await startAnswering(status, body);
      const { code, stderr } = await runWith({ url: other.url }, 'routes', 'list');
      assert.equal(code, 1);
      assert.ok(stderr.startsWith(`tillway: ${other.url} answered ${status}, but is not a Tillway service\n`), stderr);
    });
  }

  it('a program that returns an empty list page with hasMore is recognized as not being Tillway', async () => {
    await using other = await startAnswering(200, '{"object":"list","data":[],"hasMore":true}');
    for (const line of ['payments', 'payments --all', 'payments --all --json']) {
      const { code, stderr } = await runWith({ url: other.url }, line);
      assert.equal(code, 1);
      assert.match(stderr, /but is not a Tillway service\n/);
    }
  });

  it('a program that is not Tillway is reported with the message of its error, even if other fields have a wrong type', async () => {
    const error = { code: 'x', message: 'no', issues: 'none', suggestion: {}, requestId: 5 };
    await using other = await startAnswering(400, JSON.stringify({ ok: false, error }));
    const { code, stderr } = await runWith({ url: other.url }, 'payments');
    assert.deepEqual([code, stderr.split('\n')[0]], [1, 'tillway: no']);
  });
});

describe('a list of several pages with --all --json', () => {
  const page = (id: string, hasMore: boolean) => JSON.stringify({ object: 'list', data: [{ id }], hasMore });

  function startPaged(second: [status: number, body: string]): ReturnType<typeof startServer> {
    return startServer((request, response) => {
      const [status, body] = request.url!.includes('startingAfter=pay_1') ? second : [200, page('pay_1', true)];
      response.writeHead(status).end(body);
    });
  }

  it('a list of several pages with --all --json is printed as one JSON document', async () => {
    await using service = await startPaged([200, page('pay_2', false)]);
    const { code, stdout } = await runWith({ url: service.url }, 'payments', '--all', '--json');
    assert.deepEqual(
      [code, JSON.parse(stdout)],
      [0, { object: 'list', data: [{ id: 'pay_1' }, { id: 'pay_2' }], hasMore: false }],
    );
  });

  const failures: [body: string, status: number, code: string][] = [
    [JSON.stringify({ ok: false, error: { code: 'internal', message: 'It broke.' } }), 500, 'internal'],
    ['<html>', 502, 'unexpected_response'],
    ['{"status":"up"}', 200, 'unexpected_response'],
  ];
  for (const [body, status, expected] of failures) {
    it(`a list of several pages with --all --json is printed as one JSON document with an error if the second page fails: ${body}`, async () => {
      await using service = await startPaged([status, body]);
      const ended: CommandResult = await runWith({ url: service.url }, 'payments', '--all', '--json');
      const { data, hasMore, error } = JSON.parse(ended.stdout) as {
        data: unknown[];
        hasMore: boolean;
        error: { code: string };
      };
      assert.deepEqual([ended.code, data, hasMore, error.code], [1, [{ id: 'pay_1' }], true, expected]);
      assert.match(ended.stderr, /^tillway: .+\n/);
    });
  }
});

describe('a suggestion of the API', () => {
  it('a suggestion in an API error names the command in text output, and the path of the API in JSON output', async () => {
    const wrong = 'checkout create --product x --amount 5 --customer nobody';
    const result = await runWith({ url: on.url }, wrong);
    assert.match(result.stderr, /\btillway schema checkout\.create\b/);
    assert.ok(!result.stderr.includes('/api/agent/schema'));
    const { stdout } = await runWith({ url: on.url }, wrong, '--json');
    assert.ok(stdout.includes('/api/agent/schema/checkout.create'));
  });

  it('a suggestion in an API error names command-line options in place of SDK settings', async () => {
    const { stdout } = await runWith({ url: `http://127.0.0.1:${await freePort()}` }, 'payments', '--json');
    const { error } = JSON.parse(stdout) as { error: { suggestion: string } };
    assert.match(error.suggestion, /--url/);
  });
});

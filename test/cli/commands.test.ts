import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isDeepStrictEqual, stripVTControlCharacters } from 'node:util';
import type { CheckoutSession, Delivery, Page, Payment, PaymentEvent } from '../../sdk/src/index.ts';
import { OutputClosedError } from '../../src/cli/command-context.ts';
import { freePort } from '../process/program.ts';
import { attempt, createSession } from '../simulator/buyer.ts';
import { type TestService, call, startTestService } from '../support/service.ts';
import type { LocalCommands } from '../../src/cli/local-commands.ts';
import { type CommandResult, commandsOn, runIn, runOn, runWith } from './terminal.ts';

const CHECKOUT = ['--product', 'Field guide', '--amount', '49.99', '--customer', 'buyer@example.com'];
const ESCAPE = '\u001B';

let on: TestService;
/** Id of the paid session, the oldest of three sessions. */
let paid: string;
before(async () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  const hook = `http://127.0.0.1:${await freePort()}/hook`;
  on = await startTestService({ variables: { WEBHOOK_URL: hook, WEBHOOK_SECRET: secret } });
  paid = await createSession(on, {
    metadata: { orderId: 'A-1001', note: `${ESCAPE}[2Jgone` },
    clientReferenceId: 'A-1001',
  });
  await attempt(on, paid, 'card', 'paid');
  await on.pass(60_000);
  await createSession(on, { amount: 1250, customer: 'second@example.com' });
  await createSession(on, {
    amount: 3,
    customer: 'third@example.com',
    product: `Tea ${ESCAPE}]0;title\u0007\u009B31m`,
  });
});
after(() => on[Symbol.asyncDispose]());

const { stdoutOf, json, stderrOf } = commandsOn(() => on);

async function apiResponse<Body>(path: string): Promise<Body> {
  return (await call<Body>('GET', `${on.url}${path}`)).body;
}

/** The cells of each line of a table. */
function rowsOf(text: string): string[][] {
  const lines = text.trimEnd().split('\n');
  return lines.map((line) => line.trim().split(/ {2,}/));
}

async function paymentOf(sessionId: string): Promise<Payment> {
  return apiResponse<Payment>(`/api/gateway/payments/${sessionId}`);
}

describe('tillway fees', () => {
  it('`tillway fees` shows the fee split for a route and an environment', async () => {
    const lines = [
      'Card, simulated acquirer  sandbox_card_acquirer, a few seconds',
      '',
      'Buyer pays           49.99 USD',
      'Gateway keeps         1.45 USD  2.9 %',
      'You get              48.54 USD',
      '',
    ];
    assert.equal(await stdoutOf('fees 49.99'), lines.join('\n'));
    assert.match(
      await stdoutOf('fees 100 --kind local'),
      /^Buyer pays +100\.25 USD\n {2}buyer fee +0\.25 USD {2}0\.25 %\n/m,
    );
    assert.match(await stdoutOf('fees 5 --route sandbox_card_backup'), /^\S.* {2}sandbox_card_backup, /);
    assert.match(await stdoutOf('fees 5 --environment production'), /^\S.* {2}card_stripe, /);
    assert.match(await stderrOf(1, 'fees 5 --route nowhere'), /\nrequest req_/);
    const { body } = await call('POST', `${on.url}/api/agent/actions/fees.estimate`, { amount: 49.99 });
    assert.deepEqual(await json('fees 49.99'), body);
  });

  for (const amount of ['much', '1e3', '0x10', '1,5', ' 5', '5 ', '+5', '.', '--', 'Infinity']) {
    it(`\`tillway fees\` rejects the amount ${JSON.stringify(amount)}`, async () => {
      const output = await stderrOf(2, 'fees', '--', amount);
      assert.match(output, /^tillway: amount (?:takes a number, such as 49\.99, not|must not be) ".*"\n\nUsage: /);
    });
  }

  it('`tillway fees` rejects an amount with more than two decimals, as every command with an amount does', async () => {
    for (const args of [
      ['fees 49.999'],
      ['checkout create', ...CHECKOUT, '--amount', '1.001'],
      ['routes dry-run 1.001'],
    ]) {
      assert.match(await stderrOf(2, ...args), /^tillway: (?:--)?amount takes US dollars with at most two decimals, /);
    }
  });
});

describe('tillway checkout', () => {
  it('`tillway checkout` creates a checkout, and shows the URL for the buyer', async () => {
    const output = await stdoutOf('checkout', 'create', ...CHECKOUT, '--metadata', 'a=b=c', '--reference', 'A-1');
    const url = /^ {2}(http:\S+\/checkout\/(chk_\w+))$/m.exec(output);
    assert(url);
    assert.match(output, /^Checkout created: Field guide for buyer@example\.com, 49\.99 USD \(test money\)\n/);
    assert.match(output, /^You get +48\.54 USD$/m);
    assert.ok(output.endsWith(`tillway sessions get ${url[2]}\n`));
    const session = await apiResponse<CheckoutSession>(`/api/gateway/sessions/${url[2]}`);
    assert.deepEqual([session.metadata, session.clientReferenceId, session.checkoutUrl], [{ a: 'b=c' }, 'A-1', url[1]]);
    await stdoutOf('sessions', 'expire', url[2]!);
    assert.doesNotMatch(output, /takes no payments now/);
  });

  it('`tillway checkout` previews a checkout without creating one', async () => {
    const before = await json<Page<CheckoutSession>>('sessions', 'list');
    const output = await stdoutOf('checkout', 'preview', ...CHECKOUT, '--kind', 'wallet', '--environment', 'sandbox');
    assert.match(output, /^Preview, nothing was created: Field guide .*\n.* {2}sandbox_wallet_express, /);
    const live = await stdoutOf('checkout', 'preview', ...CHECKOUT, '--environment', 'production');
    assert.match(live, /takes no payments now.*\n.*tillway routes list --environment production$/m);
    const { result } = await json<{ result: { dryRun: boolean } }>('checkout', 'preview', ...CHECKOUT);
    assert.equal(result.dryRun, true);
    assert.deepEqual(await json<Page<CheckoutSession>>('sessions', 'list'), before);
  });

  it('`tillway checkout` reports every problem and its remedy', async () => {
    const output = await stderrOf(1, 'checkout', 'create', '--product', 'x', '--amount', '0', '--customer', 'nobody');
    assert.match(output, /^tillway: 2 problems\n {2}amount: must be .*\n {2}customer: must be an email /);
    assert.match(output, /\nSet amount to a number greater than 0 .*\nrequest req_\S+\n$/);
  });

  it('`tillway checkout` rejects an incomplete command line before it sends a request', async () => {
    const output = await stderrOf(2, 'checkout create --amount 5 --customer a@b.co');
    assert.match(
      output,
      /^tillway: required option '--product <text>' not specified\n\nUsage: .*\nExample: +tillway checkout /,
    );
    for (const [line, message] of [
      ['--metadata a', /takes KEY=VALUE/],
      ['--metadata a=1 --metadata a=2', /twice for a\n/],
    ] as const) {
      assert.match(await stderrOf(2, `checkout create ${line}`, ...CHECKOUT), message);
    }
  });
});

describe('the list commands', () => {
  it('the list commands show the newest record first, and align amounts', async () => {
    const lines = (await stdoutOf('sessions list --status routed')).split('\n');
    assert.deepEqual(
      lines.slice(0, 3).map((line) => rowsOf(line)[0]!.slice(1, 4)),
      [
        ['STATUS', 'AMOUNT', 'CUSTOMER'],
        ['routed', '3.00 USD', 'third@example.com'],
        ['routed', '1250.00 USD', 'second@example.com'],
      ],
    );
    assert.equal(rowsOf(lines[2]!)[0]![5], '2026-03-01T12:01:00Z');
    assert.equal(lines[1]!.indexOf(' USD'), lines[2]!.indexOf(' USD'));
  });

  it('the list commands are the default command of a group', async () => {
    for (const name of ['sessions', 'payments', 'customers', 'invoices', 'events', 'deliveries']) {
      assert.equal(await stdoutOf(name), await stdoutOf(name, 'list'));
      assert.deepEqual(await json(name), await apiResponse(`/api/gateway/${name}`));
      assert.match(await stderrOf(2, name, 'lst'), /^tillway: unknown command 'lst'\n\(Did you mean list\?\)\n/);
    }
  });

  it('the list commands print the option that shows the next page', async () => {
    const first = await stdoutOf('customers', 'list', '--limit', '2');
    const [, last] = /\nnext page: --starting-after (cus_\w+)\n$/.exec(first) ?? [];
    assert.equal(rowsOf(first).length, 4);
    const next = await stdoutOf('customers', 'list', '--starting-after', last!);
    assert.deepEqual(
      rowsOf(next).map((row) => row[2]),
      ['EMAIL', 'buyer@example.com'],
    );
    const newest = rowsOf(first)[1]![0]!;
    const back = await stdoutOf('customers', 'list', '--ending-before', rowsOf(next)[1]![0]!, '--limit', '1');
    assert.equal(back.split('\n').at(-2), `next page: --ending-before ${last}`);
    assert.equal(await stdoutOf('customers', 'list', '--ending-before', newest), 'None.\n');
  });

  it('the list commands return all records with --all, as text and as one JSON page', async () => {
    const all = await stdoutOf('sessions list --all');
    assert.deepEqual(rowsOf(all), rowsOf(await stdoutOf('sessions list --limit 100')));
    assert.deepEqual(await json('sessions list --all'), await apiResponse('/api/gateway/sessions?limit=100'));
    assert.equal(await stdoutOf('sessions list --all --status failed'), 'None.\n');
    const none = { object: 'list', data: [], hasMore: false };
    assert.deepEqual(await json('sessions list --all --status failed'), none);
  });

  for (const [line, query] of [
    ['sessions --customer buyer@example.com --client-reference-id A-1001', 'sessions?clientReferenceId=A-1001'],
    ['sessions --status paid --environment sandbox', 'sessions?status=paid'],
    ['payments --status paid --limit 1', 'payments?status=paid'],
    ['invoices --status paid', 'invoices?status=paid'],
    ['customers --email BUYER@example.com --status active', 'customers?email=buyer@example.com'],
    ['events --type payment.paid', 'events?type=payment.paid'],
    ['deliveries --status pending', 'deliveries?status=pending'],
  ] as const) {
    it(`the list commands accept the filters of the API: ${line}`, async () => {
      const page = await json<Page<unknown>>(line);
      assert.ok(page.data.length > 0);
      assert.deepEqual(page, await apiResponse(`/api/gateway/${query}`));
    });
  }

  it('the list commands reject an invalid status, limit or combination of page options', async () => {
    for (const [options, code, message] of [
      ['--status payed', 2, /Allowed choices are pending, paid, failed/],
      ['--limit 0', 2, /^tillway: --limit takes a whole number of 1 or more, such as 20, not "0"\n/],
      ['--starting-after pay_1 --ending-before pay_2', 2, /cannot be used with/],
      ['--all --ending-before pay_2', 2, /cannot be used with/],
      ['--all --limit 2', 2, /cannot be used with/],
      ['--starting-after pay_1', 1, /id that starts with pay_/],
    ] as const) {
      assert.match(await stderrOf(code, `payments list ${options}`), message);
    }
  });
});

describe('the commands for a single record', () => {
  it('the commands for a single record show one field per line', async () => {
    const payment = await paymentOf(paid);
    const shown = await stdoutOf('payments', 'get', paid);
    assert.deepEqual(rowsOf(shown).slice(0, 2), [
      ['Payment', payment.id],
      ['Status', 'paid'],
    ]);
    for (const fact of [
      ['Session id', paid],
      ['Buyer pays', '49.99 USD'],
      ['You get', '48.54 USD'],
    ]) {
      assert.ok(
        rowsOf(shown).some((row) => isDeepStrictEqual(row, fact)),
        `${fact.join(': ')} in ${shown}`,
      );
    }
    assert.equal(await stdoutOf('payments', 'get', payment.id), shown);
    assert.match(await stdoutOf('sessions', 'get', paid), new RegExp(`^Session +${paid}\nStatus +paid\n`));
    assert.match(
      await stdoutOf('invoices', 'get', payment.invoiceId),
      /^Invoice +inv_\w+\nStatus +paid\n[^]*^Amount +49\.99 USD$/m,
    );
    assert.match(await stdoutOf('customers', 'get', payment.customerId), /^Email +buyer@example\.com$/m);
    assert.match(await stdoutOf('events', 'get', `evt_${paid}_paid`), /^Type +payment\.paid$/m);
  });

  it('the commands for a single record report a missing record, as text and as JSON', async () => {
    assert.match(await stderrOf(1, 'payments', 'get', 'pay_nothing'), /^tillway: No payment "pay_nothing" exists\.\n/);
    const { code, stdout, stderr } = await runIn(on, 'sessions', 'get', 'chk_nothing', '--json');
    const { ok, error } = JSON.parse(stdout) as {
      ok: boolean;
      error: { code: string; status: number; requestId: string };
    };
    assert.deepEqual([code, ok, error.code, error.status], [1, false, 'not_found', 404]);
    assert.match(stderr, new RegExp(`^tillway: No session .*\n.*\nrequest ${error.requestId}\n$`));
    assert.match(await stderrOf(2, 'sessions', 'get', '..'), /^tillway: session must not be "\.\."\n/);
  });

  it('the commands for a single record expire a session', async () => {
    const id = await createSession(on);
    assert.match(await stdoutOf('sessions', 'expire', id), /^Status +expired$/m);
    assert.equal((await json<CheckoutSession>('sessions', 'expire', id)).status, 'expired');
    await stderrOf(1, 'sessions', 'expire', paid);
  });
});

describe('the webhook commands', () => {
  it('the webhook commands replay a delivery and show its attempts', async () => {
    const { data } = await json<Page<Delivery>>('deliveries', '--session-id', paid);
    const delivery = data.find(({ attempts }) => attempts > 0);
    const shown = await stdoutOf('deliveries', 'get', delivery!.id);
    assert.match(shown, /^Event id +evt_chk_\w+$/m);
    assert.match(await stdoutOf('deliveries', 'replay', delivery!.id), /^Status +pending$/m);
    assert.equal((await json<Delivery>('deliveries', 'replay', delivery!.id)).id, delivery!.id);
    await on.pass(1);
    const { log } = await json<{ log: unknown[] }>('deliveries', 'get', delivery!.id);
    const [, rows] = (await stdoutOf('deliveries', 'get', delivery!.id)).split('\n\n');
    assert.deepEqual(rowsOf(rows!)[0], ['#', 'STARTED', 'TOOK', 'OUTCOME']);
    assert.equal(rowsOf(rows!).length, log.length + 1);
    assert.ok(log.length > 0);
  });

  it('the webhook commands send an event again to every endpoint', async () => {
    const resent = await stdoutOf('events', 'resend', `evt_${paid}_paid`);
    assert.deepEqual(
      rowsOf(resent).map((row) => row.slice(1, 3)),
      [
        ['STATUS', 'TYPE'],
        ['pending', 'payment.paid'],
      ],
    );
    assert.equal((await json<Page<Delivery>>('events', 'resend', `evt_${paid}_paid`)).data.length, 1);
    await stderrOf(1, 'events', 'resend', 'evt_nothing');
  });

  it('the webhook commands show an example event with the headers and body that a receiver gets', async () => {
    const shown = await stdoutOf(
      'webhook',
      'example',
      '--event',
      'payment.failed',
      '--amount',
      '20',
      '--metadata',
      'a=b',
    );
    const [head, body] = shown.split('\n\n');
    const event = JSON.parse(body!) as PaymentEvent;
    assert.deepEqual([event.type, event.data.amount, event.data.metadata], ['payment.failed', 20, { a: 'b' }]);
    assert.match(head!, /^x-gateway-signature: t=\d+,v1=[0-9a-f]{64}$/m);
    const names =
      '--session-id chk_1 --customer-id cus_1 --route sandbox_card_backup --provider p --tx-hash x --livemode';
    const { result } = await json<{ result: { payload: PaymentEvent } }>(`webhook example ${names}`);
    const { session_id, customer_id, route, tx_hash } = result.payload.data;
    assert.deepEqual(
      [session_id, customer_id, route.id, route.provider, tx_hash, result.payload.livemode],
      ['chk_1', 'cus_1', 'sandbox_card_backup', 'p', 'x', true],
    );
  });

  it('the webhook commands verify a sample callback of a provider', async () => {
    const sample = ['--event-id', 'evt_1', '--session-id', paid, '--status', 'paid', '--amount', '49.99'];
    const output = await stdoutOf('webhook', 'verify-sample', ...sample, '--provider', 'sandbox', '--tx-hash', 'x');
    assert.match(
      output,
      /^Status +paid\n[^]*^Event id +evt_1\n[^]*^Merchant webhook queued +no: .*\nSignature verified +no, /m,
    );
    const { result } = await json<{ result: { accepted: boolean } }>('webhook', 'verify-sample', ...sample);
    assert.equal(result.accepted, true);
    const forged = ['--signature', `t=1,v1=${'0'.repeat(64)}`];
    await stderrOf(1, 'webhook', 'verify-sample', ...sample, ...forged);
  });
});

describe('tillway schema', () => {
  it('`tillway schema` lists the operations', async () => {
    const operations = (await stdoutOf('schema')).split('\n\n')[0]!.split('\n');
    assert.ok(operations.includes('checkout.create'));
    assert.deepEqual((await json<{ operations: string[] }>('schema')).operations, operations);
  });

  it('`tillway schema` shows the input and output of an operation', async () => {
    const output = await stdoutOf('schema', 'webhook.verify_sample');
    assert.match(output, /^Input\nFIELD +TYPE +MEANING\n/);
    assert.match(output, /^payload\.amount +number +required +US dollars/m);
    assert.match(output, /^\nOutput\nFIELD/m);
    assert.match(await stdoutOf('schema', 'routes.list'), /^routes\[\]\.score +number +required/m);
    assert.deepEqual(await json('schema', 'fees.estimate'), await apiResponse('/api/agent/schema/fees.estimate'));
    assert.match(await stderrOf(1, 'schema', 'fees.estimat'), /fees\.estimate/);
  });
});

describe('the output of every command', () => {
  it('the output of every command has colours only on a terminal, and not with --no-color', async () => {
    const colour = { output: true, errors: true };
    const run = (...args: string[]) => runWith({ url: on.url, colour, columns: 200 }, ...args);
    for (const args of [
      ['sessions', 'list'],
      ['payments', 'get', paid],
      ['fees', '5'],
      ['checkout', 'preview', ...CHECKOUT],
      ['routes', 'why', paid],
    ]) {
      const { stdout } = await run(...args);
      assert.ok(stdout.includes(`${ESCAPE}[`), args.join(' '));
      assert.equal(stripVTControlCharacters(stdout), await stdoutOf(...args));
      assert.equal((await run(...args, '--no-color')).stdout, await stdoutOf(...args));
    }
    assert.equal((await run('payments', '--json')).stdout, await stdoutOf('payments', '--json'));
    assert.ok((await run('payments', 'list')).stdout.includes(`${ESCAPE}[32mpaid${ESCAPE}[39m`));
    assert.ok((await run('payments', 'get', 'pay_nothing')).stderr.includes(`${ESCAPE}[2mrequest req_`));
    assert.ok((await run('fees', '--help')).stdout.includes(`${ESCAPE}[1mUsage:`));
  });
});

describe('the URL of the service', () => {
  it('the URL of the service is reported with a remedy if the service cannot be reached', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const first = `tillway: ${url} cannot be reached. Start the service with "tillway serve", or set its URL with --url\n`;
    for (const args of [['fees', '5'], ['payments', 'list', '--all'], ['schema'], ['routes']]) {
      const { code, stdout, stderr } = await runWith({}, ...args, '--url', url);
      assert.deepEqual([code, stdout], [1, '']);
      assert.ok(stderr.startsWith(first), stderr);
    }
    const { stdout } = await runWith({ url }, 'fees', '5', '--json');
    assert.equal((JSON.parse(stdout) as { error: { code: string } }).error.code, 'connection_failed');
  });

  it('the URL of the service is rejected before any request if it is invalid, and a password in it is not printed', async () => {
    for (const [url, message] of [
      ['http://me:hunter2@a.example', 'the URL of the service must not contain a user name or password'],
      ['http://me:hunter2@', 'the URL of the service must not contain a user name or password'],
      ['me:hunter2@a.example:3000', 'the URL of the service must not contain a user name or password'],
      ['nonsense', 'nonsense is not a URL such as http://127.0.0.1:3000'],
      ['ftp://a.example', 'ftp://a.example is not a URL such as http://127.0.0.1:3000'],
      ['http://', 'http:// is not a URL such as http://127.0.0.1:3000'],
      ['http://a.example/?q', 'http://a.example/?q is not a URL such as http://127.0.0.1:3000'],
    ] as const) {
      const { code, stderr } = await runWith({}, 'fees 5 --url', url);
      assert.deepEqual([code, stderr.split('\n')[0]], [2, `tillway: ${message}`]);
      assert.ok(!stderr.includes('hunter2'));
    }
  });

  it('the URL of the service comes from --url, else from TILLWAY_URL', async () => {
    assert.equal((await runWith({ url: 'http://127.0.0.1:1' }, 'fees', '5', '--url', `${on.url}/`)).code, 0);
    assert.match((await runWith({ url: '' }, 'fees', '5', '--url', on.url)).stdout, /^Buyer pays/m);
  });
});

describe('tillway migrate and tillway doctor', () => {
  const database = (overrides: object) => ({
    serve: () => Promise.reject(new Error('not here')),
    providers: () => Promise.resolve([]),
    database: () =>
      Promise.resolve({
        name: 'sqlite:x.db',
        dashboardUrl: 'http://localhost:3000',
        examine: () => Promise.reject(new Error('it is gone')),
        migrate: () => Promise.resolve([]),
        open: () => Promise.reject(new Error('it is gone')),
        secrets: () => Promise.reject(new Error('it is gone')),
        ...overrides,
      }),
  });

  it('`tillway migrate` and `tillway doctor` report the applied migrations', async () => {
    const migrate = () => Promise.resolve([{ version: 14, name: 'schema', sql: 'CREATE' }]);
    const run = (overrides: object, ...args: string[]): Promise<CommandResult> =>
      runOn(database(overrides), {}, 'migrate', ...args);
    assert.match((await run({ migrate })).stdout, /^Database: sqlite:x.db\napplied  14 schema\nThe database is up/);
    assert.equal((await run({})).stdout, 'Database: sqlite:x.db\nNo migration was missing.\n');
    assert.deepEqual(JSON.parse((await run({ migrate }, '--json')).stdout), {
      ok: true,
      database: 'sqlite:x.db',
      applied: [{ version: 14, name: 'schema' }],
    });
  });

  const missing = () => Promise.reject(new Error('DATABASE_URL must be something'));
  const FAILURES: [why: string, migrating: Partial<LocalCommands>, examining: Partial<LocalCommands>][] = [
    ['it is gone', database({ migrate: () => Promise.reject(new Error('it is gone')) }), database({})],
    ['DATABASE_URL must be something', { ...database({}), database: missing }, { ...database({}), database: missing }],
  ];
  for (const [why, migrating, examining] of FAILURES) {
    it(`\`tillway migrate\` and \`tillway doctor\` report a failure as text and as JSON: ${why}`, async () => {
      const migrated = await runOn(migrating, {}, 'migrate', '--json');
      const { error } = JSON.parse(migrated.stdout) as { error: { message: string } };
      assert.deepEqual([migrated.code, error.message], [1, `The database could not be migrated: ${why}`]);
      assert.equal(migrated.stderr, `tillway: The database could not be migrated: ${why}\n`);
      const message = `The database could not be checked: ${why}`;
      const examined = await runOn(examining, {}, 'doctor', '--json');
      assert.deepEqual([examined.code, JSON.parse(examined.stdout)], [2, { ok: false, error: message }]);
      assert.equal(examined.stderr, `tillway: ${message}\n`);
    });
  }

  const examined = (violations: readonly string[]) =>
    database({
      dashboardUrl: 'http://localhost:3000',
      examine: () =>
        Promise.resolve({
          violations: () => Promise.resolve(violations),
          integrity: () => Promise.resolve(undefined),
          close: () => Promise.resolve(),
        }),
    });

  it('`tillway migrate` and `tillway doctor` report the result by the exit code if the output is closed', async () => {
    const write = () => {
      throw new OutputClosedError();
    };
    for (const line of ['doctor', 'doctor --json']) {
      assert.equal((await runOn(examined([]), { write }, line)).code, 0);
      assert.equal((await runOn(examined(['chk_1']), { write }, line)).code, 1);
    }
  });

  it('`tillway migrate` and `tillway doctor` write no terminal control characters', async () => {
    for (const line of ['doctor', 'doctor --json']) {
      const { stdout } = await runOn(examined([`${ESCAPE}[2J\u009B\u202E`]), {}, line);
      assert.doesNotMatch(stdout, /[^\P{C}\n]/u);
    }
  });
});

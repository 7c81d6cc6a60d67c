import assert from 'node:assert/strict';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { Tillway } from '../../sdk/src/index.ts';
import { runIn } from '../cli/terminal.ts';
import { temporaryFolder } from '../process/program.ts';
import { createSession } from '../simulator/buyer.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { errorOf, itemsOf, scriptedFetch } from './recorder.ts';

let on: TestService;
let tillway: Tillway;
const payments: string[] = [];
const folder = temporaryFolder();

before(async () => {
  on = await startTestService();
  tillway = new Tillway({ baseUrl: on.url, maxRetries: 0 });
  for (let number = 0; number < 3; number++) {
    const sessionId = await createSession(on, { amount: 100 });
    await providerSays(on, sessionId, 'paid');
    payments.push((await on.service.deps.store.checkout(sessionId))!.payments[0]!.id);
  }
});
after(async () => {
  folder[Symbol.dispose]();
  await on[Symbol.asyncDispose]();
});

describe('the client', () => {
  test('reads balances, the journal and the export', async () => {
    const { environments } = await tillway.ledger.balances({ environment: 'sandbox' });
    assert.equal(environments[0]!.total, 0);
    const account = 'merchant_payable';
    const ids = (await tillway.ledger.entries({ account, limit: 1 }).toArray()).map(({ id }) => id);
    assert.deepEqual(ids, payments.map((id) => `${id}:paid:2`).toReversed());
    const csv = (await itemsOf(tillway.ledger.export({ account }))).join('');
    const [, ...lines] = csv.trimEnd().split('\r\n');
    assert.deepEqual(
      lines.map((line) => line.split(',')[0]),
      ids.toReversed(),
    );
  });

  test('records a settlement and imports a file of settlements', async () => {
    const settlement = await tillway.settlements.settle(payments[0]!, { reference: 'PO-1' });
    assert.deepEqual([settlement.amount, settlement.reference], [97.1, 'PO-1']);
    const file = `payment_id,amount,currency\n${payments[0]},97.10,USD\n${payments[1]},97.10,USD\n`;
    const { entries } = await tillway.settlements.import(file, { dryRun: true });
    assert.deepEqual(
      entries.map(({ status }) => status),
      ['already_settled', 'matched'],
    );
    assert.equal((await tillway.settlements.import(file)).message, '1 of 2 lines settled, 1 settled before.');
    await assert.rejects(tillway.settlements.import(undefined as unknown as string), TypeError);
  });

  test('throws for an export that is rejected, not from Tillway, late, interrupted or aborted', async () => {
    const answering = (body: string | ReadableStream, type: string) => ({
      fetch: async () => new Response(body, { headers: { 'content-type': type } }),
    });
    for (const [options, expected] of [
      [{ baseUrl: on.url }, ['TillwayError', 'invalid_input']],
      [answering('<html>', 'text/html'), ['TillwayError', 'unexpected_response']],
      [{ fetch: scriptedFetch({ hangs: true }).fetch, timeoutMs: 5 }, ['TillwayConnectionError', 'timed_out']],
    ] as const) {
      const { name, code } = await errorOf(new Tillway(options).ledger.export({ sessionId: 'pay_1' }).next());
      assert.deepEqual([name, code], expected);
    }

    let pulls = 0;
    const broken = new ReadableStream({
      pull(controller) {
        if (pulls++ === 0) controller.enqueue(new TextEncoder().encode('entry_id\r\n'));
        else controller.error(new TypeError('terminated'));
      },
    });
    const parts = new Tillway(answering(broken, 'text/csv')).ledger.export();
    assert.equal((await parts.next()).value, 'entry_id\r\n');
    const { name, code } = await errorOf(parts.next());
    assert.deepEqual([name, code], ['TillwayConnectionError', 'connection_failed']);

    const given = new Error('no more');
    await assert.rejects(tillway.ledger.export({}, { signal: AbortSignal.abort(given) }).next(), given);
  });
});

describe('the command line', () => {
  test('shows ledger balances and the journal, and exports the ledger', async () => {
    const balances = await runIn(on, 'ledger', 'balances', '--environment', 'sandbox');
    assert.equal(balances.code, 0);
    assert.match(balances.stdout, /sandbox +merchant_payable +[\d.]+ USD +291\.30 USD/);
    assert.match(balances.stdout, /sandbox +in all +0\.00 USD/);

    const journal = await runIn(on, 'ledger', 'journal', '--payment-id', payments[2]!, '--json');
    const { data } = JSON.parse(journal.stdout) as { data: { postingId: string }[] };
    assert.deepEqual(new Set(data.map(({ postingId }) => postingId)), new Set([`${payments[2]}:paid`]));
    assert.match((await runIn(on, 'ledger', 'journal')).stdout, /CREATED +KIND +ACCOUNT +DEBIT +CREDIT +ENTRY/);

    const file = folder.path('ledger.csv');
    const { stdout } = await runIn(on, 'ledger', 'export', '--kind', 'paid', '--out', file);
    const csv = readFileSync(file, 'utf8');
    assert.equal(stdout, `Wrote ${csv.length} bytes to ${file}.\n`);
    assert.equal((await runIn(on, 'ledger', 'export', '--kind', 'paid')).stdout, csv);
  });

  test('leaves no file of an export that fails', async () => {
    const before = readdirSync(folder.path('.'));
    const refused = await runIn(on, 'ledger', 'export', '--session-id', 'pay_1', '--out', folder.path('none.csv'));
    assert.equal(refused.code, 1);
    const nowhere = await runIn(on, 'ledger', 'export', '--out', folder.path('no/such/folder.csv'));
    assert.deepEqual([nowhere.code, nowhere.stdout], [1, '']);
    assert.match(nowhere.stderr, /cannot be written/);
    assert.deepEqual(readdirSync(folder.path('.')), before);
  });

  test('imports and records settlements', async () => {
    const file = folder.path('payouts.csv');
    writeFileSync(file, `payment_id,amount,currency,note\n${payments[2]},97.10,USD,x\npay_gone,1,USD,y\n`);
    const dry = await runIn(on, 'settlements', 'import', file, '--dry-run');
    assert.equal(dry.code, 1);
    assert.match(
      dry.stdout,
      /^1 of 2 lines would be settled, 1 not matched, nothing was changed\.\nColumns passed over: note\n/,
    );
    assert.match(dry.stdout, /3 +pay_gone +1\.00 USD +unknown_payment +There is no payment/);
    const done = await runIn(on, 'settlements', 'import', file, '--json');
    assert.equal((JSON.parse(done.stdout) as { matched: { lines: number } }).matched.lines, 1);
    writeFileSync(file, `payment_id,amount,currency\n${payments[2]},97.10,USD\n`);
    assert.equal((await runIn(on, 'settlements', 'import', file)).code, 0);

    const recorded = await runIn(on, 'settlements', 'record', payments[2]!);
    assert.match(recorded.stdout, /Paid out +97\.10 USD\nTold by +file/);
    assert.equal((await runIn(on, 'settlements', 'import', folder.path('gone.csv'))).code, 2);
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Tillway } from '../../sdk/src/index.ts';
import { runIn } from '../cli/terminal.ts';
import { createSession } from '../simulator/buyer.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { scriptedFetch } from './recorder.ts';

let on: TestService;
let tillway: Tillway;
let payments: string[];

before(async () => {
  on = await startTestService();
  tillway = new Tillway({ baseUrl: on.url, maxRetries: 0 });
  payments = [];
  for (let number = 0; number < 3; number++) {
    const sessionId = await createSession(on, { amount: 100 });
    await providerSays(on, sessionId, 'paid');
    payments.push((await on.service.deps.store.checkout(sessionId))!.payments[0]!.id);
  }
});
after(async () => {
  await on[Symbol.asyncDispose]();
});

async function textOf(parts: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const part of parts) text += part;
  return text;
}

describe('the ledger methods of the SDK', () => {
  test('the ledger methods of the SDK read balances, the journal and the export', async () => {
    const { environments } = await tillway.ledger.balances({ environment: 'sandbox' });
    assert.equal(environments[0]!.total, 0);
    const ids: string[] = [];
    for await (const entry of tillway.ledger.entries({ account: 'merchant_payable', limit: 1 })) ids.push(entry.id);
    assert.deepEqual(ids, payments.map((id) => `${id}:paid:2`).toReversed());
    const csv = await textOf(tillway.ledger.export({ account: 'merchant_payable' }));
    assert.deepEqual(csv.match(/^(?!entry_id)[^,\r\n]+(?=,)/gm), ids.toReversed());
  });

  test('the ledger methods of the SDK throw if an export is rejected, is not from Tillway, breaks off or times out', async () => {
    await assert.rejects(textOf(tillway.ledger.export({ sessionId: 'pay_1' })), { code: 'invalid_input' });

    const answering = (body: string | ReadableStream, type: string) =>
      new Tillway({ fetch: async () => new Response(body, { headers: { 'content-type': type } }) });
    const page = textOf(answering('<html>', 'text/html').ledger.export());
    await assert.rejects(page, { code: 'unexpected_response' });

    let pulls = 0;
    const broken = new ReadableStream({
      pull(controller) {
        if (pulls++ === 0) controller.enqueue(new TextEncoder().encode('entry_id\r\n'));
        else controller.error(new TypeError('terminated'));
      },
    });
    const parts = answering(broken, 'text/csv').ledger.export();
    assert.equal((await parts.next()).value, 'entry_id\r\n');
    await assert.rejects(parts.next(), { name: 'TillwayConnectionError', code: 'connection_failed' });

    const silent = new Tillway({ timeoutMs: 5, fetch: scriptedFetch({ hangs: true }).fetch });
    await assert.rejects(textOf(silent.ledger.export()), { name: 'TillwayConnectionError', code: 'timed_out' });
    const reason = new Error('no more');
    await assert.rejects(textOf(tillway.ledger.export({}, { signal: AbortSignal.abort(reason) })), reason);
  });
});

describe('the ledger and settlement commands', () => {
  test('the ledger and settlement commands print balances and journal, and export the ledger', async () => {
    const balances = await runIn(on, 'ledger', 'balances', '--environment', 'sandbox');
    assert.equal(balances.code, 0);
    assert.match(balances.stdout, /sandbox +merchant_payable +[\d.]+ USD +291\.30 USD/);
    assert.match(balances.stdout, /sandbox +total +0\.00 USD/);

    const journal = await runIn(on, 'ledger', 'journal', '--payment-id', payments[2]!, '--json');
    const { data } = JSON.parse(journal.stdout) as { data: { postingId: string }[] };
    assert.deepEqual(new Set(data.map(({ postingId }) => postingId)), new Set([`${payments[2]}:paid`]));
    assert.match((await runIn(on, 'ledger', 'journal')).stdout, /CREATED +KIND +ACCOUNT +DEBIT +CREDIT +ENTRY/);

    const { stdout } = await runIn(on, 'ledger', 'export', '--payment-id', payments[2]!, '--kind', 'paid');
    assert.match(stdout, /^entry_id,posting_id,/);
    assert.equal(stdout.trimEnd().split('\r\n').length, 1 + data.length);
    assert.equal((await runIn(on, 'ledger', 'export', '--session-id', 'pay_1')).code, 1);
  });
});

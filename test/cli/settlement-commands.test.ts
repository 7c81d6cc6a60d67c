import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { attempt, createSession } from '../simulator/buyer.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { runIn, runWith } from './terminal.ts';

let on: TestService;
before(async () => {
  on = await startTestService();
});
after(() => on[Symbol.asyncDispose]());

describe('tillway discrepancies resolve', () => {
  it('`tillway discrepancies resolve` shows that a discrepancy stays open until its refund succeeds, and explains in its help the effect of accepting', async () => {
    const session = await createSession(on, { customer: 'short@example.com' });
    await attempt(on, session, 'card', 'wrong_amount');
    await on.pass(0);
    const listed = await runIn(on, 'discrepancies', 'list', '--session-id', session, '--json');
    const [{ id }] = (JSON.parse(listed.stdout) as { data: [{ id: string }] }).data;
    assert.match((await runIn(on, 'discrepancies', 'list', '--session-id', session, '--all')).stdout, new RegExp(id));
    const { stdout } = await runIn(on, 'discrepancies', 'resolve', id, '--action', 'refund');
    assert.match(stdout, /^Status +open until refund ref_\w+ has succeeded$/m);
    await on.pass(60_000);
    assert.match((await runIn(on, 'discrepancies', 'get', id)).stdout, /^Status +resolved$/m);
    const help = (await runIn(on, 'discrepancies', 'resolve', '--help')).stdout.replaceAll(/\s+/g, ' ');
    assert.match(help, /payment\.paid is sent, and the merchant bears the difference/);
  });
});

describe('tillway settlements', () => {
  it('`tillway settlements record` reports that the payment was recorded before with another reference', async () => {
    const session = await createSession(on, { customer: 'paid@example.com' });
    await attempt(on, session, 'card', 'paid');
    await on.pass(0);
    const record = async (reference: string) =>
      (await runIn(on, 'settlements', 'record', session, '--reference', reference)).stdout;
    assert.match(await record('PO-1'), /^Payment/);
    assert.match(await record('PO-1'), /^Payment/);
    assert.match(
      await record('PO-2'),
      /^Already settled with another reference; PO-2 was not recorded\.\nPayment[^]+^Reference +PO-1$/m,
    );
  });

  const importCsv = (csv: string) =>
    runWith({ url: on.url, readInput: () => Promise.resolve(Buffer.from(csv)) }, 'settlements import -');

  it('`tillway settlements import` prints column names without control characters', async () => {
    const { stdout } = await importCsv('reference,amount,currency,"n\u001B]0;x\u0007o\nte\u202E"\nsp_gone,1,USD,y\n');
    assert.match(stdout, /^Ignored columns: n ]0;x o te $/m);
  });
});

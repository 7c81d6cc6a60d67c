// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Settlement, SettlementImport } from '../../sdk/src/index.ts';
import { abandonCheckout } from '../../src/domain/checkout.ts';
import type { Payment } from '../../src/domain/records.ts';
import { commitDecision } from '../../src/operations/commit-decision.ts';
import { applyRefundAnswer } from '../../src/operations/refunds/apply-refund-report.ts';
import { attempt, createSession, replaceProvider, start } from '../simulator/buyer.ts';
import { booksOf, gatewayOf, paymentsOf, pick } from '../support/gateway.ts';
import { providerSays } from '../support/money-arrives.ts';
import { refusal, refused } from '../support/refusal.ts';
import { call, startTestService } from '../support/service.ts';
import { suiteService } from '../support/suite.ts';
import { applySandboxSignal, settlementSignal } from '../fixtures/provider-reports.ts';

const DELAY_MS = 3_600_000;
const PAID_OUT = 48.54;

const on = suiteService({ sound: true, variables: { SANDBOX_SETTLEMENT_DELAY: String(DELAY_MS / 1000) } });
const api = gatewayOf(on);

async function pay(status: 'paid' | 'provider_pending' = 'paid'): Promise<{ sessionId: string; paymentId: string }> {
  const sessionId = await createSession(on);
  await providerSays(on, sessionId, status);
  const [payment] = await paymentsOf(on, sessionId);
  return { sessionId, paymentId: payment!.id };
}

/** Pays by card on the page of the simulated provider, which settles the payment after DELAY_MS. */
async function payAtProvider(): Promise<Payment> {
  const sessionId = await createSession(on);
  await attempt(on, sessionId, 'card', 'paid');
  await on.pass(0);
  return (await paymentsOf(on, sessionId))[0]!;
}

const settle = (id: string, body: object = {}) => api.post<Settlement>(`payments/${id}/settle`, body);
const refuseToSettle = (expected: string, id: string, body: object = {}) =>
  api.refused(expected, `POST payments/${id}/settle`, body);
const refund = (id: string, body: object = {}) => api.post<{ id: string }>(`payments/${id}/refunds`, body);
const settlementOf = (id: string) => on.service.deps.store.settlement(id);
const ledgerStatusOf = async (id: string) => (await on.service.deps.store.payment(id))!.ledgerStatus;

/** The merchant's balance for a payment, in cents; negative if the merchant owes money. */
async function owed(paymentId: string): Promise<number> {
  return 0 - ((await booksOf(on, paymentId))['merchant_payable'] ?? 0);
}

describe('POST payments/{id}/settle', () => {
  test('POST payments/{id}/settle records the payout of the net amount, and returns the same settlement when repeated', async () => {
    const { paymentId, sessionId } = await pay();
    assert.equal(await owed(paymentId), 4854);
    const first = await settle(paymentId, { reference: 'PO-1', settledAt: '2026-02-28T10:00:00Z' });
    assert.deepEqual(first, {
      object: 'settlement',
      paymentId,
      sessionId,
      environment: 'sandbox',
      amount: PAID_OUT,
      currency: 'USD',
      source: 'api',
      reference: 'PO-1',
      settledAt: '2026-02-28T10:00:00.000Z',
      created: '2026-03-01T12:00:00.000Z',
    });
    assert.equal(await ledgerStatusOf(paymentId), 'settled');
    assert.equal(await owed(paymentId), 0);
    assert.deepEqual(await settle(paymentId, { reference: 'another' }), first);
    assert.deepEqual(await settle(sessionId), first);
  });

  test('POST payments/{id}/settle rejects a pending payment', async () => {
    const { paymentId } = await pay('provider_pending');
    const { message } = await refuseToSettle('409 invalid_state', paymentId);
    assert.equal(message, 'The payment is pending: only paid payments are paid out.');
  });

  test('POST payments/{id}/settle rejects an amount other than the merchant’s share, before and after the settlement', async () => {
    const { paymentId } = await pay();
    const wrong = await refuseToSettle('409 invalid_state', paymentId, { amount: 48.53 });
    assert.equal(wrong.field, 'amount');
    assert.equal(wrong.message, '48.54 USD of the payment is to be paid out, not 48.53 USD.');
    assert.equal(await ledgerStatusOf(paymentId), 'pending');
    await settle(paymentId, { amount: PAID_OUT });
    const repeated = await refuseToSettle('409 invalid_state', paymentId, { amount: 48.53 });
    assert.deepEqual([repeated.field, repeated.message], ['amount', '48.54 USD was settled before, not 48.53 USD.']);
    await settle(paymentId, { amount: PAID_OUT });
  });

  test('POST payments/{id}/settle pays out an accepted wrong amount, including 0 and more than the price', async () => {
    for (const [received, paidOut] of [
      [145, 0],
      [2_000_000, 19_998.55],
    ] as const) {
      const sessionId = await createSession(on);
      await start(on, sessionId, 'card');
      await providerSays(on, sessionId, 'paid', { amount: received });
      const [id] = await api.ids(`discrepancies?sessionId=${sessionId}`);
      await api.post(`discrepancies/${id}/resolve`, { action: 'accept' });
      await refuseToSettle('409 invalid_state', sessionId, { amount: 1 });
      assert.equal((await settle(sessionId, { amount: paidOut })).amount, paidOut);
    }
  });

  test('POST payments/{id}/settle rejects a future time, a time before 2000 and an unknown field', async () => {
    const { paymentId } = await pay();
    const early = { settledAt: '1999-12-31T23:59:59.999Z' };
    for (const body of [{ settledAt: '2026-03-01T12:00:00.001Z' }, { when: 1 }])
      await refuseToSettle('400 invalid_input', paymentId, body);
    const { message } = await refuseToSettle('400 invalid_input', paymentId, early);
    assert.equal(message, 'settledAt: is before the year 2000.');
    await settle(paymentId, { settledAt: '2000-01-01T00:00:00Z' });
  });

  test('POST payments/{id}/settle pays out the rest of a partly refunded payment, and rejects a fully refunded payment', async () => {
    const half = await pay();
    await refund(half.paymentId, { amount: 20 });
    const rest = await owed(half.paymentId);
    assert.ok(rest > 0 && rest < 4854);
    assert.equal((await settle(half.paymentId)).amount, rest / 100);
    assert.equal(await owed(half.paymentId), 0);

    const whole = await pay();
    await refund(whole.paymentId);
    const { message } = await refuseToSettle('409 invalid_state', whole.paymentId);
    assert.match(message, /nothing left to pay out/);
  });
});

describe('settlement reported by the provider', () => {
  test('a settlement report of the simulated provider is applied once, after its settlement delay', async () => {
    const { id, sessionId, ledgerStatus } = await payAtProvider();
    assert.equal(ledgerStatus, 'pending');
    await on.pass(DELAY_MS - 1);
    assert.equal(await ledgerStatusOf(id), 'pending');
    await on.pass(1);
    assert.equal(await ledgerStatusOf(id), 'settled');
    const { source, reference } = (await settlementOf(id))!;
    assert.equal(source, 'provider');
    assert.match(reference!, /^po_[0-9a-f]{24}$/);
    const messages = await on.service.deps.store.providerMessages(sessionId);
    assert.deepEqual(pick(messages, 'status', 'outcome', 'flagged'), [
      ['paid', 'applied', false],
      ['settled', 'applied', false],
    ]);
  });

  test('a settlement report about a payment that is already settled is ignored', async () => {
    const { id, sessionId } = await payAtProvider();
    await settle(id, { reference: 'by hand' });
    await on.pass(DELAY_MS);
    assert.equal((await settlementOf(id))!.reference, 'by hand');
    const messages = await on.service.deps.store.providerMessages(sessionId);
    assert.equal(messages.find(({ status }) => status === 'settled')!.outcome, 'ignored');
  });

  for (const from of ['pending', 'failed'] as const) {
    test(`a settlement report about a ${from} payment whose paid callback was lost settles the payment, which it makes paid`, async () => {
      const sessionId = await createSession(on);
      await attempt(on, sessionId, 'card', 'callback_lost');
      const { deps } = on.service;
      if (from === 'failed') await commitDecision(deps, sessionId, (checkout, now) => abandonCheckout(checkout, now));
      const [{ id: paymentId, status }] = (await paymentsOf(on, sessionId)) as [Payment];
      assert.equal(status, from);
      const signal = settlementSignal({ sessionId, paymentId, amount: 4999 });
      const unavailable = new Error('the provider does not answer');
      const { inquire } = deps.providers.get('sandbox')!;
      replaceProvider(on, { inquire: () => Promise.reject(unavailable) });
      const event = { eventId: `lost_${paymentId}` };
      await assert.rejects(applySandboxSignal(deps, signal, event), unavailable);
      replaceProvider(on, { inquire });
      assert.equal(await applySandboxSignal(deps, signal, event), 'applied');
      assert.equal(await ledgerStatusOf(paymentId), 'settled');
      assert.equal((await deps.store.session(sessionId))!.status, 'paid');
    });
  }

  for (const status of ['pending', 'succeeded'] as const) {
    test(`a settlement report about a payment with a ${status} refund is applied when that refund fails`, async () => {
      const { deps } = on.service;
      const { sessionId, paymentId } = await pay();
      const refundRecord = (await deps.store.refund((await refund(paymentId)).id))!;
      if (status === 'succeeded') await applyRefundAnswer(deps, refundRecord, { status, reason: null });
      const settledAt = Date.parse('2026-02-27');
      const signal = settlementSignal({ sessionId, paymentId, amount: 4999, reference: 'po_early', settledAt });
      const event = { eventId: `kept_${paymentId}` };
      assert.equal(await applySandboxSignal(deps, signal, event), 'refunded');
      assert.equal(await settlementOf(paymentId), undefined);
      await applyRefundAnswer(deps, refundRecord, { status: 'failed', reason: 'no account' });
      const recorded = (await settlementOf(paymentId))!;
      assert.deepEqual(
        [recorded.amount, recorded.source, await ledgerStatusOf(paymentId)],
        [4854, 'provider', 'settled'],
      );
      assert.deepEqual([recorded.reference, recorded.settledAt], ['po_early', settledAt]);
      assert.equal(await applySandboxSignal(deps, signal, event), 'duplicate');
    });
  }

  test('the simulated provider reports no settlement of a refunded charge', async () => {
    const { id, sessionId } = await payAtProvider();
    await refund(id);
    await on.pass(1000);
    await on.pass(DELAY_MS);
    assert.deepEqual(pick(await on.service.deps.store.providerMessages(sessionId), 'status'), [['paid']]);
  });
});

describe('import of a settlement file', () => {
  const HEADER = 'payment_id,amount,currency';
  const CSV = { 'content-type': 'text/csv' };
  const line = (id: string, amount = '48.54') => `${id},${amount},USD\n`;
  const file = (...lines: string[]) => `${HEADER}\n${lines.join('')}`;
  const importOf = (text: string | Uint8Array, query = '', url = on.url) =>
    ['POST', `${url}/api/gateway/settlements/import${query}`, text, CSV] as const;

  async function importFile(...args: Parameters<typeof importOf>): Promise<SettlementImport> {
    const { status, body } = await call<SettlementImport>(...importOf(...args));
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }

  test('the import of a settlement file reports every line, settles the matching payments, and changes nothing on a second import', async () => {
    const ids: string[] = [];
    for (const status of ['paid', 'paid', 'provider_pending', 'paid', 'paid'] as const)
      ids.push((await pay(status)).paymentId);
    const [matched, low, pending, refunded, settled] = ids as [string, string, string, string, string];
    await refund(refunded);
    await settle(settled);
    // Each row: line of the file | status | code | message.
    const rows = `
${matched},48.54,usd,2026-03-01,"a ""quoted"", note" | matched | | Settled.
${low},48.5,USD,, | not_matched | amount_differs | The line says 48.50 USD, and 48.54 USD is to be paid out.
${pending},48.54,USD,, | not_matched | not_paid | The payment is pending: only paid payments are paid out.
${refunded},48.54,USD,, | not_matched | refunded | The payment has been refunded or taken back, or is about to be refunded: there is nothing left to pay out.
${settled},48.54,USD,, | already_settled | | Settled before: nothing was changed.
${matched},48.54,USD,, | not_matched | duplicate_line | Line 2 already has this payment.
${low},48.54,EUR,, | not_matched | currency_differs | The line is in EUR, and the payment in USD.
pay_gone,48.54,USD,, | not_matched | unknown_payment | There is no payment "pay_gone" here.
${low},-1,USD,, | not_matched | invalid_line | amount must be dollars such as 95.10, without a sign or separators.
${low},48.54,USD,2026-02-31, | not_matched | invalid_line | settled_at must be a time such as 2026-03-01T12:00:00Z, or a date.
 | | |
,48.54,USD,, | not_matched | invalid_line | payment_id is empty, and so is reference: one of them names the payment.
${low},48.54 | not_matched | invalid_line | amount cannot be read: the line has 2 cells, and the header 5.`
      .slice(1)
      .split('\n')
      .map((row, index) => [...row.split('|').map((cell) => cell.trim()), index + 2] as const);
    const text = ['Payment_ID,amount,currency,settled_at,bank note', ...rows.map(([row]) => row)].join('\r\n');
    const report = await importFile(text);
    assert.deepEqual(
      pick(report.entries, 'line', 'status', 'code', 'message'),
      // The import skips the empty line, but the line numbers count it.
      rows
        .filter(([row]) => row !== '')
        .map(([, status, code, message, line]) => [line, status, code || null, message]),
    );
    assert.deepEqual(report.matched, { lines: 1, amount: 48.54 });
    assert.deepEqual(report.alreadySettled, { lines: 1, amount: 48.54 });
    assert.equal(report.notMatched.lines, 10);
    assert.deepEqual(report.ignoredColumns, ['bank note']);
    assert.equal(report.message, '1 of 12 lines settled, 1 settled before, 10 not matched.');
    assert.equal(await ledgerStatusOf(matched), 'settled');
    assert.equal(await ledgerStatusOf(low), 'pending');
    const { settledAt, source } = (await settlementOf(matched))!;
    assert.deepEqual([settledAt, source], [Date.parse('2026-03-01'), 'file']);
    const { message } = await importFile(text);
    assert.equal(message, '0 of 12 lines settled, 2 settled before, 10 not matched, nothing was changed.');
  });

  test('a dry run of a settlement import reports the same result and settles nothing', async () => {
    const { paymentId } = await pay();
    const { dryRun, message, entries } = await importFile(file(line(paymentId)), '?dryRun=true');
    assert.deepEqual([dryRun, message], [true, '1 of 1 lines would be settled, nothing was changed.']);
    assert.equal(entries[0]!.status, 'matched');
    assert.equal(await ledgerStatusOf(paymentId), 'pending');
    assert.equal((await importFile(file(line(paymentId)))).message, '1 of 1 lines settled.');
  });

  test("the cost in a settlement file replaces the estimate of the provider's charge, unless it is more than the buyer paid", async () => {
    const ids = await Promise.all(Array.from({ length: 4 }, async () => (await pay()).paymentId));
    const lines = ids.map((id, index) => `${id},48.54,USD,${['2.5', '0', '50.00', '-1'][index]}\n`);
    const { entries } = await importFile(`${HEADER},cost\n${lines.join('')}`);
    assert.deepEqual(pick(entries, 'code', 'message'), [
      [null, 'Settled.'],
      [null, 'Settled.'],
      ['cost_too_high', 'The cost is 50.00 USD, and the buyer paid only 49.99 USD.'],
      ['invalid_line', 'cost must be dollars such as 95.10, without a sign or separators.'],
    ]);
    const { paymentId: pending } = await pay('provider_pending');
    const { entries: early } = await importFile(`${HEADER},cost\n${pending},48.54,USD,50.00\n`);
    assert.deepEqual(pick(early, 'code'), [['not_paid']]);
    const { providerCost: estimate } = (await on.service.deps.store.payment(ids[0]!))!;
    const costs = ids.map(async (id) => [(await on.service.deps.store.payment(id))!.actualCost, await booksOf(on, id)]);
    assert.deepEqual(
      (await Promise.all(costs)).map(([actual, books]) => [
        actual,
        (books as Record<string, number>)['provider_cost'] ?? 0,
      ]),
      [
        [250, 250],
        [0, 0],
        [null, estimate],
        [null, estimate],
      ],
    );
  });

  test('the import of a settlement file finds payments by their provider reference', async () => {
    const { id, providerReference } = await payAtProvider();
    const find = async (reference: string) =>
      (await importFile(`reference,amount,currency\n${line(reference)}`)).entries[0]!;
    assert.equal((await find('sp_gone')).code, 'unknown_payment');
    const { status, paymentId } = await find(providerReference!);
    assert.deepEqual([status, paymentId], ['matched', id]);
    const { entries } = await importFile(`payment_id,reference,amount,currency\n${id},${line('sp_other')}`);
    assert.equal(entries[0]!.code, 'reference_differs');
  });

  test('the import of a settlement file of another environment settles nothing', async () => {
    const { paymentId } = await pay();
    const { entries } = await importFile(file(line(paymentId)), '?environment=production');
    const message = 'The payment is of sandbox, and the file of production.';
    assert.deepEqual(pick(entries, 'code', 'message'), [['other_environment', message]]);
    assert.equal(await ledgerStatusOf(paymentId), 'pending');
  });

  test('the import of a settlement file rejects a file that is not a settlement CSV, and names the fault', async () => {
    const faults: [string | Uint8Array, RegExp][] = [
      ['', /The file is empty/],
      ['amount,currency\n1,USD\n', /neither payment_id nor reference/],
      ['payment_id\nx\n', /lacks amount and currency/],
      ['payment_id,amount,amount,currency\n', /The column amount appears twice/],
      [file(), /a header and no line/],
      [file('"x,1,USD\n'), /is not CSV: Quote Not Closed: .+ an opening quote/],
      [new Uint8Array([0xff, 0xfe]), /not UTF-8/],
      [file('pay\0,1,USD\n'), /NUL/],
    ];
    for (const [text, message] of faults)
      assert.match((await refused([400, 'invalid_input'], ...importOf(text))).message, message);
    const [method, url] = importOf('');
    await refused([415, 'unsupported_media_type'], method, url, '{}', { 'content-type': 'application/json' });
  });

  test('a settlement file may have at most 10000 lines and 1 MiB', async () => {
    const lines = (count: number) => file(line('pay_gone', '1').repeat(count));
    assert.equal((await importFile(lines(10_000), '?dryRun=true')).notMatched.lines, 10_000);
    const { message } = await refused([400, 'invalid_input'], ...importOf(lines(10_001)));
    assert.match(message, /10001 lines, and 10000 is the limit/);
    const padded = (size: number) => lines(1).padEnd(size, '\n');
    await importFile(padded(1_048_576));
    const tooLarge = await refusal([413, 'payload_too_large'], ...importOf(padded(1_048_577)));
    assert.equal(tooLarge.body.error.message, 'The file is larger than 1 MiB.');
  });

  test('the import of a settlement file settles each payment once if two instances import the same file simultaneously', async () => {
    await using other = await startTestService({ beside: on });
    const paid = await Promise.all(Array.from({ length: 12 }, () => pay()));
    const text = file(...paid.map(({ paymentId }) => line(paymentId)));
    const reports = await Promise.all([on, other, on, other].map(({ url }) => importFile(text, '', url)));
    const sum = (of: 'matched' | 'alreadySettled') => reports.reduce((lines, report) => lines + report[of].lines, 0);
    assert.deepEqual([sum('matched'), sum('alreadySettled')], [12, 36]);
    for (const { paymentId } of paid) assert.equal(await owed(paymentId), 0);
  });

  test('the import of a settlement file does not match a payment that was settled with another amount', async () => {
    const { paymentId } = await pay();
    await settle(paymentId);
    const { entries } = await importFile(file(line(paymentId, '1')));
    assert.equal(entries[0]!.message, 'The line says 1.00 USD, and 48.54 USD was settled before.');
  });
});

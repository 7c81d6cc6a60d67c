// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { applyRefundAnswer } from '../../src/operations/refunds/apply-refund-report.ts';
import { applySettlementMessage, settlePayment } from '../../src/operations/settlement/settle-payment.ts';
import { attempt, createSession, start } from '../simulator/buyer.ts';
import { settingsOf } from '../support/database.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, call, startTestService } from '../support/service.ts';
import { brokenInvariants } from '../support/sound.ts';

const DELAY_MS = 3_600_000;
const PAID_OUT = 48.54;

interface Line {
  line: number;
  status: string;
  paymentId: string | null;
  reference: string | null;
  amount: number | null;
  code: string | null;
  message: string;
}

interface Report {
  dryRun: boolean;
  message: string;
  matched: { lines: number; amount: number };
  alreadySettled: { lines: number; amount: number };
  notMatched: { lines: number; amount: number };
  ignoredColumns: string[];
  entries: Line[];
}

let on: TestService;

before(async () => {
  on = await startTestService({ variables: { SANDBOX_SETTLEMENT_DELAY: String(DELAY_MS / 1000) } });
});
after(async () => {
  assert.deepEqual(await brokenInvariants(settingsOf(on.databaseUrl)), []);
  await on[Symbol.asyncDispose]();
});

async function pay(status: 'paid' | 'provider_pending' = 'paid'): Promise<{ sessionId: string; paymentId: string }> {
  const sessionId = await createSession(on);
  await providerSays(on, sessionId, status);
  const { payments } = (await on.service.deps.store.checkout(sessionId))!;
  return { sessionId, paymentId: payments[0]!.id };
}

function settle(paymentId: string, body: unknown = {}) {
  return call<Record<string, unknown> & { error: { code: string; message: string; field?: string } }>(
    'POST',
    `${on.url}/api/gateway/payments/${paymentId}/settle`,
    body,
  );
}

async function importFile(text: string | Uint8Array, query = '', type = 'text/csv') {
  const headers = { 'content-type': type };
  return call<Report & { error: { code: string; message: string } }>(
    'POST',
    `${on.url}/api/gateway/settlements/import${query}`,
    text,
    headers,
  );
}

async function booksOf(paymentId: string): Promise<Record<string, number>> {
  const books: Record<string, number> = {};
  for (const { account, amount } of await on.service.deps.store.ledgerOfPayment(paymentId))
    books[account] = (books[account] ?? 0) + amount;
  return books;
}

async function ledgerStatusOf(paymentId: string): Promise<string> {
  return (await on.service.deps.store.payment(paymentId))!.ledgerStatus;
}

async function refund(paymentId: string, body: unknown = {}) {
  const answer = await call('POST', `${on.url}/api/gateway/payments/${paymentId}/refunds`, body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
}

describe('settlement by the API', () => {
  test('pays out the net once, and answers the same settlement again', async () => {
    const { paymentId, sessionId } = await pay();
    const first = await settle(paymentId, { reference: 'PO-1', settledAt: '2026-02-28T10:00:00Z' });
    assert.equal(first.status, 200);
    assert.deepEqual(first.body, {
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
    assert.equal((await booksOf(paymentId))['merchant_payable'], 0);
    assert.deepEqual((await settle(paymentId, { reference: 'another' })).body, first.body);
    assert.deepEqual((await settle(sessionId)).body, first.body);
  });

  test('twenty at once settle once', async () => {
    const { paymentId } = await pay();
    const answers = await Promise.all(Array.from({ length: 20 }, () => settle(paymentId)));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    const settled = (await on.service.deps.store.ledgerOfPayment(paymentId)).filter(({ kind }) => kind === 'settled');
    assert.equal(settled.length, 2);
  });

  test('what is not paid is refused', async () => {
    const { paymentId } = await pay('provider_pending');
    const { status, body } = await settle(paymentId);
    assert.deepEqual([status, body.error.code], [409, 'invalid_state']);
    assert.equal(body.error.message, 'The payment is pending: only one that is paid is paid out.');
  });

  test('an amount that is not what is left is refused, and the very amount taken', async () => {
    const { paymentId } = await pay();
    const wrong = await settle(paymentId, { amount: 48.53 });
    assert.deepEqual([wrong.status, wrong.body.error.field], [409, 'amount']);
    assert.equal(wrong.body.error.message, '48.54 USD of the payment is to be paid out, not 48.53 USD.');
    assert.equal(await ledgerStatusOf(paymentId), 'pending');
    assert.equal((await settle(paymentId, { amount: PAID_OUT })).status, 200);
    const other = await settle(paymentId, { amount: 48.53 });
    assert.deepEqual([other.status, other.body.error.field], [409, 'amount']);
    assert.equal(other.body.error.message, '48.54 USD was settled before, not 48.53 USD.');
    assert.equal((await settle(paymentId, { amount: PAID_OUT })).status, 200);
  });

  test('the very amount is taken of money that was accepted, be it nothing or more than a session asks for', async () => {
    for (const [came, paidOut] of [
      [145, 0],
      [2_000_000, 19_998.55],
    ] as const) {
      const sessionId = await createSession(on);
      await start(on, sessionId, 'card');
      await providerSays(on, sessionId, 'paid', { amount: came });
      const { items } = await on.service.deps.store.listDiscrepancies({ sessionId }, { limit: 1 });
      const path = `${on.url}/api/gateway/discrepancies/${items[0]!.id}/resolve`;
      assert.equal((await call('POST', path, { action: 'accept' })).status, 200);
      assert.equal((await settle(sessionId, { amount: 1 })).status, 409);
      assert.equal((await settle(sessionId, { amount: paidOut })).body['amount'], paidOut);
    }
  });

  test('a time that has not come, a foreign field and an unknown payment are refused', async () => {
    const { paymentId } = await pay();
    assert.equal((await settle(paymentId, { settledAt: '2026-03-01T12:00:00.001Z' })).status, 400);
    const early = await settle(paymentId, { settledAt: '1999-12-31T23:59:59.999Z' });
    assert.deepEqual([early.status, early.body.error.message], [400, 'settledAt: is before the year 2000']);
    assert.equal((await settle(paymentId, { when: 1 })).status, 400);
    assert.equal((await settle(paymentId, { settledAt: '2000-01-01T00:00:00Z' })).status, 200);
    assert.equal((await settle('pay_01m7x0e9zb4c7r2k5v8q1w3n6t0y9f2d4h7j')).status, 404);
  });

  test('of a partly refunded payment what is left is paid out; of a fully refunded one nothing', async () => {
    const half = await pay();
    await refund(half.paymentId, { amount: 20 });
    const left = -(await booksOf(half.paymentId))['merchant_payable']!;
    assert.ok(left > 0 && left < 4854);
    assert.equal((await settle(half.paymentId)).body['amount'], left / 100);
    assert.equal((await booksOf(half.paymentId))['merchant_payable'], 0);

    const whole = await pay();
    await refund(whole.paymentId);
    const { status, body } = await settle(whole.paymentId);
    assert.equal(status, 409);
    assert.match(body.error.message, /has been refunded, or is about to be/);
  });

  test('a refund after the payout leaves the merchant in debt', async () => {
    const { paymentId } = await pay();
    await settle(paymentId);
    await refund(paymentId);
    assert.equal((await booksOf(paymentId))['merchant_payable'], 4854);
  });
});

describe('settlement by the provider', () => {
  test('the simulated provider settles after its delay, once', async () => {
    const sessionId = await createSession(on);
    await attempt(on, sessionId, 'card', 'paid');
    await on.pass(0);
    const [payment] = (await on.service.deps.store.checkout(sessionId))!.payments;
    assert.equal(payment!.ledgerStatus, 'pending');
    await on.pass(DELAY_MS - 1);
    assert.equal(await ledgerStatusOf(payment!.id), 'pending');
    await on.pass(1);
    assert.equal(await ledgerStatusOf(payment!.id), 'settled');
    const settlement = (await on.service.deps.store.settlement(payment!.id))!;
    assert.equal(settlement.source, 'provider');
    assert.match(settlement.reference!, /^po_[0-9a-f]{24}$/);
    const messages = await on.service.deps.store.providerMessages(sessionId);
    assert.deepEqual(
      messages.map(({ status, outcome, flagged }) => [status, outcome, flagged]),
      [
        ['paid', 'applied', false],
        ['settled', 'applied', false],
      ],
    );
  });

  test('what was settled by hand before, its word leaves as it is', async () => {
    const sessionId = await createSession(on);
    await attempt(on, sessionId, 'card', 'paid');
    await on.pass(0);
    const [payment] = (await on.service.deps.store.checkout(sessionId))!.payments;
    await settle(payment!.id, { reference: 'by hand' });
    await on.pass(DELAY_MS);
    assert.equal((await on.service.deps.store.settlement(payment!.id))!.reference, 'by hand');
    const messages = await on.service.deps.store.providerMessages(sessionId);
    assert.equal(messages.find(({ status }) => status === 'settled')!.outcome, 'ignored');
  });

  test('said while all of the payment is on its way back, it counts once that refund has failed', async () => {
    const { deps } = on.service;
    for (const [succeeds, order] of [
      [false, 'told first'],
      [true, 'succeeded, told, and come back late'],
    ] as const) {
      const { sessionId, paymentId } = await pay();
      const path = `${on.url}/api/gateway/payments/${paymentId}/refunds`;
      const { id } = (await call<{ id: string }>('POST', path, {})).body;
      const refund = (await deps.store.refund(id))!;
      if (succeeds) await applyRefundAnswer(deps, refund, { status: 'succeeded', reason: null });
      const event = { event: `kept_${paymentId}`, order: sessionId, charge: paymentId, amount: 4999, currency: 'USD' };
      const created = Date.parse('2026-02-27') / 1000;
      const body = JSON.stringify({ ...event, type: 'charge.settled', payout: 'po_kept', created });
      const signal = deps.providers.get('sandbox')!.readStored(body);
      assert(signal.about === 'settlement');
      const message = { provider: 'sandbox', environment: 'sandbox', callback: signal.callback, body } as const;
      const told = () => applySettlementMessage(deps, message);
      assert.equal(await told(), 'refunded', order);
      assert.equal(await deps.store.settlement(paymentId), undefined);
      await applyRefundAnswer(deps, refund, { status: 'failed', reason: 'no account' });
      const { amount, source, reference, settledAt } = (await deps.store.settlement(paymentId))!;
      assert.deepEqual([amount, source, await ledgerStatusOf(paymentId)], [4854, 'provider', 'settled'], order);
      assert.deepEqual([reference, settledAt], ['po_kept', created * 1000]);
      assert.equal(await told(), 'duplicate');
    }
  });

  test('a charge that was given back is not settled', async () => {
    const sessionId = await createSession(on);
    await attempt(on, sessionId, 'card', 'paid');
    await on.pass(0);
    const [payment] = (await on.service.deps.store.checkout(sessionId))!.payments;
    await refund(payment!.id);
    await on.pass(1000);
    await on.pass(DELAY_MS);
    const messages = await on.service.deps.store.providerMessages(sessionId);
    assert.deepEqual(
      messages.map(({ status }) => status),
      ['paid'],
    );
  });
});

describe('settlement by a file', () => {
  const HEADER = 'payment_id,amount,currency';

  test('reports every line, records those that match, and says of the same file again that nothing was changed', async () => {
    const [matched, low, pending, refunded, settled] = [
      await pay(),
      await pay(),
      await pay('provider_pending'),
      await pay(),
      await pay(),
    ];
    await refund(refunded.paymentId);
    await settle(settled.paymentId);
    const file = [
      'Payment_ID,amount,currency,settled_at,bank note',
      `${matched.paymentId},48.54,usd,2026-03-01,"a ""quoted"", note"`,
      `${low.paymentId},48.5,USD,,`,
      `${pending.paymentId},48.54,USD,,`,
      `${refunded.paymentId},48.54,USD,,`,
      `${settled.paymentId},48.54,USD,,`,
      `${matched.paymentId},48.54,USD,,`,
      `${low.paymentId},48.54,EUR,,`,
      'pay_gone,48.54,USD,,',
      `${low.paymentId},-1,USD,,`,
      `${low.paymentId},48.54,USD,2026-02-31,`,
      '',
      ',48.54,USD,,',
      `${low.paymentId},48.54`,
    ].join('\r\n');
    const { status, body } = await importFile(file);
    assert.equal(status, 200);
    assert.deepEqual(
      body.entries.map((entry) => [entry.line, entry.status, entry.code, entry.message]),
      [
        [2, 'matched', null, 'Settled.'],
        [3, 'not_matched', 'amount_differs', 'The line says 48.50 USD, and 48.54 USD is to be paid out.'],
        [4, 'not_matched', 'not_paid', 'The payment is pending: only one that is paid is paid out.'],
        [
          5,
          'not_matched',
          'refunded',
          'The payment has been refunded, or is about to be: there is nothing left to pay out.',
        ],
        [6, 'already_settled', null, 'Settled before: nothing was changed.'],
        [7, 'not_matched', 'duplicate_line', 'The payment stands in line 2 already.'],
        [8, 'not_matched', 'currency_differs', 'The line is in EUR, and the payment in USD.'],
        [9, 'not_matched', 'unknown_payment', 'There is no payment "pay_gone" here.'],
        [10, 'not_matched', 'invalid_line', 'amount must be dollars such as 95.10, without a sign or separators.'],
        [11, 'not_matched', 'invalid_line', 'settled_at must be a time such as 2026-03-01T12:00:00Z, or a date.'],
        [13, 'not_matched', 'invalid_line', 'payment_id is empty, and so is reference: one of them names the payment.'],
        [14, 'not_matched', 'invalid_line', 'amount cannot be told: the line has 2 cells, and the header 5.'],
      ],
    );
    assert.deepEqual(body.matched, { lines: 1, amount: 48.54 });
    assert.deepEqual(body.alreadySettled, { lines: 1, amount: 48.54 });
    assert.equal(body.notMatched.lines, 10);
    assert.deepEqual(body.ignoredColumns, ['bank note']);
    assert.equal(body.message, '1 of 12 lines settled, 1 settled before, 10 not matched.');
    assert.equal(await ledgerStatusOf(matched.paymentId), 'settled');
    assert.equal(await ledgerStatusOf(low.paymentId), 'pending');
    const { settledAt, source } = (await on.service.deps.store.settlement(matched.paymentId))!;
    assert.deepEqual([settledAt, source], [Date.parse('2026-03-01'), 'file']);

    const again = (await importFile(file)).body;
    assert.equal(again.message, '0 of 12 lines settled, 2 settled before, 10 not matched, nothing was changed.');
  });

  test('a dry run says the same and records nothing', async () => {
    const { paymentId } = await pay();
    const file = `${HEADER}\n${paymentId},48.54,USD\n`;
    const { body } = await importFile(file, '?dryRun=true');
    assert.deepEqual(
      [body.dryRun, body.message, body.entries[0]!.status],
      [true, '1 of 1 lines would be settled, nothing was changed.', 'matched'],
    );
    assert.equal(await ledgerStatusOf(paymentId), 'pending');
    assert.equal((await importFile(file)).body.message, '1 of 1 lines settled.');
  });

  test('the import counts lines whatever ends them, in quotes too', async () => {
    const mixed = ['\r\n', '\n', '\r\n'];
    for (const [header, ends, within] of [
      ['\n', mixed, '\r\n'],
      ['\r\n', mixed, '\n'],
      ['\r', ['\r', '\r', '\r'], '\r'],
    ] as const) {
      const rows = ends.flatMap((end, index) => [
        `a${index},1,USD,${within === '\r' ? '' : 'one\rcell'}${end}`,
        `b${index},1,USD,"two${within}lines${within}more${within}and ""more"""${end}`,
        `"c${within}${index}",1,USD,${end}`,
      ]);
      const { entries } = (await importFile(`reference,amount,currency,note${header}${rows.join('')}`)).body;
      assert.deepEqual(
        entries.map(({ line, reference }) => [line, reference]),
        [0, 1, 2].flatMap((index) => [
          [2 + index * 7, `a${index}`],
          [6 + index * 7, `b${index}`],
          [8 + index * 7, `c\n${index}`],
        ]),
        JSON.stringify(header),
      );
    }
  });

  test('finds payments by the reference of the provider', async () => {
    const sessionId = await createSession(on);
    await attempt(on, sessionId, 'card', 'paid');
    await on.pass(0);
    const [payment] = (await on.service.deps.store.checkout(sessionId))!.payments;
    const file = (reference: string) => `reference,amount,currency\n${reference},48.54,USD\n`;
    assert.equal((await importFile(file('sp_gone'))).body.entries[0]!.code, 'unknown_payment');
    const { body } = await importFile(file(payment!.providerReference!));
    assert.deepEqual([body.entries[0]!.status, body.entries[0]!.paymentId], ['matched', payment!.id]);
    const both = `payment_id,reference,amount,currency\n${payment!.id},sp_other,48.54,USD\n`;
    assert.equal((await importFile(both)).body.entries[0]!.code, 'reference_differs');
  });

  test('a file of the other environment settles nothing', async () => {
    const { paymentId } = await pay();
    const { body } = await importFile(`${HEADER}\n${paymentId},48.54,USD\n`, '?environment=production');
    assert.deepEqual(
      [body.entries[0]!.code, body.entries[0]!.message],
      ['other_environment', 'The payment is of sandbox, and the file of production.'],
    );
    assert.equal(await ledgerStatusOf(paymentId), 'pending');
  });

  test('what is no such file is refused, with what is wrong', async () => {
    const refusals: [string | Uint8Array, RegExp][] = [
      ['', /The file is empty/],
      ['amount,currency\n1,USD\n', /neither payment_id nor reference/],
      ['payment_id\nx\n', /lacks amount and currency/],
      ['payment_id,amount,amount,currency\n', /The column amount is there twice/],
      [`${HEADER}\n`, /a header and no line/],
      [
        `${HEADER}\n"x,1,USD\n`,
        /is not CSV: Quote Not Closed: .+ an opening quote, in the cell that begins on line 2\.$/,
      ],
      [`${HEADER}\r\n"a\r\nx",1,"USD\r\n`, /in the cell that begins on line 3\.$/],
      [`${HEADER}\n\n\nx,1,USD\n\n"y"z,1,USD\n`, /Invalid Closing Quote: got "z" instead .+ begins on line 6\.$/],
      [`${HEADER}\rx,1,USD\ry"z,1,USD\r`, /Invalid Opening Quote: .+ begins on line 3\.$/],
      [new Uint8Array([0xff, 0xfe]), /not UTF-8/],
      [`${HEADER}\npay\0,1,USD\n`, /NUL/],
      [`${HEADER}${',x'.repeat(98)}\n`, /The header has 101 columns, and 100 are read/],
      [`${HEADER}${',x'.repeat(97)}\n`, /a header and no line/],
    ];
    for (const [file, message] of refusals) {
      const { status, body } = await importFile(file);
      assert.deepEqual([status, body.error.code], [400, 'invalid_input']);
      assert.match(body.error.message, message);
    }
    assert.equal((await importFile('{}', '', 'application/json')).status, 415);
  });

  test('takes 10000 lines and 1 MiB, and no more', async () => {
    const lines = (count: number) => `${HEADER}\n${'pay_gone,1,USD\n'.repeat(count)}`;
    const most = await importFile(lines(10_000), '?dryRun=true');
    assert.equal(most.body.notMatched.lines, 10_000);
    assert.match((await importFile(lines(10_001))).body.error.message, /10001 lines, and 10000 are taken at once/);
    const bytes = 1_048_576;
    const padded = (size: number) =>
      `${HEADER}\npay_gone,1,USD\n${'\n'.repeat(size - `${HEADER}\npay_gone,1,USD\n`.length)}`;
    assert.equal((await importFile(padded(bytes))).status, 200);
    const { status, body } = await importFile(padded(bytes + 1));
    assert.deepEqual([status, body.error.message], [413, 'The file is larger than 1 MiB.']);
  });

  test('two instances that import the same file at once settle each payment once', async () => {
    await using other = await startTestService({ beside: on });
    const paid = await Promise.all(Array.from({ length: 12 }, () => pay()));
    const file = `${HEADER}\n${paid.map(({ paymentId }) => `${paymentId},48.54,USD\n`).join('')}`;
    const send = (url: string) =>
      call<Report>('POST', `${url}/api/gateway/settlements/import`, file, { 'content-type': 'text/csv' });
    const reports = await Promise.all([on.url, other.url, on.url, other.url].map(send));
    const matched = reports.reduce((sum, { body }) => sum + body.matched.lines, 0);
    assert.equal(matched, 12);
    assert.equal(
      reports.reduce((sum, { body }) => sum + body.alreadySettled.lines, 0),
      36,
    );
    for (const { paymentId } of paid) assert.equal((await booksOf(paymentId))['merchant_payable'], 0);
  });

  test('settled with another amount before, a line differs', async () => {
    const { paymentId, sessionId } = await pay();
    const told = { source: 'api', amount: null, reference: null, settledAt: null } as const;
    await settlePayment(on.service.deps, { id: paymentId, sessionId }, told);
    const { body } = await importFile(`${HEADER}\n${paymentId},1,USD\n`);
    assert.equal(body.entries[0]!.message, 'The line says 1.00 USD, and 48.54 USD was settled before.');
  });
});

// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LedgerBalances, SettlementImport } from '../../sdk/src/index.ts';
import { adyenSettings } from '../../src/providers/adyen-settings.ts';
import { createAdyenSettlementFile } from '../../src/providers/adyen-settlement.ts';
import { NOW, idOf } from '../fixtures/checkout-records.ts';
import { pick } from '../support/gateway.ts';
import { call } from '../support/service.ts';
import { type AdyenStage, stageOfSuite } from './adyen-stage.ts';

async function importReport({ tillway }: AdyenStage, text: string, query = ''): Promise<SettlementImport> {
  const url = `${tillway.url}/api/gateway/settlements/import${query}`;
  const { status, body } = await call<SettlementImport>('POST', url, text, { 'content-type': 'text/csv' });
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

async function balanceOf({ api }: AdyenStage, name: string): Promise<number> {
  const { environments } = await api.get<LedgerBalances>('ledger/balances?environment=sandbox');
  return Math.round((environments[0]!.accounts.find(({ account }) => account === name)?.balance ?? 0) * 100);
}

describe("the import of Adyen's Settlement details report", () => {
  const stageOf = stageOfSuite();

  test('a report settles payments with their actual cost, refunds and disputes, and a second import changes nothing', async () => {
    const stage = stageOf();
    const { adyen, api } = stage;
    adyen.rates['ach'] = 0.01;
    const sale = await stage.sell();
    const refunded = await stage.sell();
    const disputed = await stage.sell();
    await api.post(`payments/${refunded.paymentId}/refunds`, { amount: 20 });
    await stage.pass();
    adyen.finishRefund([...adyen.refunds.keys()].at(-1)!);
    adyen.chargeBack(adyen.openDispute(disputed.charge));
    await stage.pass();
    const due = adyen.balance();
    const report = adyen.payOut();

    const dry = await importReport(stage, report, '?dryRun=true');
    assert.deepEqual([dry.matched.lines, dry.notMatched.lines], [5, 0]);
    assert.equal(await balanceOf(stage, 'operator_cash'), 0);
    const first = await importReport(stage, report);
    // The lines of fees and of the payout itself name no payment.
    assert.deepEqual([first.matched.lines, first.notMatched.lines, first.entries.length], [5, 0, 5]);
    assert.equal(Math.round(first.matched.amount * 100), due);
    const { ledgerStatus, actualCost } = await stage.payment(sale);
    assert.deepEqual([ledgerStatus, actualCost], ['settled', 50]);
    assert.equal(await balanceOf(stage, 'provider_clearing'), 0);
    await stage.assertBooks();

    const second = await importReport(stage, report);
    assert.deepEqual([second.matched.lines, second.alreadySettled.lines, second.notMatched.lines], [0, 5, 0]);
    assert.equal(await balanceOf(stage, 'provider_clearing'), 0);
    const again = await importReport(stage, report, '?dryRun=true');
    assert.equal(again.alreadySettled.lines, 5);
    // The same line with another amount is for a person to look at.
    const changed = await importReport(stage, report.replace(/(USD,,49\.99,1,USD,,)49\.49/, '$149.48'));
    assert.deepEqual(
      pick(
        changed.entries.filter(({ status }) => status === 'not_matched'),
        'code',
      ),
      [['amount_differs']],
    );
    await stage.assertBooks();
  });

  test('lines that match no paid payment of the account are reported and change nothing', async () => {
    const stage = stageOf();
    const { adyen } = stage;
    const sale = await stage.sell();
    adyen.sendingOf = () => ({ times: 0, delayMs: 0 });
    const unpaid = await stage.start();
    adyen.pay(unpaid.link);
    const report = adyen.payOut();
    const [header, paid, lost] = report.split('\r\n') as [string, string, string];
    const other = [
      lost,
      paid.replace('TestMerchant', 'OtherMerchant'),
      paid.replace(sale.paymentId, 'order-7').replace(sale.charge.psp, 'PSPofAnother'),
      paid.replace(sale.charge.psp, 'PSPofAnother'),
      paid.replaceAll(',USD,', ',EUR,'),
      paid.replace(',49.99,', ',59.99,'),
      paid.replace(',49.99,', ',many,'),
      paid.replace(',Settled,', ',PaidOut,'),
      'too,short',
    ];
    const before = await balanceOf(stage, 'operator_cash');
    const { entries, matched } = await importReport(stage, [header, ...other].join('\n'));
    assert.equal(matched.lines, 0);
    assert.deepEqual(
      pick(entries, 'code'),
      [
        'not_paid',
        'invalid_line',
        'unknown_payment',
        'reference_differs',
        'currency_differs',
        'amount_differs',
        'invalid_line',
        'invalid_line',
      ].map((code) => [code]),
    );
    assert.equal(await balanceOf(stage, 'operator_cash'), before);
    // A file for the other environment does not touch the payments of this one, and its columns are unknown there.
    const url = `${stage.tillway.url}/api/gateway/settlements/import?environment=production`;
    assert.equal((await call('POST', url, report, { 'content-type': 'text/csv' })).status, 400);

    const right = await importReport(stage, `${header.toUpperCase()}\n${paid}\n${paid}`);
    assert.deepEqual([right.matched.lines, right.alreadySettled.lines], [1, 1]);
    assert.equal((await stage.payment(sale)).ledgerStatus, 'settled');
  });

  test('the fee of a chargeback leaves the balance of the provider, and stays visible there', async () => {
    const stage = stageOf();
    const { adyen } = stage;
    const sale = await stage.sell();
    adyen.chargeBack(adyen.openDispute(sale.charge), { fee: 1500 });
    await stage.pass();
    assert.equal((await importReport(stage, adyen.payOut())).notMatched.lines, 0);
    assert.equal(await balanceOf(stage, 'provider_clearing'), 1500);
  });
});

describe("the reader of Adyen's Settlement details report", () => {
  const settings = adyenSettings.parse({
    apiKey: 'k'.repeat(20),
    merchantAccount: 'TestMerchant',
    hmacKeys: ['ab'.repeat(32)],
  });
  const { read } = createAdyenSettlementFile(settings, () => NOW);
  const cells = {
    'merchant account': 'TestMerchant',
    'psp reference': 'PSP1',
    'merchant reference': idOf('pay', 1),
    'creation date': '2026-06-03 11:26:49',
    timezone: 'CEST',
    type: 'Settled',
    'modification reference': 'PSP2',
    'gross currency': 'USD',
    'gross credit (gc)': '5.00',
    'net currency': 'USD',
    'net credit (nc)': '4.88',
    'batch number': '4',
  };
  const entryOf = (fields: Record<string, string> = {}) => {
    const line = read({ ...cells, ...fields });
    assert.ok(line && !('problem' in line));
    return line;
  };

  test('amounts are exact, times have their zone, and the booking date comes first', () => {
    const line = entryOf();
    assert.equal(line.entry.settledAt, Date.parse('2026-06-03T09:26:49Z'));
    assert.deepEqual(line.charge, {
      received: { units: 500n, currency: 'USD', exponent: 2 },
      cost: { units: 12n, currency: 'USD', exponent: 2 },
    });
    assert.equal(line.entry.moved.id, '4:Settled:PSP2');
    const booked = { 'booking date': '2026-06-04 00:00:00', 'booking date timezone': 'UTC' };
    assert.equal(entryOf(booked).entry.settledAt, Date.parse('2026-06-04T00:00:00Z'));
    assert.equal(entryOf({ timezone: 'AEST' }).entry.settledAt, null);
    assert.equal(entryOf({ 'creation date': '2126-06-03 11:26:49' }).entry.settledAt, null);
    const large = entryOf({ 'gross credit (gc)': '90071992547.41', 'net credit (nc)': '90071992547.400' });
    assert.deepEqual([large.charge?.received.units, large.charge?.cost.units], [9007199254741n, 1n]);
    // Some accounts get the gross amount of a payment in the debit column.
    assert.equal(entryOf({ 'gross credit (gc)': '', 'gross debit (gc)': '5.00' }).charge?.received.units, 500n);
  });

  test('a line without a payment is skipped, and an unreadable line has a problem', () => {
    assert.equal(read({ ...cells, 'psp reference': '' }), undefined);
    const wrong = [
      { 'net credit (nc)': '4.885' },
      { 'net credit (nc)': '5.01' },
      { 'net credit (nc)': '', 'net debit (nc)': '4.88' },
      { 'net credit (nc)': '1,000.00' },
      { 'net currency': 'EUR' },
      { 'batch number': '' },
      { 'modification reference': '' },
      { type: 'ManualCorrected' },
    ];
    for (const fields of wrong) assert.ok('problem' in read({ ...cells, ...fields })!, JSON.stringify(fields));
  });
});

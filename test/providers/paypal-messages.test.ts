import assert from 'node:assert/strict';
import { test } from 'node:test';
import { captureOf, paymentReport } from '../../src/providers/paypal-messages.ts';
import { readOrder } from '../../src/providers/paypal-objects.ts';
import { idOf } from '../fixtures/checkout-records.ts';

const dollars = (value: string) => ({ currency_code: 'USD', value });

/** A captured order of 50.24 with captures of these statuses, in this order. */
function anOrder(statuses: readonly string[], fee = '2.24') {
  const captures = statuses.map((status, index) => ({
    id: `CAPTURE${index}`,
    status,
    amount: dollars('50.24'),
    seller_receivable_breakdown: { paypal_fee: dollars(fee) },
    create_time: '2026-03-01T12:00:00Z',
  }));
  const unit = { custom_id: idOf('pay', 1), amount: dollars('50.24'), payments: { captures } };
  return readOrder({ id: 'ORDER1', status: 'COMPLETED', purchase_units: [unit], links: [] })!;
}

const reportOf = (...order: Parameters<typeof anOrder>) => paymentReport(anOrder(...order), { settlesAt: 'file' });

test('a completed capture decides about an order before a pending one, and a pending one before a declined one', () => {
  const rows: [statuses: string[], state: string, capture: string][] = [
    [['COMPLETED', 'DECLINED'], 'paid', 'CAPTURE0'],
    [['DECLINED', 'COMPLETED'], 'paid', 'CAPTURE1'],
    [['PENDING', 'PARTIALLY_REFUNDED', 'FAILED'], 'paid', 'CAPTURE1'],
    [['PENDING', 'DECLINED'], 'processing', 'CAPTURE0'],
    [['A_NEW_STATUS', 'DECLINED'], 'processing', 'CAPTURE0'],
    [['FAILED', 'DECLINED'], 'failed', 'CAPTURE1'],
  ];
  for (const [statuses, state, capture] of rows) {
    const report = reportOf(statuses);
    assert.deepEqual([report.state, report.chargeReference], [state, capture], statuses.join());
    assert.equal(captureOf(anOrder(statuses))?.id, capture);
  }
  assert.equal(reportOf([]).state, 'processing');
});

test('a negative fee of PayPal leaves the cost of the payment unknown', () => {
  assert.deepEqual(reportOf(['COMPLETED']).cost, { units: 224n, currency: 'USD', exponent: 2 });
  assert.equal(reportOf(['COMPLETED'], '-2.24').cost, null);
});

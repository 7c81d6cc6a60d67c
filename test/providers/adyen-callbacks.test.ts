import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../src/domain/gateway-error.ts';
import { createAdyen } from '../../src/providers/adyen.ts';
import { adyenSettings } from '../../src/providers/adyen-settings.ts';
import { DAY, NOW, idOf } from '../fixtures/checkout-records.ts';
import { readItems, settingsOf, startAdyenWorld } from './adyen-fixtures.ts';
import { ADYEN_FORGERIES, forgeCallbacks } from './adyen-forgeries.ts';
import type { Item } from './scripted-adyen-objects.ts';

const PAYMENT = idOf('pay', 1);
const REFUND = idOf('ref', 1);
const about = { psp: 'PSP1', payment: '', reference: PAYMENT, cents: 5024 };
const dispute = { psp: 'DISPUTE1', payment: 'PSP1', reference: PAYMENT, cents: 5024 };

const isUnauthorized = (error: unknown) => error instanceof GatewayError && error.code === 'unauthorized';

describe('callbacks of Adyen', () => {
  test('the published example of a signed notification is accepted, and its fields cannot be changed', async () => {
    const key = '44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056';
    await using world = await startAdyenWorld({
      hmacKeys: ['ab'.repeat(32), key],
      merchantAccount: 'TestMerchant',
      callbackUser: undefined,
      callbackPassword: undefined,
    });
    // https://github.com/Adyen/adyen-node-api-library/blob/main/src/__tests__/hmacValidator.spec.ts
    const example = {
      pspReference: '7914073381342284',
      originalReference: '',
      merchantAccountCode: 'TestMerchant',
      merchantReference: 'TestPayment-1407325143704',
      amount: { value: 1130, currency: 'EUR' },
      eventCode: 'AUTHORISATION',
      success: 'true',
      additionalData: { hmacSignature: 'coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0=' },
    };
    const read = (fields: object) => {
      const items = [{ NotificationRequestItem: { ...example, ...fields } }];
      return world.provider.readCallback(Buffer.from(JSON.stringify({ live: 'false', notificationItems: items })), {});
    };
    assert.deepEqual(await read({}), { signals: [], hints: [], reply: '[accepted]' });
    assert.deepEqual(await read({ originalReference: undefined }), { signals: [], hints: [], reply: '[accepted]' });
    const changes = [
      { success: 'false' },
      { pspReference: '7914073381342285' },
      { amount: { value: 1131, currency: 'EUR' } },
    ];
    for (const change of changes) await assert.rejects(read(change), isUnauthorized);
  });

  test('every event code has its report, and other events are acknowledged', async () => {
    await using world = await startAdyenWorld();
    const { adyen } = world;
    const read = async (code: string, from = about, fields: Partial<Item> = {}) => {
      const { signals, reply } = await readItems(world, [adyen.itemOf(code, from, fields)]);
      assert.equal(reply, '[accepted]');
      return signals[0];
    };
    const failed = { success: 'false', reason: 'Not enough balance' };
    const paid = await read('AUTHORISATION');
    assert.ok(paid?.about === 'payment');
    assert.deepEqual(paid.ref, { paymentId: PAYMENT });
    assert.equal(paid.eventId, 'PSP1:AUTHORISATION:true');
    assert.deepEqual([paid.report.state, paid.report.chargeReference], ['paid', 'PSP1']);
    assert.deepEqual(paid.report.received, { units: 5024n, currency: 'USD', exponent: 2 });
    const declined = await read('AUTHORISATION', about, failed);
    assert.ok(declined?.about === 'payment');
    assert.equal(declined.report.state, 'awaiting_buyer');
    assert.deepEqual(declined.report.decline, {
      code: 'insufficient_funds',
      source: 'buyer',
      reason: 'Not enough balance',
    });
    for (const fields of [{}, failed]) {
      const additionalData = { issuerCountry: 'DE', fundingSource: 'DEBIT' };
      const named = await read('AUTHORISATION', about, { ...fields, additionalData });
      assert.ok(named?.about === 'payment');
      assert.deepEqual(named.report.card, { country: 'DE', group: 'visa debit' });
    }
    for (const [paymentMethod, fundingSource, group] of [
      ['mc', 'CREDIT', 'mastercard credit'],
      ['visa_applepay', 'PREPAID_NONRELOADABLE', 'visa prepaid'],
      ['visa', 'UNKNOWN', undefined],
    ] as const) {
      const named = await read('AUTHORISATION', about, { paymentMethod, additionalData: { fundingSource } });
      assert.equal(named?.about === 'payment' ? named.report.card?.group : null, group);
    }
    assert.equal(paid.report.card, null, 'the notification says nothing about the card');
    const pending = await read('PENDING');
    assert.ok(pending?.about === 'payment' && pending.report.expectedBy === NOW + 7 * DAY);
    const cancelled = await read('CANCELLATION');
    assert.ok(cancelled?.about === 'payment' && cancelled.report.state === 'failed');
    assert.equal(await read('OFFER_CLOSED'), undefined, 'the link may still be payable');
    const unknown = await read('AUTHORISATION', about, { success: 'false', reason: 'A reason of next year' });
    assert.ok(unknown?.about === 'payment');
    assert.deepEqual([unknown.report.decline?.code, unknown.report.decline?.source], ['declined', 'route']);

    const states: [string, string, number, bigint][] = [];
    for (const code of [
      'REQUEST_FOR_INFORMATION',
      'NOTIFICATION_OF_CHARGEBACK',
      'CHARGEBACK',
      'CHARGEBACK_REVERSED',
      'SECOND_CHARGEBACK',
      'CAPTURE_FAILED',
    ]) {
      const signal = await read(code, dispute);
      assert.ok(signal?.about === 'reversal' && signal.reversal.reference === 'DISPUTE1');
      const { status, revision, taken } = signal.reversal;
      states.push([code, status, revision, taken.units]);
    }
    assert.deepEqual(states, [
      ['REQUEST_FOR_INFORMATION', 'open', 1, 0n],
      ['NOTIFICATION_OF_CHARGEBACK', 'open', 2, 0n],
      ['CHARGEBACK', 'open', 3, 5024n],
      ['CHARGEBACK_REVERSED', 'won', 4, 0n],
      ['SECOND_CHARGEBACK', 'lost', 5, 5024n],
      ['CAPTURE_FAILED', 'lost', 3, 5024n],
    ]);

    const own = { psp: 'REFUND1', payment: 'PSP1', reference: REFUND, cents: 100 };
    const results: [string, Partial<Item>, string][] = [
      ['REFUND', {}, 'succeeded'],
      ['REFUND', { success: 'false' }, 'failed'],
      ['REFUND_FAILED', {}, 'failed'],
      ['REFUNDED_REVERSED', {}, 'failed'],
    ];
    for (const [code, fields, status] of results) {
      const signal = await read(code, own, fields);
      assert.ok(signal?.about === 'refund' && signal.refund.status === status, code);
      assert.deepEqual([signal.refund.ours, signal.ref], [REFUND, { reference: 'PSP1' }]);
    }
    const foreign = await read('REFUND', { ...own, reference: PAYMENT });
    assert.ok(foreign?.about === 'refund' && foreign.refund.ours === null);
    assert.deepEqual(foreign.ref, { paymentId: PAYMENT });

    for (const code of ['REPORT_AVAILABLE', 'CAPTURE', 'PAID_ON_THE_MOON'])
      assert.equal(await read(code), undefined, code);
    assert.equal(await read('AUTHORISATION', { ...about, reference: 'order-7' }), undefined);
    assert.equal(await read('AUTHORISATION', { ...about, reference: 'order:7:\\' }), undefined);
    assert.equal(await read('CANCELLATION', about, { success: 'false' }), undefined);
  });

  test('one bad item of a batch refuses the whole batch, and a good batch is read in order', async () => {
    await using world = await startAdyenWorld();
    const items = [1, 2, 3].map((number) => world.adyen.itemOf('AUTHORISATION', { ...about, psp: `PSP${number}` }));
    const { signals } = await readItems(world, items);
    assert.deepEqual(
      signals.map(({ eventId }) => eventId),
      ['PSP1', 'PSP2', 'PSP3'].map((psp) => `${psp}:AUTHORISATION:true`),
    );
    for (const forgery of ['other_key', 'unsigned', 'changed_amount', 'changed_reference'] as const) {
      await assert.rejects(readItems(world, items, forgery), isUnauthorized, forgery);
    }
  });

  test('items of another merchant account or of the other environment are acknowledged and ignored', async () => {
    await using world = await startAdyenWorld();
    const item = world.adyen.itemOf('AUTHORISATION', about);
    assert.deepEqual((await readItems(world, [{ ...item, merchantAccountCode: 'OtherMerchant' }])).signals, []);
    assert.deepEqual((await readItems(world, [item], undefined, 'true')).signals, []);
    assert.match(world.log.join('\n'), /other environment/);
    // Neither proves that the callbacks of this instance arrive.
    assert.equal(world.counted.news, 0);
    const settings = adyenSettings.parse({ ...settingsOf(world.adyen), apiBase: undefined, livePrefix: '1a-Demo' });
    const ignored = () => undefined;
    const live = createAdyen(
      { id: 'adyen', environment: 'production', settings },
      {
        now: () => NOW,
        callbackUrl: '',
        log: { info: ignored, warn: ignored, error: ignored },
        onNotReady: ignored,
        onNews: ignored,
        countLostCallback: ignored,
      },
    );
    const signalsOf = async (flag: string) =>
      (await readItems({ ...world, provider: live }, [item], undefined, flag)).signals.length;
    assert.deepEqual([await signalsOf('false'), await signalsOf('true')], [0, 1]);
  });

  test('3 callbacks in a row with a wrong signature make the instance not ready, until a right one arrives', async () => {
    await using world = await startAdyenWorld();
    const { provider, notReady, counted } = world;
    const item = world.adyen.itemOf('AUTHORISATION', about);
    const forge = async (...forgeries: Parameters<typeof readItems>[2][]) => {
      for (const forgery of forgeries) await assert.rejects(readItems(world, [item], forgery), isUnauthorized);
    };
    await readItems(world, [item]);
    await forge('other_key', 'unsigned');
    await readItems(world, [item]);
    // Callbacks without the password are not Adyen's, so they say nothing about the key.
    await forge('other_key', 'no_password', 'other_password', 'no_password', 'unsigned');
    await assert.rejects(provider.readCallback(Buffer.from('{}'), world.adyen.callbackOf([]).headers), isUnauthorized);
    assert.deepEqual([notReady.length, counted.news], [0, 1]);
    await forge('other_key');
    assert.match(notReady.join(), /3 callbacks in a row had a wrong signature: .*ADYEN_HMAC_KEY/);
    const errors = async () => (await provider.check()).findings.filter(({ level }) => level === 'error');
    assert.equal((await errors())[0]?.message, notReady[0]);
    await readItems(world, [item]);
    assert.deepEqual([await errors(), counted.news], [[], 2]);
  });

  test('2,000 forged or replayed callbacks are all rejected, and a known key is detected', async () => {
    await using world = await startAdyenWorld();
    assert.deepEqual(await forgeCallbacks(world, 2000, 7), []);
    const { problems } = await ADYEN_FORGERIES.run({ cycles: 1, injected: true });
    assert.ok(problems.length > 0);
  });
});

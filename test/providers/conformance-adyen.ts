import { randomBytes } from 'node:crypto';
import type { Payment } from '../../src/domain/records.ts';
import type { Environment } from '../../src/domain/route.ts';
import { adyenSettings } from '../../src/providers/adyen-settings.ts';
import { createAdyen } from '../../src/providers/adyen.ts';
import { settingsOf } from './adyen-fixtures.ts';
import { adyenVariables } from './adyen-stage.ts';
import type { Party } from './conformance.ts';
import { laterService } from './conformance-parties.ts';
import type { Item } from './scripted-adyen-objects.ts';
import { startScriptedAdyen } from './scripted-adyen.ts';

/** Starts the conformance party of the Adyen adapter: the adapter, and the scripted Adyen as its provider. */
export async function startAdyen(): Promise<Party> {
  const { connect, now, context } = laterService();
  const adyen = await startScriptedAdyen({ now });
  const made = (id: string, environment: Environment, changed: Record<string, unknown> = {}) => {
    const settings = adyenSettings.parse({ ...settingsOf(adyen), ...changed });
    return createAdyen({ id, environment, settings }, context());
  };
  const linksOf = ({ id }: Payment) => [...adyen.links.values()].filter(({ reference }) => reference === id);
  const about = (payment: Payment, reference = payment.id) => ({
    psp: randomBytes(8).toString('hex').toUpperCase(),
    payment: '',
    reference,
    cents: payment.fees.total,
  });
  const authorised = (payment: Payment): Item => adyen.itemOf('AUTHORISATION', about(payment));
  return {
    id: 'adyen_test',
    options: { variables: adyenVariables(adyen) },
    kind: 'local',
    secrets: [adyen.apiKey, adyen.hmacKey, adyen.callbackPassword],
    refundsByCallback: true,
    async connect(on) {
      connect(on);
      // An instance is not ready before the first notification has arrived.
      adyen.callbackUrl = `${on.url}/api/providers/adyen_test/callbacks`;
      await adyen.sendTest();
      adyen.callbackUrl = undefined;
    },
    instance: made,
    misconfigured: {
      wrongKey: (secret) => made('adyen_test', 'sandbox', { apiKey: secret }),
      at: (apiBase) => made('adyen_test', 'sandbox', { apiBase }),
    },
    paymentsAt: async (payment) => linksOf(payment).length,
    refundedAt: async (payment) =>
      [...adyen.payments.values()].reduce((sum, one) => sum + (one.reference === payment.id ? one.refunded : 0), 0),
    async pay(payment) {
      const [link] = linksOf(payment);
      if (link?.status !== 'active') return undefined;
      adyen.pay(link.id);
      return [adyen.callbackOf([adyen.items.at(-1)!])];
    },
    async confuse(payment) {
      linksOf(payment)[0]!.status = 'on_the_moon';
      return [adyen.callbackOf([adyen.itemOf('PAID_ON_THE_MOON', about(payment))])];
    },
    foreign: (payment) => [
      adyen.callbackOf([adyen.itemOf('AUTHORISATION', about(payment, 'order-7'))]),
      adyen.callbackOf([adyen.itemOf('AUTHORISATION', about(payment, `pay_${'0'.repeat(36)}`))]),
      adyen.callbackOf([adyen.itemOf('CHARGEBACK', about(payment, 'order-7'))]),
      adyen.callbackOf([adyen.itemOf('REFUND', about(payment, 'order-7'))]),
      adyen.callbackOf([{ ...authorised(payment), merchantAccountCode: 'OtherMerchant' }]),
    ],
    // Three wrong signatures in a row would take the instance out of service.
    forged: (payment) =>
      (['other_key', 'no_password', 'changed_amount', 'other_password'] as const).map((forgery) =>
        adyen.callbackOf([authorised(payment)], forgery),
      ),
    [Symbol.asyncDispose]: () => adyen[Symbol.asyncDispose](),
  };
}

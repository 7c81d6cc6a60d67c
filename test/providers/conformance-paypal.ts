import { randomBytes } from 'node:crypto';
import type { Payment } from '../../src/domain/records.ts';
import { paypalSettings } from '../../src/providers/paypal-settings.ts';
import { createPaypal } from '../../src/providers/paypal.ts';
import type { Party } from './conformance.ts';
import { laterService } from './conformance-parties.ts';
import { paypalVariables } from './paypal-service.ts';
import type { PaypalEvent } from './scripted-paypal-objects.ts';
import { startScriptedPaypal } from './scripted-paypal.ts';

/** Starts the conformance party of the PayPal adapter: the adapter, and the scripted PayPal as its provider. */
export async function startPaypal(): Promise<Party> {
  const { connect, now, context } = laterService();
  const paypal = await startScriptedPaypal({ now });
  const { clientId, clientSecret, webhookId, world } = paypal;
  const settings = { clientId, clientSecret, webhookId, apiBase: paypal.url };
  const instance = { id: 'paypal_test', environment: 'sandbox' } as const;
  const made = (changed: Partial<typeof settings>) =>
    createPaypal({ ...instance, settings: paypalSettings.parse({ ...settings, ...changed }) }, context());
  const ordersOf = ({ id }: Payment) => [...world.orders.values()].filter(({ customId }) => customId === id);
  const captureOf = (payment: Payment) => ordersOf(payment)[0]!.captureId;
  const approved = (id: string, customId: string): PaypalEvent => ({
    id: `WH-${randomBytes(8).toString('hex')}`,
    event_version: '1.0',
    create_time: new Date(now()).toISOString(),
    resource_type: 'checkout-order',
    resource_version: '2.0',
    event_type: 'CHECKOUT.ORDER.APPROVED',
    summary: 'approved',
    resource: { id, purchase_units: [{ custom_id: customId }] },
    links: [],
  });
  const callback = (payment: Payment) => paypal.callbackOf(approved(ordersOf(payment)[0]!.id, payment.id));
  return {
    ...instance,
    options: { variables: paypalVariables(paypal) },
    kind: 'wallet',
    secrets: [clientSecret],
    connect(on) {
      connect(on);
      paypal.webhook.url = `${on.url}/api/providers/paypal_test/callbacks`;
    },
    instance: (id, environment) =>
      createPaypal({ id, environment, settings: paypalSettings.parse(settings) }, context()),
    misconfigured: { wrongKey: (secret) => made({ clientSecret: secret }), at: (apiBase) => made({ apiBase }) },
    paymentsAt: async (payment) => ordersOf(payment).length,
    async refundedAt(payment) {
      const capture = captureOf(payment);
      return [...world.refunds.values()].reduce((sum, one) => sum + (one.captureId === capture ? one.cents : 0), 0);
    },
    async pay(payment) {
      const [order] = ordersOf(payment);
      if (order?.status !== 'PAYER_ACTION_REQUIRED') return undefined;
      paypal.approve(order.id);
      return [callback(payment)];
    },
    async confuse(payment) {
      Object.assign(ordersOf(payment)[0]!, { status: 'ON_THE_MOON' });
      return [callback(payment)];
    },
    foreign: () => [
      paypal.callbackOf(approved('5O190127TN364715T', 'order of another program')),
      paypal.callbackOf({ ...approved('5O190127TN364715T', ''), event_type: 'INVOICING.INVOICE.PAID' }),
    ],
    forged(payment) {
      const event = approved(ordersOf(payment)[0]!.id, payment.id);
      const { body, headers } = paypal.callbackOf(event);
      const signature = headers['paypal-transmission-sig']!;
      return [
        { body: `${body} `, headers },
        { body, headers: {} },
        {
          body,
          headers: {
            ...headers,
            'paypal-transmission-sig': signature.replace(/^./, (one) => (one === 'A' ? 'B' : 'A')),
          },
        },
        paypal.callbackOf(event, 'other_key'),
        paypal.callbackOf(event, 'other_webhook_id'),
      ];
    },
    capturesOf: (payment) => [...world.captures.values()].filter(({ id }) => id === captureOf(payment)).length,
    keepsCancelled: true,
    [Symbol.asyncDispose]: () => paypal[Symbol.asyncDispose](),
  };
}

/**
 * One real test checkout at PayPal: checks the connection, creates a session, waits until you have paid it with a sandbox account,
 * compares the total and the fee with PayPal's records, and refunds the payment. Exits with 0 if all amounts are equal, with 1 if
 * not, and with 2 if it cannot start.
 */
import { pino } from 'pino';
import { type Payment, Tillway } from '../../sdk/src/index.ts';
import { readConfig } from '../../src/config.ts';
import { createPaypalApi } from '../../src/providers/paypal-api.ts';
import { captureOf } from '../../src/providers/paypal-messages.ts';
import { readOrder } from '../../src/providers/paypal-objects.ts';
import { orderPath } from '../../src/providers/paypal-queries.ts';
import { paypalSettings } from '../../src/providers/paypal-settings.ts';
import { systemClock } from '../../src/runtime.ts';
import { compare, isConnected, paidCheckout, refunded } from '../live-checkout.ts';
import { say, startTemporaryService } from '../temporary-service.ts';

const ADVICE = 'Choose "PayPal", and pay with a personal account of https://developer.paypal.com/dashboard/accounts.';
const NAMES = ['PAYPAL_CLIENT_ID', 'PAYPAL_CLIENT_SECRET', 'PAYPAL_WEBHOOK_ID', 'PAYPAL_API_BASE'] as const;

const given = NAMES.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]] as const]));
const variables = Object.fromEntries(given);
const refusal = refusalOf();
if (refusal !== undefined) {
  process.stderr.write(`${refusal}\n`);
  process.exit(2);
}

// Without a tunnel, no callback arrives. Your return from PayPal and the inquiries of the service are enough here.
await using service = await startTemporaryService({ ...variables, PORT: process.env['PORT'] ?? '0' });
const tillway = new Tillway({ baseUrl: service.url });
const isReady = await isConnected(tillway, 'paypal_test', 'PayPal');
process.exitCode = isReady && (await isRight(await paidCheckout(tillway, 'wallet', ADVICE))) ? 0 : 1;

function refusalOf(): string | undefined {
  if (process.env['PAYPAL_ENVIRONMENT'] === 'production')
    return 'PAYPAL_ENVIRONMENT must not be production: this command never uses a live account';
  try {
    if (readConfig(variables).providers.length > 0) return undefined;
    return `Set ${NAMES.slice(0, 3).join(', ')} to the values of a sandbox app, see docs/paypal.md`;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Compares a payment and its refund with PayPal's own records. */
async function isRight(payment: Payment | undefined): Promise<boolean> {
  if (!payment) return false;
  const total = Math.round(payment.fees.total * 100);
  const { providerReference, actualCost } = (await service.deps.store.payment(payment.id))!;
  const capture = await captureAt(providerReference!);
  let isEqual = compare('total', total, centsOf(capture?.amount.value), 'PayPal');
  const fee = capture?.seller_receivable_breakdown?.paypal_fee?.value;
  isEqual = compare('fee', actualCost, centsOf(fee), 'PayPal') && isEqual;
  const { status } = await refunded(tillway, payment);
  const after = await captureAt(providerReference!);
  say(`The capture at PayPal is ${after?.status}.`);
  return isEqual && status === 'succeeded' && after?.status === 'REFUNDED';
}

async function captureAt(order: string) {
  const { PAYPAL_CLIENT_ID: clientId, PAYPAL_CLIENT_SECRET: clientSecret, PAYPAL_WEBHOOK_ID: webhookId } = variables;
  const settings = paypalSettings.parse({ clientId, clientSecret, webhookId, apiBase: variables['PAYPAL_API_BASE'] });
  const context = { now: systemClock.now, log: pino({ enabled: false }), callbackUrl: '', onNotReady: () => undefined };
  const { call } = createPaypalApi({ id: 'paypal_test', environment: 'sandbox', settings }, context);
  const found = readOrder((await call('GET', orderPath(order))).json);
  return found && captureOf(found);
}

function centsOf(value: string | undefined): number {
  return Math.round(Number(value) * 100);
}

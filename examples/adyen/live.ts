/**
 * One real test checkout at Adyen: checks the connection, waits until you have tested the webhook, creates a session, waits until you
 * have paid it with a test account, compares the total with Adyen's payment link, and refunds the payment. Adyen must reach BASE_URL.
 * Exits with 0 if all amounts are equal, with 1 if not, and with 2 if it cannot start.
 */
import { type Payment, Tillway } from '../../sdk/src/index.ts';
import { compare, isConnected, paidCheckout, refunded } from '../live-checkout.ts';
import { holdsWithin, say, startTemporaryService } from '../temporary-service.ts';

const ADVICE =
  'Choose "Bank account (US)", and pay with an account number from docs.adyen.com, section "Test card numbers".';
const WEBHOOK_MS = 60 * 60_000;
const REFUND_MS = 10 * 60_000;

const { ADYEN_API_BASE } = process.env;
const needed = ['ADYEN_API_KEY', 'ADYEN_MERCHANT_ACCOUNT', 'ADYEN_HMAC_KEY'] as const;
const missing = needed.filter((name) => !process.env[name]);
if (missing.length > 0) {
  process.stderr.write(`Set ${missing.join(', ')}, from https://ca-test.adyen.com: see docs/adyen.md\n`);
  process.exit(2);
}
if (process.env['ADYEN_ENVIRONMENT'] === 'production' || process.env['ADYEN_LIVE_PREFIX']) {
  process.stderr.write('Unset ADYEN_ENVIRONMENT and ADYEN_LIVE_PREFIX: this command never uses a live account\n');
  process.exit(2);
}

const optional = ['ADYEN_CALLBACK_USER', 'ADYEN_CALLBACK_PASSWORD', 'ADYEN_API_BASE', 'BASE_URL', 'PORT'];
const given = [...needed, ...optional].flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []));
await using service = await startTemporaryService(Object.fromEntries(given) as Record<string, string>);
const tillway = new Tillway({ baseUrl: service.url });
say(`Callbacks are expected at ${process.env['BASE_URL'] ?? service.url}/api/providers/adyen_test/callbacks`);
const isReady = (await isConnected(tillway, 'adyen_test', 'Adyen')) || (await isNotified());
process.exitCode = isReady && (await isRight(await paidCheckout(tillway, 'local', ADVICE))) ? 0 : 1;

/** Waits until you have tested the webhook, if the instance lacks nothing else. */
async function isNotified(): Promise<boolean> {
  const instance = async () => (await tillway.providers.list()).data.find(({ id }) => id === 'adyen_test')!;
  const errors = (await instance()).findings.filter(({ level }) => level === 'error');
  if (errors.length !== 1 || !errors[0]!.message.includes('notification')) return false;
  say('Test the webhook now.');
  return holdsWithin(WEBHOOK_MS, async () => (await instance()).ready);
}

/** Compares a payment with its link at Adyen, and refunds it. */
async function isRight(payment: Payment | undefined): Promise<boolean> {
  if (!payment) return false;
  const total = Math.round(payment.fees.total * 100);
  const { providerReference } = (await service.deps.store.payment(payment.id))!;
  const isEqual = compare('total', total, await totalOfLink(providerReference!), 'Adyen');
  say('fee      known at Adyen only with its settlement report');
  const { status } = await refunded(tillway, payment, REFUND_MS);
  return status === 'succeeded' && isEqual;
}

/** Reads the amount of a payment link from Adyen directly, without the adapter. */
async function totalOfLink(reference: string): Promise<number> {
  const url = `${ADYEN_API_BASE ?? 'https://checkout-test.adyen.com'}/v71/paymentLinks/${reference}`;
  const answer = await fetch(url, { headers: { 'x-api-key': process.env['ADYEN_API_KEY']! } });
  if (!answer.ok) throw new Error(`Adyen answered ${answer.status}`);
  return ((await answer.json()) as { amount: { value: number } }).amount.value;
}

import { z } from 'zod';
import { GatewayError } from '../../src/domain/gateway-error.ts';
import type { PaymentState, ProviderReport } from '../../src/domain/provider-report.ts';
import { REFUND_STATUSES } from '../../src/domain/refund-record.ts';
import type { AdapterContext, Instance } from '../../src/providers/all.ts';
import { createHttpClient, unansweredHandoff } from '../../src/providers/provider-http.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { verifyCallback } from '../../src/webhooks/sign.ts';

// The settings, and the mapping of the example provider's objects to reports.
export const exampleSettings = z.strictObject({ apiBase: z.url(), key: z.string().min(1), webhookSecret: z.string() });
const STATES = new Map<string, PaymentState>(
  Object.entries({ open: 'awaiting_buyer', approved: 'requires_capture', captured: 'paid', cancelled: 'failed' }),
);
const found = z.object({ id: z.string(), status: z.string(), cents: z.int() });
const unknown = z.object({ error: z.literal('unknown') });
const event = z.object({ event: z.string(), order: z.string() });
type Found = z.output<typeof found>;

function reportOf({ id, status, cents }: Found): ProviderReport {
  const received = { units: BigInt(cents), currency: 'USD', exponent: 2 };
  const about = { txHash: null, decline: null, expectedBy: null, chargeReference: id, cost: null };
  return { ...about, state: STATES.get(status) ?? 'processing', received };
}
const outcomeOf = ({ status }: Found) => {
  const reason = status === 'failed' ? 'the bank refused the refund' : null;
  return { status: REFUND_STATUSES.find((known) => known === status) ?? 'pending', reason };
};

// The HTTP client, and the methods of the adapter.
/** Creates the adapter of the example provider, a minimal adapter for the conformance suite. */
export function createExample(
  { id, environment, settings }: Instance<z.output<typeof exampleSettings>>,
  { now, onRefusedKey }: AdapterContext,
): Provider {
  const { apiBase: origin, key, webhookSecret } = settings;
  const http = createHttpClient({ origin, headers: { authorization: `Bearer ${key}` }, now });
  async function send(path: string, timeoutMs?: number, sent?: object) {
    const answer = await http({ method: sent ? 'POST' : 'GET', path, timeoutMs, body: JSON.stringify(sent) });
    if (answer.status === 401) onRefusedKey('the key was refused (401)');
    return answer;
  }
  async function ask(...request: Parameters<typeof send>): Promise<Found | undefined> {
    const { status, json } = await send(...request);
    if (status === 404 && unknown.safeParse(json).success) return undefined;
    if (status === 200) return found.parse(json);
    throw new Error(`the provider answered ${status}`);
  }
  const urlOf = (order: string) => `${origin}/pay/${order}`;

  return {
    id,
    environment,
    traits: { cancel: 'holds', lookup: 'own_id', refunds: 'api', costRefundable: false, resend: 'always' },
    async handoff({ session, payment: { id: order, fees }, returnUrl, timeoutMs }) {
      const refused = (reason: string) => ({ outcome: 'refused', reason, providerReason: null }) as const;
      if (session.environment !== environment) return refused(`payments of ${environment} only`);
      try {
        const { status, json } = await send('/orders', timeoutMs, { order, cents: fees.total, returnUrl });
        const made = status === 200 ? found.safeParse(json).data : undefined;
        if (made?.cents === fees.total) return { outcome: 'accepted', reference: made.id, url: urlOf(made.id) };
        const reason = `the provider answered ${status}`;
        return status >= 400 && status < 500 ? refused(reason) : { outcome: 'ambiguous', reason, isAnswered: true };
      } catch (error) {
        return unansweredHandoff(error);
      }
    },
    async readCallback(raw, { 'example-signature': signature }) {
      const replay = { now: now() / 1000, toleranceSeconds: 300 };
      if (typeof signature !== 'string' || !verifyCallback(webhookSecret, signature, raw, replay)) {
        throw new GatewayError('unauthorized', 'The header example-signature does not sign this body.');
      }
      const { data } = event.safeParse(JSON.parse(raw.toString()));
      return { signals: [], hints: data ? [{ eventId: data.event, about: 'payment', id: data.order }] : [] };
    },
    async query(hint) {
      const order = await ask(`/orders/${encodeURIComponent(hint.id)}`);
      if (!order) return { signals: [], next: null };
      return { signals: [{ about: 'payment', ref: { paymentId: order.id }, report: reportOf(order) }], next: null };
    },
    returnHint: (payment) => ({ about: 'payment', id: payment.id }),
    async inquire(payment, timeoutMs) {
      const order = await ask(`/orders/${payment.id}`, timeoutMs);
      return order ? { report: reportOf(order), reference: order.id, url: urlOf(order.id) } : 'unknown';
    },
    async cancel(payment, timeoutMs) {
      return (await ask(`/orders/${payment.id}/cancel`, timeoutMs, {})) ? 'cancelled' : 'unknown';
    },
    async capture(payment, timeoutMs) {
      const order = await ask(`/orders/${payment.id}/capture`, timeoutMs, {});
      if (!order) throw new Error('the provider does not know the approved payment');
      return reportOf(order);
    },
    async refund({ refundId: refund, payment, amount: cents }) {
      const made = await ask('/refunds', undefined, { refund, order: payment.id, cents });
      return made ? outcomeOf(made) : 'unknown';
    },
    async inquireRefund({ refundId }) {
      const known = await ask(`/refunds/${refundId}`);
      return known && outcomeOf(known);
    },
    async check() {
      const { status } = await send('/account', 8000).catch(() => ({ status: 'nothing' }));
      if (status === 200) return { ready: true, findings: [{ level: 'ok', message: 'the key is accepted' }] };
      const message = `the provider answered ${status} to the check`;
      return { ready: false, findings: [{ level: 'error', message, todo: 'Check the key and the address.' }] };
    },
  };
}

import { z } from 'zod';
import { NO_DETAILS, type PaymentState, type ProviderReport, amountInCents } from '../../src/domain/provider-report.ts';
import { REFUND_STATUSES } from '../../src/domain/refund-record.ts';
import type { AdapterContext, Instance } from '../../src/providers/adapter-context.ts';
import { createHttpClient, handoffResult } from '../../src/providers/provider-http.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { readSignedCallback } from '../../src/providers/signed-callback.ts';

// Settings and mapping.
export const exampleSettings = z.strictObject({ apiBase: z.url(), key: z.string().min(1), webhookSecret: z.string() });
const order = z.object({ id: z.string(), status: z.string(), cents: z.int() });
const answer = z.union([order, z.object({ error: z.literal('unknown') })]);
const event = z.object({ event: z.string(), order: z.string() });
const STATES = new Map<string, PaymentState>(
  Object.entries({ open: 'awaiting_buyer', approved: 'requires_capture', captured: 'paid', cancelled: 'failed' }),
);
function reportOf({ id, status, cents }: z.output<typeof order>): ProviderReport {
  const state = STATES.get(status) ?? 'processing';
  return { ...NO_DETAILS, state, received: amountInCents(cents), chargeReference: id };
}
const outcomeOf = ({ status }: z.output<typeof order>) => {
  return { status: REFUND_STATUSES.find((known) => known === status) ?? 'pending', reason: null };
};

// Client and behaviour.
export function createExample(
  { id, environment, settings }: Instance<z.output<typeof exampleSettings>>,
  context: AdapterContext,
): Provider {
  const { apiBase: origin, key, webhookSecret } = settings;
  const http = createHttpClient({ origin, headers: { authorization: `Bearer ${key}` }, ...context });
  const find = async (path: string, timeoutMs?: number, json?: object) => {
    const found = answer.parse((await http({ method: json ? 'POST' : 'GET', path, timeoutMs, json })).json);
    return 'error' in found ? undefined : found;
  };
  const urlOf = (paymentId: string) => `${origin}/pay/${paymentId}`;

  return {
    id,
    environment,
    traits: { cancel: 'holds', lookup: 'own_id', refunds: 'api', costRefundable: false, resend: 'always' },
    handoff({ payment, returnUrl, timeoutMs }) {
      const asked = { order: payment.id, cents: payment.fees.total, returnUrl };
      return handoffResult(http({ method: 'POST', path: '/orders', timeoutMs, json: asked }), ({ json }) => {
        const isMade = order.safeParse(json).data?.cents === asked.cents;
        return isMade ? { outcome: 'accepted', reference: asked.order, url: urlOf(asked.order) } : undefined;
      });
    },
    async readCallback(rawBody, headers) {
      const signature = { header: 'example-signature', secrets: [webhookSecret], nowMs: context.now() };
      const { data } = event.safeParse(readSignedCallback(rawBody, headers, signature));
      return { signals: [], hints: data ? [{ eventId: data.event, about: 'payment', id: data.order }] : [] };
    },
    async query(hint) {
      const found = await find(`/orders/${encodeURIComponent(hint.id)}`);
      if (!found) return { signals: [], next: null };
      return { signals: [{ about: 'payment', ref: { paymentId: found.id }, report: reportOf(found) }], next: null };
    },
    returnHint: (payment) => ({ about: 'payment', id: payment.id }),
    async inquire(payment, timeoutMs) {
      const found = await find(`/orders/${payment.id}`, timeoutMs);
      return found ? { report: reportOf(found), reference: found.id, url: urlOf(found.id) } : 'unknown';
    },
    async cancel(payment, timeoutMs) {
      return (await find(`/orders/${payment.id}/cancel`, timeoutMs, {})) ? 'cancelled' : 'unknown';
    },
    async capture(payment, timeoutMs) {
      return reportOf(order.parse(await find(`/orders/${payment.id}/capture`, timeoutMs, {})));
    },
    async refund({ refundId, payment, amount }) {
      const made = await find('/refunds', undefined, { refund: refundId, order: payment.id, cents: amount });
      return made ? outcomeOf(made) : 'unknown';
    },
    async inquireRefund({ refundId }) {
      const made = await find(`/refunds/${refundId}`);
      return made && outcomeOf(made);
    },
    async check() {
      const { status } = await http({ method: 'GET', path: '/account', timeoutMs: 8000 });
      if (status === 200) return { ready: true, findings: [{ level: 'ok', message: 'the key is accepted' }] };
      const message = `the provider answered ${status} to the check`;
      return { ready: false, findings: [{ level: 'error', message, todo: 'Check the key.' }] };
    },
  };
}

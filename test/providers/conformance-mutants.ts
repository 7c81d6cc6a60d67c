import type { CallbackHeaders, KnownPayment, Provider } from '../../src/providers/provider.ts';
import type { Party, Rule } from './conformance.ts';

type Change = (good: Provider, party: Party) => Partial<Provider>;

/** Mutants of the example adapter. Each one has a defect that breaks one rule, and the suite must detect that defect. */
export const MUTANTS: [rule: Rule, defect: string, change: Change][] = [
  [
    'a payment is paid once, with the total that the buyer paid',
    'reports cents as dollars',
    (good) => ({
      capture: async (payment) => {
        const report = await good.capture!(payment);
        return { ...report, received: { ...report.received!, exponent: 0 } };
      },
    }),
  ],
  [
    'a payment is paid once, with the total that the buyer paid',
    'loses the hint of every callback',
    () => ({ readCallback: async () => ({ signals: [], hints: [] }) }),
  ],
  [
    'two equal handoffs create one payment at the provider',
    'sends each handoff with a new payment id',
    (good) => {
      let sent = 0;
      return {
        handoff: (request) =>
          good.handoff({ ...request, payment: { ...request.payment, id: `${request.payment.id}_${++sent}` } }),
      };
    },
  ],
  [
    'a repeated callback changes nothing, and two different callbacks have different event ids',
    'returns a new event id each time that it reads a callback',
    (good) => {
      let read = 0;
      return { readCallback: withEventId(good, () => `event_${++read}`) };
    },
  ],
  [
    'a repeated callback changes nothing, and two different callbacks have different event ids',
    'returns the same event id for all callbacks',
    (good) => ({ readCallback: withEventId(good, () => 'event') }),
  ],
  [
    'a callback with a wrong signature is answered 401 and changes nothing',
    'does not verify signatures',
    () => ({
      async readCallback(raw) {
        const { event: eventId, order: id } = JSON.parse(raw.toString()) as { event: string; order: string };
        return { signals: [], hints: [{ eventId, about: 'payment', id }] };
      },
    }),
  ],
  [
    'a callback about records of another program is answered 200 and changes nothing',
    'rejects callbacks about unknown objects',
    (good) => ({
      async readCallback(raw, headers) {
        if (!raw.includes('pay_')) throw new Error('no such order');
        return good.readCallback(raw, headers);
      },
    }),
  ],
  [
    'a callback about records of another program is answered 200 and changes nothing',
    'throws if a hint names an unknown object',
    (good) => ({
      async query(hint, page) {
        const answer = await good.query!(hint, page);
        if (answer.signals.length === 0) throw new Error('no such order');
        return answer;
      },
    }),
  ],
  [
    'a callback that is sent to another provider instance, of either environment, changes nothing',
    'ignores the configured id and environment of its instance',
    () => ({ id: 'example', environment: 'sandbox' }),
  ],
  [
    'after a cancellation the payment has failed and cannot be paid',
    'reports a cancellation without sending it to the provider',
    (good) => ({
      cancel: async () => 'cancelled',
      inquire: async (payment) => {
        const known = (await good.inquire(payment)) as KnownPayment;
        return { ...known, report: { ...known.report, state: 'failed' } };
      },
    }),
  ],
  [
    'after a cancellation the payment has failed and cannot be paid',
    'reports a cancelled payment as waiting for the buyer',
    (good) => ({
      inquire: async (payment) => {
        const known = (await good.inquire(payment)) as KnownPayment;
        return { ...known, report: { ...known.report, state: 'awaiting_buyer' } };
      },
    }),
  ],
  [
    'the cancellation of an unknown payment returns `unknown`',
    'reports an unknown payment as cancelled',
    () => ({ cancel: async () => 'cancelled' }),
  ],
  [
    'the inquiry about an unknown payment returns `unknown`',
    'answers `cannot_tell` about an unknown payment',
    (good) => ({
      async inquire(payment) {
        const answer = await good.inquire(payment);
        return answer === 'unknown' ? 'cannot_tell' : answer;
      },
    }),
  ],
  [
    'two refund requests with the same refund id make one refund',
    'refunds again when a refund request is repeated',
    (good) => {
      let sent = 0;
      return { refund: (request) => good.refund({ ...request, refundId: `${request.refundId}_${++sent}` }) };
    },
  ],
  [
    'the refund of an unknown payment fails or returns `unknown`',
    'reports the refund of an unknown payment as succeeded',
    (good) => ({
      async refund(request) {
        const outcome = await good.refund(request);
        return outcome === 'unknown' ? { status: 'succeeded', reason: null } : outcome;
      },
    }),
  ],
  [
    'a check reports ready with the right credentials, and not ready with wrong credentials',
    'reports ready with any credentials',
    () => ({ check: async () => ({ ready: true, findings: [] }) }),
  ],
  [
    'a check reports ready with the right credentials, and not ready with wrong credentials',
    'never reports ready',
    () => ({ check: async () => ({ ready: false, findings: [{ level: 'error', message: 'not today' }] }) }),
  ],
  [
    'a provider status that the adapter does not know never counts as paid',
    'reports an unknown status as paid',
    (good) => ({
      async query(hint, page) {
        const { signals, ...rest } = await good.query!(hint, page);
        return {
          ...rest,
          signals: signals.map((signal) =>
            signal.about === 'payment' && signal.report.state === 'processing'
              ? { ...signal, report: { ...signal.report, state: 'paid' } }
              : signal,
          ),
        };
      },
    }),
  ],
  [
    'an approved payment is captured once, and never after the buyer has cancelled it',
    'captures an approved payment whenever it is queried',
    (good) => ({
      async query(hint, page) {
        const answer = await good.query!(hint, page);
        const isApproved = answer.signals.some(
          ({ about, ...signal }) =>
            about === 'payment' && 'report' in signal && signal.report.state === 'requires_capture',
        );
        if (isApproved) await good.capture!({ id: hint.id } as never);
        return answer;
      },
    }),
  ],
  [
    'an approved payment is captured once, and never after the buyer has cancelled it',
    'captures a payment instead of cancelling it',
    (good) => ({
      async cancel(payment) {
        await good.capture!(payment);
        return 'cancelled';
      },
    }),
  ],
  [
    'no log line, page or finding contains a secret',
    'puts its key into the reason of a refused handoff',
    (_good, { secrets }) => ({
      handoff: async () => ({ outcome: 'refused', reason: `the key ${secrets[0]} was refused`, providerReason: null }),
    }),
  ],
  [
    'no log line, page or finding contains a secret',
    'puts its webhook secret into a finding',
    (_good, { secrets }) => ({
      check: async () => ({ ready: true, findings: [{ level: 'ok', message: `signed with ${secrets[1]}` }] }),
    }),
  ],
];

function withEventId(good: Provider, eventId: () => string): Provider['readCallback'] {
  return async (raw: Buffer, headers: CallbackHeaders) => {
    const { signals, hints } = await good.readCallback(raw, headers);
    return { signals, hints: hints.map((hint) => ({ ...hint, eventId: eventId() })) };
  };
}

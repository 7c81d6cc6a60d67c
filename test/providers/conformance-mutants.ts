import type { CallbackHeaders, KnownPayment, Provider } from '../../src/providers/provider.ts';
import type { Party, Rule } from './conformance.ts';

type Change = (good: Provider, party: Party) => Partial<Provider>;

/** Defects of the example provider, each of which breaks one rule: the suite must find it. */
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
    'two equal handoffs are one payment at the provider',
    'names each handoff anew',
    (good) => {
      let sent = 0;
      return {
        handoff: (request) =>
          good.handoff({ ...request, payment: { ...request.payment, id: `${request.payment.id}_${++sent}` } }),
      };
    },
  ],
  [
    'a handoff of the other environment is refused',
    'does not look at the environment',
    (good) => ({
      handoff: (request) =>
        good.handoff({ ...request, session: { ...request.session, environment: good.environment } }),
    }),
  ],
  [
    'a callback that arrives again changes nothing, and each callback has its own event id',
    'invents an event id each time',
    (good) => {
      let read = 0;
      return { readCallback: withEventId(good, () => `event_${++read}`) };
    },
  ],
  [
    'a callback that arrives again changes nothing, and each callback has its own event id',
    'gives all callbacks one event id',
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
    'refuses callbacks about unknown objects',
    (good) => ({
      async readCallback(raw, headers) {
        if (!raw.includes('pay_')) throw new Error('no such order');
        return good.readCallback(raw, headers);
      },
    }),
  ],
  [
    'a callback about records of another program is answered 200 and changes nothing',
    'cannot answer hints about unknown objects',
    (good) => ({
      async query(hint, page) {
        const answer = await good.query!(hint, page);
        if (answer.signals.length === 0) throw new Error('no such order');
        return answer;
      },
    }),
  ],
  [
    'a callback to another instance, or to one of the other environment, moves nothing',
    'has one id for all instances',
    () => ({ id: 'example', environment: 'sandbox' }),
  ],
  [
    'a cancelled payment has failed, and takes no money any more',
    'cancels without telling the provider',
    (good) => ({
      cancel: async () => 'cancelled',
      inquire: async (payment) => {
        const known = (await good.inquire(payment)) as KnownPayment;
        return { ...known, report: { ...known.report, state: 'failed' } };
      },
    }),
  ],
  [
    'a cancelled payment has failed, and takes no money any more',
    'reports a cancelled payment as waiting',
    (good) => ({
      inquire: async (payment) => {
        const known = (await good.inquire(payment)) as KnownPayment;
        return { ...known, report: { ...known.report, state: 'awaiting_buyer' } };
      },
    }),
  ],
  [
    'a cancellation of an unknown payment is unknown',
    'has cancelled what it does not know',
    () => ({ cancel: async () => 'cancelled' }),
  ],
  [
    'an inquiry about an unknown payment is unknown',
    'cannot tell that it does not know a payment',
    (good) => ({
      async inquire(payment) {
        const answer = await good.inquire(payment);
        return answer === 'unknown' ? 'cannot_tell' : answer;
      },
    }),
  ],
  [
    'two refunds of one id are one',
    'refunds again when it is asked again',
    (good) => {
      let sent = 0;
      return { refund: (request) => good.refund({ ...request, refundId: `${request.refundId}_${++sent}` }) };
    },
  ],
  [
    'a refund of an unknown payment is unknown or fails',
    'takes the answer 404 for a success',
    (good) => ({
      async refund(request) {
        const outcome = await good.refund(request);
        return outcome === 'unknown' ? { status: 'succeeded', reason: null } : outcome;
      },
    }),
  ],
  [
    'a check is ready with the right credentials, and not ready with wrong ones',
    'is always ready',
    () => ({ check: async () => ({ ready: true, findings: [] }) }),
  ],
  [
    'a check is ready with the right credentials, and not ready with wrong ones',
    'is never ready',
    () => ({ check: async () => ({ ready: false, findings: [{ level: 'error', message: 'not today' }] }) }),
  ],
  [
    'a status that the adapter does not know is never paid',
    'takes every status but four for paid',
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
    'an approved payment is captured once, and never after it was abandoned',
    'captures whenever it is asked about an approved payment',
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
    'an approved payment is captured once, and never after it was abandoned',
    'captures instead of cancelling',
    (good) => ({
      async cancel(payment) {
        await good.capture!(payment);
        return 'cancelled';
      },
    }),
  ],
  [
    'no secret is in a log line, a page or a finding',
    'gives its key as the reason of a refusal',
    (_good, { secrets }) => ({
      handoff: async () => ({ outcome: 'refused', reason: `the key ${secrets[0]} was refused`, providerReason: null }),
    }),
  ],
  [
    'no secret is in a log line, a page or a finding',
    'shows its secret in a finding',
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

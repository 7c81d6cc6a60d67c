import type { Hint, ProviderReport } from '../domain/provider-report.ts';
import type { AdapterContext } from './adapter-context.ts';
import { CALL_TIMEOUT_MS } from './provider-http.ts';
import type { HintAnswer, Signal } from './provider.ts';
import { type StripeCall, type StripeInstance, expected } from './stripe-api.ts';
import {
  amountOf,
  formOf,
  paymentIdOf,
  paymentReport,
  payoutEntry,
  refundOutcome,
  refundIdOf,
  reversalReport,
} from './stripe-messages.ts';
import {
  type CheckoutSession,
  type StripeRefund,
  readDispute,
  readMovements,
  readPayout,
  readRefund,
  readRefunds,
  readSession,
} from './stripe-objects.ts';

/** Largest number of objects that Stripe allows on a page of a list. */
const PAGE = 100;
const NOTHING: HintAnswer = { signals: [], next: null };

/** Read-only requests to Stripe. */
export interface StripeQueries {
  /** The Checkout Session with the id `reference`; undefined if Stripe does not have it in this account and environment. */
  session(reference: string, timeoutMs?: number): Promise<CheckoutSession | undefined>;
  /** The refund of a PaymentIntent that has our `refundId` in its metadata. */
  refundOf(refundId: string, paymentIntent: string): Promise<StripeRefund | undefined>;
  /** The refund with Stripe's id `reference`. */
  refund(reference: string): Promise<StripeRefund | undefined>;
  answer(hint: Hint, page: string | null): Promise<HintAnswer>;
}

export function createStripeQueries(
  call: StripeCall,
  { id: provider, environment }: StripeInstance,
  { log }: AdapterContext,
): StripeQueries {
  /** Reads an object; undefined if Stripe does not have it, or if it belongs to the other environment and must be ignored. */
  async function find<Found extends object>(
    name: string,
    path: string,
    read: (json: unknown) => Found | undefined,
    timeoutMs = CALL_TIMEOUT_MS,
  ): Promise<Found | undefined> {
    const answer = await call('GET', path, { timeoutMs });
    if (answer.status === 404) return undefined;
    const found = expected(`query of the ${name}`, answer, read);
    const isForeign = 'livemode' in found && found.livemode !== (environment === 'production');
    if (!isForeign) return found;
    log.warn({ provider, path }, 'Stripe sent an object of the other environment');
    return undefined;
  }

  const queries: StripeQueries = {
    session(reference, timeoutMs) {
      const expand = formOf({ expand: ['payment_intent.latest_charge.balance_transaction'] });
      return find('session', `${sessionPath(reference)}?${expand}`, readSession, timeoutMs);
    },
    refund: (reference) => find('refund', `/v1/refunds/${encodeURIComponent(reference)}`, readRefund),
    async refundOf(refundId, paymentIntent) {
      for (let last: string | undefined; ;) {
        const query = {
          payment_intent: paymentIntent,
          limit: PAGE,
          ...(last !== undefined && { starting_after: last }),
        };
        const page = expected('list of refunds', await call('GET', `/v1/refunds?${formOf(query)}`), readRefunds);
        const found = page.data.find((each) => refundIdOf(each) === refundId);
        last = page.data.at(-1)?.id;
        if (found || !page.has_more || last === undefined) return found;
      }
    },
    async answer({ about, id }, page) {
      switch (about) {
        case 'payment':
          return paymentAnswer(await queries.session(id));
        case 'refund':
          return refundSignal(await queries.refund(id));
        case 'reversal': {
          const found = await find('dispute', `/v1/disputes/${encodeURIComponent(id)}`, readDispute);
          if (typeof found?.payment_intent !== 'string') return NOTHING;
          return only({ about, ref: { reference: found.payment_intent }, reversal: reversalReport(found) });
        }
        case 'payout':
          return payoutAnswer(id, page);
      }
    },
  };
  return queries;

  async function payoutAnswer(id: string, page: string | null): Promise<HintAnswer> {
    const payout = await find('payout', `/v1/payouts/${encodeURIComponent(id)}`, readPayout);
    if (!payout) return NOTHING;
    const { status, automatic, reconciliation_status: reconciliation } = payout;
    if (status !== 'paid' || !automatic) {
      // Stripe lists the payments of automatic payouts only, and the money of a failed payout is in the balance again.
      log.error({ provider, payout: id, status, automatic }, 'a payout settles no payments: unpaid or manual');
      return NOTHING;
    }
    // Until Stripe has assigned the payments to the payout, their list can be incomplete.
    if (reconciliation === 'in_progress') return { ...NOTHING, isIncomplete: true };
    const after = page === null ? {} : { starting_after: page };
    const query = formOf({ payout: id, limit: PAGE, expand: ['data.source'], ...after });
    const listed = await call('GET', `/v1/balance_transactions?${query}`);
    const { data, has_more: hasMore } = expected('query of the balance', listed, readMovements);
    const signals = data.flatMap((movement): Signal[] => {
      const found = payoutEntry(movement, payout);
      return found ? [{ about: 'settlement', ref: { reference: found.reference }, entry: found.entry }] : [];
    });
    return { signals, next: hasMore ? (data.at(-1)?.id ?? null) : null };
  }
}

export function sessionPath(reference: string): string {
  return `/v1/checkout/sessions/${encodeURIComponent(reference)}`;
}

function only(signal: Signal): HintAnswer {
  return { signals: [signal], next: null };
}

function paymentAnswer(session: CheckoutSession | undefined): HintAnswer {
  const paymentId = session && paymentIdOf(session);
  if (!session || paymentId === undefined) return NOTHING;
  const report: ProviderReport = paymentReport(session);
  const isIncomplete = report.state === 'paid' && report.cost === null;
  return { ...only({ about: 'payment', ref: { paymentId, reference: session.id }, report }), isIncomplete };
}

function refundSignal(found: StripeRefund | undefined): HintAnswer {
  if (typeof found?.payment_intent !== 'string') return NOTHING;
  const refund = { ...refundOutcome(found), ours: refundIdOf(found), amount: amountOf(found.amount, found.currency) };
  return only({ about: 'refund', ref: { reference: found.payment_intent }, refund });
}

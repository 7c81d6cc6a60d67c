import { type Decision, unchanged } from '../domain/checkout-state.ts';
import { withReport } from '../domain/discrepancy.ts';
import {
  EVENT_CONFLICT,
  type ProviderMessage,
  type SignalOrigin,
  hasSameContent,
  isFlagged,
} from '../domain/provider-message.ts';
import type { Checkout, Instant, Payment } from '../domain/records.ts';
import type { Signal } from '../providers/provider.ts';
import { commitDecision } from './commit-decision.ts';
import type { Deps } from './deps.ts';

/** A signal of a provider instance, with the id under which it is applied once. */
export interface ReceivedSignal<Kind extends Signal = Signal> extends SignalOrigin {
  eventId: string;
  /** Id of a later signal about the same try to pay. If it has arrived already, this signal changes nothing. */
  outdatedBy?: string | undefined;
  signal: Kind;
  /** The message verbatim. */
  body: string;
  /** True if a failure ends the checkout, not only the attempt. */
  endsCheckout?: boolean;
}

/** The records that a signal names. */
export interface SignalSubject {
  sessionId: string;
  /** The payment that the provider names, which need not be one of the session; null if it names only the session. */
  paymentId: string | null;
  payment: Payment | undefined;
  /** The checkout of the session, if it was read to find the payment. */
  checkout?: Checkout;
}

/** Result of applying a signal. `outcome` is `unknown` if it names no record of this service. `queued`: a merchant event was queued. */
export interface AppliedSignal {
  outcome: string;
  queued: boolean;
}

type SignalOf<About extends Signal['about']> = Extract<Signal, { about: About }>;
export type PaymentSignal = SignalOf<'payment'>;
export type RefundSignal = SignalOf<'refund'>;
export type SettlementSignal = SignalOf<'settlement'>;
export type ReversalSignal = SignalOf<'reversal'>;

/** The part of a stored message that depends on the kind of its signal. */
type MessageSubject = Pick<ProviderMessage, 'sessionId' | 'paymentId' | 'refundId' | 'status' | 'amount' | 'currency'>;

/** A verified message before its outcome is decided. */
type UndecidedMessage = Omit<ProviderMessage, 'outcome' | 'flagged' | 'received'>;

type Decide<Outcome extends string> = (
  checkout: Checkout,
  now: Instant,
) => Decision<Outcome> | Promise<Decision<Outcome>>;

/**
 * Commits a message once, together with its effects and the discrepancy that it causes. `known` is the checkout if the caller has
 * already read it: the first decision uses it.
 */
export async function applyMessage<Outcome extends string>(
  deps: Deps,
  { provider, environment, eventId, signal, body }: ReceivedSignal,
  subject: MessageSubject,
  decide: Decide<Outcome>,
  known?: Checkout,
): Promise<AppliedSignal & { outcome: Outcome | 'duplicate' | typeof EVENT_CONFLICT }> {
  const origin = { provider, environment, eventId, about: signal.about };
  const message: UndecidedMessage = { ...origin, ...subject, signal: signalJson(signal), body };
  const committed = await commitMessage(deps, known ?? message.sessionId, message, decide);
  const isKnown = committed.outcome === 'duplicate';
  const { outcome, effects } = isKnown ? { outcome: await repeated(deps, message), effects: [] } : committed;
  const { sessionId, paymentId, refundId, status } = message;
  const about = { provider, eventId, sessionId, paymentId, ...(refundId !== null && { refundId }), status, outcome };
  const name = signal.about === 'payment' ? 'callback' : `${signal.about} callback`;
  if (isFlagged(outcome)) deps.log.warn(about, `${name} flagged`);
  else deps.log.info(about, name);
  return { outcome, queued: effects.some(({ type }) => type.startsWith('announce')) };
}

function commitMessage<Outcome extends string>(
  deps: Deps,
  session: string | Checkout,
  message: UndecidedMessage,
  decide: Decide<Outcome>,
) {
  let received: ProviderMessage;
  return commitDecision<Outcome>(
    deps,
    session,
    async (checkout, now) => {
      const decision = await decide(checkout, now);
      const { outcome } = decision;
      received = { ...message, outcome, flagged: isFlagged(outcome), received: now };
      return withReport(checkout, decision, received, deps.newId);
    },
    () => [{ type: 'provider_message_received', message: received }],
  );
}

/**
 * Decides whether a message with a known event id is a duplicate or a conflict. For each session, only the first conflict is
 * stored, flagged and listed. Later conflicts get the same answer and are logged, so that a sender who reuses one event id cannot
 * fill the database.
 */
async function repeated(deps: Deps, message: UndecidedMessage): Promise<'duplicate' | typeof EVENT_CONFLICT> {
  const known = await deps.store.messagesOfEvent(message, message.eventId, message.sessionId);
  if (known.length === 0 || known.some((one) => hasSameContent(one, message))) return 'duplicate';
  if (known.some(({ outcome }) => outcome === EVENT_CONFLICT)) return EVENT_CONFLICT;
  await commitMessage(deps, message.sessionId, message, (checkout) => unchanged(checkout, EVENT_CONFLICT));
  return EVENT_CONFLICT;
}

/** A signal as JSON, with bigint amounts as decimal strings. */
export function signalJson(signal: Signal): string {
  return JSON.stringify(signal, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
}

/** A stored signal. Signals of older versions lack newer fields. */
export function signalFromJson(json: string): Signal {
  return JSON.parse(json, (key, value: unknown) => (key === 'units' ? BigInt(value as string) : value)) as Signal;
}

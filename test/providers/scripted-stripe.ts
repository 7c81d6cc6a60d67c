import { createHmac, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Stripe } from 'stripe';
import { type Judged, judgeRequest, readForm } from './contract-server.ts';
import {
  type ApiFault,
  type Reply,
  type Sending,
  answerWithFault,
  createPort,
  createSendQueue,
  postCallback,
} from './scripted-party.ts';
import {
  type Dispute,
  type Movement,
  type Refund,
  type Session,
  type StripeEvent,
  emptyWorld,
  expanded,
} from './scripted-stripe-objects.ts';

/** Defect of a forged callback. */
export type Forgery =
  'other_secret' | 'changed_body' | 'old' | 'future' | 'other_scheme' | 'unsigned' | 'live' | 'account';

export interface ScriptedStripeOptions {
  /** URL that receives the callbacks; without it, the server only records its events. */
  callbackUrl?: string;
  /** Clock, in milliseconds since 1970. */
  now?: () => number;
  port?: number;
}

/** Running server that behaves like Stripe, with its objects and the actions of buyer, bank and Stripe. */
export type ScriptedStripe = Awaited<ReturnType<typeof startScriptedStripe>>;

const DISPUTE_FEE = 1500;
const RETRY_AFTER_SECONDS = 2;
const OTHER_ID = `ref_${'0'.repeat(36)}`;

/**
 * Starts a stateful server that behaves like Stripe: API with contract checks, payment pages and callbacks.
 * Its methods are actions of the buyer, the bank or Stripe.
 */
export async function startScriptedStripe(options: ScriptedStripeOptions = {}) {
  const { now = () => Date.now() } = options;
  const world = emptyWorld();
  const seed = randomBytes(6).toString('hex');
  const replies = new Map<string, { request: string; reply: Reply }>();
  let count = 0;
  const queue = createSendQueue();
  const port = createPort((request, response) => void answer(request, response), options.port);

  const newId = (prefix: string): string => `${prefix}_${seed}${String(++count).padStart(6, '0')}`;
  const seconds = (): number => Math.floor(now() / 1000);

  const stripe = {
    url: '',
    secretKey: `sk_test_${randomBytes(12).toString('hex')}`,
    webhookSecret: `whsec_${randomBytes(24).toString('hex')}`,
    account: {
      id: `acct_${seed}`,
      object: 'account',
      charges_enabled: true,
      default_currency: 'usd',
      capabilities: {
        card_payments: 'active',
        cashapp_payments: 'active',
        crypto_payments: 'active',
        us_bank_account_ach_payments: 'active',
      } satisfies Partial<Record<keyof Stripe.Account.Capabilities, string>> as Record<string, string>,
    },
    endpoints: [] as { url: string; status: string; enabled_events: string[] }[],
    world,
    /** Payment methods that are turned on in the dashboard. */
    methods: ['card', 'cashapp', 'crypto', 'us_bank_account'],
    /**
     * Faults of the next requests to the API, in order; undefined: no fault. Like Stripe, the server repeats a 500 for the same
     * idempotency key.
     */
    faults: [] as (ApiFault | undefined)[],
    isKeyRevoked: false,
    /** True to pay each session, and to send the callback, before the server answers the creation of the session. */
    paysBeforeAnswer: false,
    /** True if the fees of charges are unknown until `settleFees` is called. */
    delaysFees: false,
    /** Stripe's fee rate for card payments; foreign cards cost more. */
    cardRate: 0.029,
    /** The card of the buyers. */
    card: { country: 'US', brand: 'visa', funding: 'credit' },
    nextRefundStatus: 'succeeded' as 'succeeded' | 'pending',
    callbackUrl: options.callbackUrl,
    /** Decides how often and how late each event is sent. */
    sendingOf: (_event: StripeEvent): Sending => ({ times: 1, delayMs: 0 }),
    /** All API requests with their contract violations, and all events. */
    requests: [] as Judged[],
    events: [] as StripeEvent[],
    /** Events whose callback was not answered with 2xx. */
    undelivered: [] as StripeEvent[],

    /** Starts to listen, after `goDown` at the same port as before. */
    async listen(): Promise<void> {
      stripe.url = await port.listen();
    },
    goDown: port.goDown,
    async [Symbol.asyncDispose](): Promise<void> {
      await queue.sent();
      await stripe.goDown();
    },

    /** The buyer pays with an immediate method, such as a card. */
    pay(sessionId: string): void {
      const session = openSession(sessionId);
      const intent = intentOf(session);
      addCharge(session, 'succeeded');
      intent.status = 'succeeded';
      intent.last_payment_error = null;
      Object.assign(session, { status: 'complete', payment_status: 'paid', url: null });
      emit('checkout.session.completed', session);
    },
    /** The buyer authorizes a bank debit, which succeeds or fails days later. */
    startDebit(sessionId: string): void {
      const session = openSession(sessionId);
      addCharge(session, 'pending');
      intentOf(session).status = 'processing';
      Object.assign(session, { status: 'complete', url: null });
      emit('checkout.session.completed', session);
    },
    /** The bank pays the debit; with a failure code, the bank returns the debit. */
    finishDebit(sessionId: string, failure?: string): void {
      const session = world.sessions.get(sessionId)!;
      const intent = intentOf(session);
      const charge = world.charges.get(intent.latest_charge!)!;
      charge.status = failure === undefined ? 'succeeded' : 'failed';
      charge.paid = failure === undefined;
      if (failure === undefined) {
        session.payment_status = 'paid';
        intent.status = 'succeeded';
        if (!stripe.delaysFees) bookCharge(charge.id);
        return emit('checkout.session.async_payment_succeeded', session);
      }
      intent.status = 'requires_payment_method';
      charge.failure_code = failure;
      const code = 'payment_intent_payment_attempt_failed';
      intent.last_payment_error = { type: 'card_error', code, message: 'The debit was returned.' };
      emit('checkout.session.async_payment_failed', session);
    },
    /** The card is declined, and the buyer may try again. */
    decline(sessionId: string, declineCode: string): void {
      const intent = intentOf(openSession(sessionId));
      addCharge(openSession(sessionId), 'failed');
      intent.status = 'requires_payment_method';
      const message = 'Your card was declined.';
      intent.last_payment_error = { type: 'card_error', code: 'card_declined', decline_code: declineCode, message };
    },
    /** The Checkout Session expires. */
    expire(sessionId: string): void {
      const session = openSession(sessionId);
      Object.assign(session, { status: 'expired', url: null });
      emit('checkout.session.expired', session);
    },
    /** Stripe books the fees of all charges that still lack a balance transaction. */
    settleFees(): void {
      for (const { id, status, balance_transaction: booked } of world.charges.values()) {
        if (booked === null && status === 'succeeded') bookCharge(id);
      }
    },
    finishRefund(refundId: string, status: 'succeeded' | 'failed', reason?: string): void {
      const refund = world.refunds.get(refundId)!;
      refund.status = status;
      if (reason !== undefined) refund.failure_reason = reason;
      if (status === 'failed') {
        world.charges.get(refund.charge)!.amount_refunded -= refund.amount;
        move('refund_failure', refund.amount, 0, refundId);
      }
      emit(status === 'failed' ? 'refund.failed' : 'refund.updated', refund);
    },
    refundInDashboard: (intentId: string, amount: number): Refund => makeRefund(intentId, amount, {}),
    /** The bank opens a dispute; the money is not withdrawn yet. */
    openDispute(intentId: string): Dispute {
      const charge = world.charges.get(world.intents.get(intentId)!.latest_charge!)!;
      charge.disputed = true;
      const dispute: Dispute = {
        id: newId('dp'),
        object: 'dispute',
        livemode: false,
        status: 'needs_response',
        amount: charge.amount - charge.amount_refunded,
        currency: 'usd',
        created: seconds(),
        reason: 'fraudulent',
        is_charge_refundable: false,
        payment_intent: intentId,
        charge: charge.id,
        balance_transactions: [],
      };
      world.disputes.set(dispute.id, dispute);
      emit('charge.dispute.created', dispute);
      return dispute;
    },
    /** Stripe withdraws the disputed amount and its dispute fee from the balance. */
    withdrawFunds(disputeId: string): void {
      const dispute = world.disputes.get(disputeId)!;
      dispute.balance_transactions.push(move('adjustment', -dispute.amount, DISPUTE_FEE, disputeId));
      emit('charge.dispute.funds_withdrawn', dispute);
    },
    /** The bank decides the dispute. A won dispute returns the money, and also the fee if `returnsFee` is true. */
    closeDispute(disputeId: string, status: 'won' | 'lost', { returnsFee = false } = {}): void {
      const dispute = world.disputes.get(disputeId)!;
      dispute.status = status;
      emit('charge.dispute.closed', dispute);
      if (status === 'lost') return;
      dispute.balance_transactions.push(move('adjustment', dispute.amount, returnsFee ? -DISPUTE_FEE : 0, disputeId));
      emit('charge.dispute.funds_reinstated', dispute);
    },
    /** Pays out the balance; returns the id of the payout. */
    payOut(): string {
      const moved = [...world.movements.values()].filter(({ id }) => !world.paidOut.has(id));
      const amount = moved.reduce((sum, { net }) => sum + net, 0);
      const id = newId('po');
      const times = { created: seconds(), arrival_date: seconds() + 2 * 86_400 };
      const payout = {
        id,
        object: 'payout',
        livemode: false,
        status: 'paid',
        amount,
        currency: 'usd',
        reconciliation_status: 'completed',
        ...times,
      } as const;
      world.payouts.set(id, { ...payout, automatic: true });
      for (const each of [...moved, move('payout', -amount, 0, id)]) world.paidOut.set(each.id, id);
      emit('payout.paid', world.payouts.get(id)!);
      return id;
    },
    failPayout(payoutId: string): void {
      const payout = world.payouts.get(payoutId)!;
      payout.status = 'failed';
      move('payout_failure', payout.amount, 0, payoutId);
      emit('payout.failed', payout);
    },
    /** Balance of the Stripe account in cents. */
    balance: (): number => [...world.movements.values()].reduce((sum, { net }) => sum + net, 0),

    /** Builds the callback of an event, genuine or with the defect `forgery`. */
    callbackOf(event: StripeEvent, forgery?: Forgery): { body: string; headers: Record<string, string> } {
      const changed = {
        ...event,
        ...(forgery === 'live' && { livemode: true }),
        ...(forgery === 'account' && { account: 'acct_other' }),
      };
      const body = JSON.stringify(changed);
      const time = seconds() + (forgery === 'old' ? -301 : forgery === 'future' ? 301 : 0);
      const secret = forgery === 'other_secret' ? 'whsec_other' : stripe.webhookSecret;
      const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex');
      const header = `t=${time},${forgery === 'other_scheme' ? 'v0' : 'v1'}=${signature}`;
      const headers = {
        'content-type': 'application/json',
        ...(forgery !== 'unsigned' && { 'stripe-signature': header }),
      };
      return { body: forgery === 'changed_body' ? body.replace('"event"', '"event" ') : body, headers };
    },
    /** Sends the callback of an event now; returns the HTTP status, or 0 without an answer. */
    async send(event: StripeEvent, forgery?: Forgery): Promise<number> {
      const { status } = await postCallback(stripe.callbackUrl!, stripe.callbackOf(event, forgery));
      const isAccepted = status >= 200 && status < 300;
      if (!isAccepted && forgery === undefined) stripe.undelivered.push(event);
      return status;
    },
    /** Waits until all callbacks are sent. */
    sent: queue.sent,
    /** Sends undelivered events again, as Stripe does for three days. */
    async resend(): Promise<void> {
      for (const event of stripe.undelivered.splice(0)) await stripe.send(event);
    },
  };

  function emit(type: string, object: object): void {
    const data = { object: structuredClone(object) };
    const event: StripeEvent = { id: newId('evt'), object: 'event', type, livemode: false, created: seconds(), data };
    stripe.events.push(event);
    if (stripe.callbackUrl === undefined) return;
    queue.add(stripe.sendingOf(event), () => stripe.send(event));
  }

  function openSession(sessionId: string): Session {
    const session = world.sessions.get(sessionId);
    if (session?.status !== 'open') throw new Error(`${sessionId} is not open`);
    return session;
  }

  /** The PaymentIntent of a session. Stripe creates it when the buyer first tries to pay. */
  function intentOf(session: Session) {
    if (session.payment_intent === null) {
      const id = newId('pi');
      const { amount_total: amount, metadata } = session;
      const state = { status: 'requires_payment_method', latest_charge: null, last_payment_error: null } as const;
      const about = { livemode: false, amount: amount!, currency: 'usd', created: seconds(), metadata: metadata ?? {} };
      world.intents.set(id, { id, object: 'payment_intent', ...about, ...state });
      session.payment_intent = id;
    }
    return world.intents.get(session.payment_intent)!;
  }

  function addCharge(session: Session, status: 'succeeded' | 'pending' | 'failed'): void {
    const intent = intentOf(session);
    const id = newId(status === 'pending' ? 'py' : 'ch');
    const state = { status, paid: status === 'succeeded', disputed: false, livemode: false };
    const money = {
      amount: intent.amount,
      amount_refunded: 0,
      currency: 'usd',
      balance_transaction: null,
      failure_code: null,
      payment_method_details: status === 'pending' ? {} : { card: { ...stripe.card } },
    };
    world.charges.set(id, { id, object: 'charge', ...state, ...money, created: seconds(), payment_intent: intent.id });
    intent.latest_charge = id;
    if (status === 'succeeded' && !stripe.delaysFees) bookCharge(id);
  }

  /** Books a charge with its fee: the card rate and 0.30, or 0.8 % of a bank debit. */
  function bookCharge(chargeId: string): void {
    const charge = world.charges.get(chargeId)!;
    const isDebit = chargeId.startsWith('py_');
    const fee = isDebit
      ? Math.min(Math.round(charge.amount * 0.008), 500)
      : Math.round(charge.amount * stripe.cardRate) + 30;
    charge.balance_transaction = move(isDebit ? 'payment' : 'charge', charge.amount, fee, chargeId).id;
  }

  function move(type: Movement['type'], amount: number, fee: number, source: string): Movement {
    const about = { currency: 'usd', created: seconds(), status: 'available', source };
    const movement: Movement = {
      id: newId('txn'),
      object: 'balance_transaction',
      type,
      amount,
      fee,
      net: amount - fee,
      ...about,
    };
    world.movements.set(movement.id, movement);
    return movement;
  }

  function makeRefund(intentId: string, amount: number, metadata: Record<string, string>): Refund {
    const charge = world.charges.get(world.intents.get(intentId)!.latest_charge!)!;
    charge.amount_refunded += amount;
    const about = { status: stripe.nextRefundStatus, amount, currency: 'usd', created: seconds(), metadata };
    const id = newId('re');
    const { id: balance_transaction } = move('refund', -amount, 0, id);
    const paid = { payment_intent: intentId, charge: charge.id, balance_transaction };
    const refund: Refund = { id, object: 'refund', ...about, ...paid };
    world.refunds.set(id, refund);
    emit('refund.created', refund);
    return refund;
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request).catch(() => '');
    if (request.url?.startsWith('/c/pay/')) return answerPage(request, response, body);
    const fault = stripe.faults.shift();
    await answerWithFault(fault, request, response, async () => {
      const reply = await apiReply(request, body, fault);
      const wait = reply.status === 429 ? { 'retry-after': String(RETRY_AFTER_SECONDS) } : {};
      return { ...reply, body: changedBy(fault, reply.body), headers: { 'request-id': newId('req'), ...wait } };
    });
  }

  async function apiReply(request: IncomingMessage, body: string, fault: ApiFault | undefined): Promise<Reply> {
    const { method = 'GET', url = '/', headers } = request;
    if (stripe.isKeyRevoked || headers.authorization !== `Bearer ${stripe.secretKey}`) {
      return failure(
        401,
        'invalid_request_error',
        'api_key_expired',
        `Invalid API Key provided: sk_test_****${seed.slice(-4)}`,
      );
    }
    if (fault === 'rate_limited') return failure(429, 'invalid_request_error', 'rate_limit', 'Too many requests');
    if (fault === 'forbidden')
      return failure(403, 'invalid_request_error', null, `The key 'rk_test_****' lacks a permission`);
    const judged = judgeRequest({ method, url, headers, body });
    stripe.requests.push(judged);
    const [problem] = judged.problems;
    if (problem !== undefined) return failure(400, 'invalid_request_error', 'parameter_invalid', problem);
    const key = headers['idempotency-key'];
    if (typeof key !== 'string') return execute(judged, fault);
    const before = replies.get(key);
    if (before && before.request !== `${url} ${body}`) {
      return failure(
        400,
        'idempotency_error',
        null,
        'Keys for idempotent requests can only be used with the same parameters.',
      );
    }
    const reply = before?.reply ?? (await execute(judged, fault));
    replies.set(key, { request: `${url} ${body}`, reply });
    return reply;
  }

  async function execute(judged: Judged, fault: ApiFault | undefined): Promise<Reply> {
    const broken = failure(500, 'api_error', null, 'An unknown error occurred');
    if (fault === 'error_500_before') return broken;
    const reply = await operate(judged);
    return fault === 'error_500_after' ? broken : reply;
  }

  async function operate({ operation, id, parameters }: Judged): Promise<Reply> {
    const expand = Array.isArray(parameters['expand']) ? (parameters['expand'] as string[]) : [];
    const one = (object: object | undefined): Reply =>
      object ? { status: 200, body: expanded(world, object, expand) } : missing(id);
    switch (operation) {
      case 'GET /v1/account':
        return one(stripe.account);
      case 'GET /v1/balance':
        return one({ object: 'balance', available: [{ amount: stripe.balance(), currency: 'usd' }] });
      case 'GET /v1/webhook_endpoints':
        return one({ object: 'list', data: stripe.endpoints, has_more: false });
      case 'POST /v1/checkout/sessions':
        return createSession(parameters);
      case 'GET /v1/checkout/sessions/{session}':
        return one(world.sessions.get(id));
      case 'POST /v1/checkout/sessions/{session}/expire':
        if (world.sessions.get(id)?.status === 'open') stripe.expire(id);
        else if (world.sessions.has(id)) {
          return failure(
            400,
            'invalid_request_error',
            null,
            'Only Checkout Sessions with a status in ["open"] can be expired.',
          );
        }
        return one(world.sessions.get(id));
      case 'POST /v1/refunds':
        return createRefund(parameters);
      case 'GET /v1/refunds':
        return listOf(
          [...world.refunds.values()].filter((each) => each.payment_intent === parameters['payment_intent']),
          parameters,
        );
      case 'GET /v1/refunds/{refund}':
        return one(world.refunds.get(id));
      case 'GET /v1/disputes/{dispute}':
        return one(world.disputes.get(id));
      case 'GET /v1/payouts/{payout}':
        return one(world.payouts.get(id));
      case 'GET /v1/balance_transactions': {
        const payout = world.payouts.get(String(parameters['payout']));
        const isListed = ({ id: each }: Movement) =>
          payout?.reconciliation_status === 'completed' && world.paidOut.get(each) === payout.id;
        return listOf([...world.movements.values()].filter(isListed), parameters);
      }
      default:
        return failure(404, 'invalid_request_error', null, `Unrecognized request URL (${operation})`);
    }
  }

  /** One page of a list of objects, newest first. */
  function listOf(objects: { id: string }[], parameters: Record<string, unknown>): Reply {
    const all = objects.toReversed();
    const after = all.findIndex(({ id }) => id === parameters['starting_after']) + 1;
    const limit = Number(parameters['limit'] ?? 10);
    const data = all.slice(after, after + limit);
    const page = { object: 'list', data, has_more: after + limit < all.length };
    return { status: 200, body: expanded(world, page, (parameters['expand'] as string[] | undefined) ?? []) };
  }

  async function createSession(parameters: Record<string, unknown>): Promise<Reply> {
    const lines = parameters['line_items'] as { quantity: number; price_data: { unit_amount: number } }[];
    const total = lines.reduce((sum, { quantity, price_data: price }) => sum + quantity * price.unit_amount, 0);
    const expiresAt = Number(parameters['expires_at'] ?? seconds() + 86_400);
    const window = expiresAt - seconds();
    if (window < 1800 || window > 86_400)
      return failure(400, 'invalid_request_error', null, 'expires_at is out of range', 'expires_at');
    if (total < 50)
      return failure(400, 'invalid_request_error', 'amount_too_small', 'The total must be at least $0.50 usd.');
    const id = newId('cs_test');
    const session: Session = {
      id,
      object: 'checkout.session',
      livemode: false,
      mode: 'payment',
      status: 'open',
      payment_status: 'unpaid',
      created: seconds(),
      expires_at: expiresAt,
      amount_total: total,
      currency: 'usd',
      url: `${stripe.url}/c/pay/${id}`,
      client_reference_id: String(parameters['client_reference_id']),
      metadata: (parameters['metadata'] ?? {}) as Record<string, string>,
      success_url: String(parameters['success_url']),
      cancel_url: String(parameters['cancel_url']),
      payment_method_types: (parameters['allowed_payment_method_types'] as string[]).filter((each) =>
        stripe.methods.includes(each),
      ),
      payment_intent: null,
    };
    world.sessions.set(id, session);
    const reply = { status: 200, body: structuredClone(session) };
    if (stripe.paysBeforeAnswer) {
      stripe.pay(id);
      await queue.sent();
    }
    return reply;
  }

  function createRefund(parameters: Record<string, unknown>): Reply {
    const intentId = String(parameters['payment_intent']);
    const charge = world.charges.get(world.intents.get(intentId)?.latest_charge ?? '');
    if (!charge) return missing(intentId);
    const amount = Number(parameters['amount'] ?? charge.amount - charge.amount_refunded);
    if (charge.disputed) return failure(400, 'invalid_request_error', 'charge_disputed', 'The charge is disputed.');
    if (charge.amount_refunded >= charge.amount) {
      return failure(400, 'invalid_request_error', 'charge_already_refunded', 'The charge has already been refunded.');
    }
    if (amount > charge.amount - charge.amount_refunded) {
      return failure(
        400,
        'invalid_request_error',
        null,
        'Refund amount is greater than unrefunded amount on charge',
        'amount',
      );
    }
    return {
      status: 200,
      body: structuredClone(makeRefund(intentId, amount, parameters['metadata'] as Record<string, string>)),
    };
  }

  /** Serves the payment page; the form field `act` selects the buyer's action. */
  function answerPage({ url = '', method }: IncomingMessage, response: ServerResponse, body: string): void {
    const session = world.sessions.get(url.slice('/c/pay/'.length));
    if (session?.status !== 'open') return void response.writeHead(410).end('This page has expired.');
    const { act } = method === 'POST' ? readForm(body) : {};
    if (act === 'pay') stripe.pay(session.id);
    if (act === 'debit') stripe.startDebit(session.id);
    if (act === 'decline') stripe.decline(session.id, 'insufficient_funds');
    if (act === 'pay' || act === 'debit') return void response.writeHead(303, { location: session.success_url! }).end();
    const button = (name: string): string => `<button name="act" value="${name}">${name}</button>`;
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(
      `<!doctype html><html lang="en"><title>Scripted Stripe</title><h1>${session.amount_total! / 100} USD</h1><form method="post">` +
        `${['pay', 'debit', 'decline'].map(button).join('')}</form><a href="${session.cancel_url}">Back</a>`,
    );
  }

  await stripe.listen();
  return stripe;
}

function failure(status: number, type: string, code: string | null, message: string, parameter?: string): Reply {
  return { status, body: { error: { type, code, message, ...(parameter !== undefined && { param: parameter }) } } };
}

function changedBy(fault: ApiFault | undefined, body: object): object {
  if (fault === 'other_payment_after') return { ...body, metadata: { payment: OTHER_ID, refund: OTHER_ID } };
  return fault === 'other_amount_after' ? { ...body, amount_total: 1, amount: 1 } : body;
}

function missing(id: string): Reply {
  return failure(404, 'invalid_request_error', 'resource_missing', `No such object: '${id}'`, 'id');
}

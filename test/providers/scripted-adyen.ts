import { createHmac, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { signedText } from '../../src/providers/adyen-callbacks.ts';
import { adyenProblems } from './adyen-contract.ts';
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
  type Change,
  type Item,
  type Link,
  type Movement,
  type PaymentAtAdyen,
  settlementReport,
} from './scripted-adyen-objects.ts';

/** Defect of a forged callback. */
export type AdyenForgery =
  'other_key' | 'unsigned' | 'changed_amount' | 'changed_reference' | 'no_password' | 'other_password';

/** Running server that behaves like Adyen, with its objects and the actions of buyer, bank and Adyen. */
export type ScriptedAdyen = Awaited<ReturnType<typeof startScriptedAdyen>>;

const CALLBACK_USER = 'tillway';

/**
 * Starts a stateful server that behaves like Adyen: API with contract checks, payment pages, callbacks and settlement reports.
 * Its methods are actions of the buyer, the bank or Adyen.
 */
export async function startScriptedAdyen(options: { now?: () => number; callbackUrl?: string; port?: number } = {}) {
  const { now = () => Date.now() } = options;
  const seed = randomBytes(4).toString('hex').toUpperCase();
  const replies = new Map<string, { request: string; reply: Reply }>();
  let [count, batch] = [0, 0];
  const queue = createSendQueue();
  const port = createPort((request, response) => void answer(request, response), options.port);

  const newPsp = (): string => `${seed}${String(++count).padStart(8, '0')}`;
  const time = (): string => new Date(now()).toISOString();

  const adyen = {
    url: '',
    apiKey: `AQEtest_${randomBytes(16).toString('hex')}`,
    merchantAccount: 'TestMerchant',
    hmacKey: randomBytes(32).toString('hex').toUpperCase(),
    callbackPassword: randomBytes(12).toString('hex'),
    callbackUser: CALLBACK_USER,
    links: new Map<string, Link>(),
    payments: new Map<string, PaymentAtAdyen>(),
    refunds: new Map<string, Change>(),
    disputes: new Map<string, Change>(),
    /** Changes of the balance that are not paid out. */
    movements: [] as Movement[],
    /** Payment methods of the merchant account. */
    methods: ['scheme', 'ach', 'cashapp'],
    /** Faults of the next requests to the API, in order; undefined: no fault. */
    faults: [] as (ApiFault | undefined)[],
    isKeyRevoked: false,
    paysBeforeAnswer: false,
    /** Fee rates by payment method. */
    rates: { scheme: 0.025, ach: 0.006, cashapp: 0.025 } as Record<string, number>,
    callbackUrl: options.callbackUrl,
    /** Decides how often and how late each item is sent. */
    sendingOf: (_item: Item): Sending => ({ times: 1, delayMs: 0 }),
    requests: [] as { method: string; path: string; problems: string[] }[],
    items: [] as Item[],
    /** Items whose callback was not answered with `[accepted]`. */
    undelivered: [] as Item[],

    /** Starts to listen, after `goDown` at the same port as before. */
    async listen(): Promise<void> {
      adyen.url = await port.listen();
    },
    goDown: port.goDown,
    async [Symbol.asyncDispose](): Promise<void> {
      await queue.sent();
      await adyen.goDown();
    },

    /** The buyer pays with an immediate method, such as a card. */
    pay(linkId: string): PaymentAtAdyen {
      return authorise(used(linkId, 'completed'), addPayment(linkId));
    },
    /** A second charge under the reference of a used link. */
    payAgain(linkId: string): PaymentAtAdyen {
      return authorise(adyen.links.get(linkId)!, addPayment(linkId));
    },
    decline(linkId: string, reason = 'Refused'): void {
      emit('AUTHORISATION', aboutPayment(addPayment(linkId)), { success: 'false', reason });
    },
    /** The buyer authorizes a bank debit, which succeeds or fails days later. */
    startDebit(linkId: string): PaymentAtAdyen {
      const payment = addPayment(linkId);
      used(linkId, 'paymentPending');
      emit('PENDING', aboutPayment(payment));
      return payment;
    },
    /** The bank pays the debit; with a reason, it returns the debit, and the buyer can use the link until it expires. */
    finishDebit(linkId: string, reason?: string): void {
      const link = adyen.links.get(linkId)!;
      const payment = [...adyen.payments.values()].findLast(({ reference }) => reference === link.reference)!;
      if (reason === undefined) return void authorise(used(linkId, 'completed'), payment);
      used(linkId, Date.parse(link.expiresAt) > now() ? 'active' : 'expired');
      emit('AUTHORISATION', aboutPayment(payment), { success: 'false', reason });
    },
    expire(linkId: string): void {
      const { reference, amount } = used(linkId, 'expired');
      const about = { psp: newPsp(), payment: '', reference, cents: amount.value };
      emit('OFFER_CLOSED', about);
    },
    finishRefund(psp: string, reason?: string): void {
      const refund = adyen.refunds.get(psp)!;
      if (reason === undefined) move('Refunded', refund, -refund.cents);
      else paymentOf(refund).refunded -= refund.cents;
      emit('REFUND', refund, { success: String(reason === undefined), reason: reason ?? '' });
    },
    /** The bank returns a refund that succeeded. */
    returnRefund(psp: string, eventCode: 'REFUND_FAILED' | 'REFUNDED_REVERSED' = 'REFUND_FAILED'): void {
      const refund = adyen.refunds.get(psp)!;
      move('RefundedReversed', refund, refund.cents);
      emit(eventCode, refund, { reason: 'The account is closed' });
    },
    /** A person refunds in the Customer Area, so the notification has the reference of the payment. */
    refundInCustomerArea(payment: PaymentAtAdyen, cents: number): Change {
      const refund = addRefund(payment, cents, payment.reference);
      adyen.finishRefund(refund.psp);
      return refund;
    },
    /** The bank opens a dispute; the money is not taken yet. */
    openDispute(payment: PaymentAtAdyen, eventCode = 'NOTIFICATION_OF_CHARGEBACK'): Change {
      const cents = payment.cents - payment.refunded;
      const dispute = { psp: newPsp(), payment: payment.psp, reference: payment.reference, cents };
      adyen.disputes.set(dispute.psp, dispute);
      emit(eventCode, dispute);
      return dispute;
    },
    /** Adyen takes the disputed money, with a fee that only the settlement report shows. */
    chargeBack(dispute: Change, { again = false, fee = 0, cents = dispute.cents } = {}): void {
      move(again ? 'SecondChargeback' : 'Chargeback', dispute, -cents, fee);
      emit(again ? 'SECOND_CHARGEBACK' : 'CHARGEBACK', { ...dispute, cents }, { reason: 'Fraudulent' });
    },
    reverseChargeback(dispute: Change, cents = dispute.cents): void {
      move('ChargebackReversed', dispute, cents);
      emit('CHARGEBACK_REVERSED', { ...dispute, cents });
    },
    /** Adyen or a person ends an authorised payment, so its money never arrives. */
    endAuthorised(
      payment: PaymentAtAdyen,
      eventCode: 'CAPTURE_FAILED' | 'CANCELLATION' | 'TECHNICAL_CANCEL' | 'CANCEL_OR_REFUND',
    ): Item {
      adyen.movements = adyen.movements.filter((one) => one.payment !== payment);
      const { psp, reference, cents } = payment;
      return emit(eventCode, { psp: newPsp(), payment: psp, reference, cents });
    },
    /** Pays out the balance; returns the Settlement details report. */
    payOut: (): string => settlementReport(adyen.merchantAccount, ++batch, adyen.movements.splice(0)),
    /** Balance of the merchant account in cents. */
    balance: (): number => adyen.movements.reduce((sum, { net }) => sum + net, 0),

    /** Builds the callback of items, genuine or with the defect `forgery` in its last item. */
    callbackOf(items: readonly Item[], forgery?: AdyenForgery, live = 'false') {
      const signed = items.map((item, index) => signedItem(item, index === items.length - 1 ? forgery : undefined));
      const body = JSON.stringify({
        live,
        notificationItems: signed.map((item) => ({ NotificationRequestItem: item })),
      });
      const password = forgery === 'other_password' ? 'wrong' : adyen.callbackPassword;
      const authorization = `Basic ${Buffer.from(`${CALLBACK_USER}:${password}`).toString('base64')}`;
      const headers = { 'content-type': 'application/json', ...(forgery !== 'no_password' && { authorization }) };
      return { body, headers: headers as Record<string, string> };
    },
    /** Sends one callback with items now; returns the HTTP status, or 0 without an answer. */
    async send(items: readonly Item[], forgery?: AdyenForgery, live?: string): Promise<number> {
      const { status, text: reply } = await postCallback(adyen.callbackUrl!, adyen.callbackOf(items, forgery, live));
      if (reply !== '[accepted]' && forgery === undefined) adyen.undelivered.push(...items);
      return status;
    },
    /** The operator tests the webhook in the Customer Area. */
    sendTest: (): Promise<number> =>
      adyen.send([itemOf('REPORT_AVAILABLE', { psp: newPsp(), payment: '', reference: 'testMerchantRef1', cents: 0 })]),
    /** Waits until all callbacks are sent. */
    sent: queue.sent,
    /** Sends undelivered items again, as Adyen does for 30 days. */
    async resend(): Promise<void> {
      for (const item of adyen.undelivered.splice(0)) await adyen.send([item]);
    },
    itemOf,
  };

  function itemOf(eventCode: string, { psp, payment, reference, cents }: Change, fields: Partial<Item> = {}): Item {
    return {
      pspReference: psp,
      originalReference: payment,
      merchantAccountCode: adyen.merchantAccount,
      merchantReference: reference,
      amount: { currency: 'USD', value: cents },
      eventCode,
      success: 'true',
      eventDate: time(),
      reason: '',
      paymentMethod: 'visa',
      ...fields,
    };
  }

  function signedItem(item: Item, forgery: AdyenForgery | undefined) {
    const key = forgery === 'other_key' ? 'ab'.repeat(32) : adyen.hmacKey;
    const content = signedText(item as Parameters<typeof signedText>[0]);
    const hmacSignature = createHmac('sha256', Buffer.from(key, 'hex')).update(content).digest('base64');
    return {
      ...item,
      ...(forgery === 'changed_amount' && { amount: { currency: 'USD', value: item.amount.value + 1 } }),
      ...(forgery === 'changed_reference' && { merchantReference: `pay_${'0'.repeat(36)}` }),
      ...(forgery !== 'unsigned' && { additionalData: { ...item.additionalData, hmacSignature } }),
    };
  }

  function emit(eventCode: string, about: Change, fields: Partial<Item> = {}): Item {
    const item = itemOf(eventCode, about, fields);
    adyen.items.push(item);
    if (adyen.callbackUrl !== undefined) queue.add(adyen.sendingOf(item), () => adyen.send([item]));
    return item;
  }

  /** Changes the status of a link that is not closed. */
  function used(linkId: string, status: string): Link {
    const link = adyen.links.get(linkId);
    if (!link || !['active', 'paymentPending'].includes(link.status)) throw new Error(`${linkId} is not active`);
    return Object.assign(link, { status, updatedAt: time() });
  }

  function addPayment(linkId: string): PaymentAtAdyen {
    const { reference, amount, allowedPaymentMethods, status } = adyen.links.get(linkId)!;
    if (status !== 'active' && status !== 'completed') throw new Error(`${linkId} is not active`);
    const method = allowedPaymentMethods[0]!;
    const payment = { psp: newPsp(), reference, cents: amount.value, method, refunded: 0 };
    adyen.payments.set(payment.psp, payment);
    return payment;
  }

  function authorise(_link: Link, payment: PaymentAtAdyen): PaymentAtAdyen {
    const fee = Math.round(payment.cents * adyen.rates[payment.method]!);
    move('Settled', { ...aboutPayment(payment), payment: payment.psp, psp: newPsp() }, payment.cents, fee);
    emit('AUTHORISATION', aboutPayment(payment));
    return payment;
  }

  function aboutPayment({ psp, reference, cents }: PaymentAtAdyen): Change {
    return { psp, payment: '', reference, cents };
  }

  function paymentOf(change: Change): PaymentAtAdyen {
    return adyen.payments.get(change.payment)!;
  }

  function move(type: string, change: Change, gross: number, fee = 0): void {
    const payment = paymentOf(change);
    adyen.movements.push({ type, payment, modification: change.psp, gross, net: gross - fee, time: now() });
  }

  function addRefund(payment: PaymentAtAdyen, cents: number, reference: string): Change {
    payment.refunded += cents;
    const refund = { psp: newPsp(), payment: payment.psp, reference, cents };
    adyen.refunds.set(refund.psp, refund);
    return refund;
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request).catch(() => '');
    if (request.url?.startsWith('/pay/')) return answerPage(request, response, body);
    const fault = adyen.faults.shift();
    await answerWithFault(fault, request, response, async () => {
      const reply = await apiReply(request, body, fault);
      return { ...reply, body: changedBy(fault, reply.body), headers: { pspreference: newPsp() } };
    });
  }

  async function apiReply(request: IncomingMessage, body: string, fault: ApiFault | undefined): Promise<Reply> {
    const { method = 'GET', url = '/', headers } = request;
    if (adyen.isKeyRevoked || headers['x-api-key'] !== adyen.apiKey)
      return failure(401, '000', 'HTTP Status Response - Unauthorized');
    if (fault === 'forbidden') return failure(403, '010', 'Not allowed');
    if (fault === 'error_500_before') return failure(500, '905', 'Payment details are not supported');
    const problems = adyenProblems({ method, url, headers, body });
    const path = url.replace(/^\/v71/, '');
    adyen.requests.push({ method, path, problems });
    if (problems.length > 0) return failure(422, '130', problems[0]!);
    const json = (body === '' ? {} : JSON.parse(body)) as Record<string, unknown>;
    const key = headers['idempotency-key'];
    const before = typeof key === 'string' ? replies.get(key) : undefined;
    if (before && before.request !== `${url} ${body}`)
      return failure(422, '704', 'request already processed or in progress');
    const reply = before?.reply ?? (await operate(method, path, json));
    if (typeof key === 'string') replies.set(key, { request: `${url} ${body}`, reply });
    return fault === 'error_500_after' ? failure(500, '905', 'Internal error') : reply;
  }

  async function operate(method: string, path: string, json: Record<string, unknown>): Promise<Reply> {
    const [, resource, id = ''] = path.split('/');
    if (json['merchantAccount'] !== undefined && json['merchantAccount'] !== adyen.merchantAccount)
      return failure(403, '901', 'Invalid Merchant Account');
    if (resource === 'paymentMethods')
      return { status: 200, body: { paymentMethods: adyen.methods.map((type) => ({ type, name: type })) } };
    if (resource === 'payments') return createRefund(decodeURIComponent(id), json);
    if (method === 'POST') return createLink(json);
    const link = adyen.links.get(id);
    if (!link) return failure(404, '000', 'Payment link was not found');
    if (method === 'PATCH' && link.status !== 'active') return failure(422, '000', `The link is ${link.status}`);
    if (method === 'PATCH') adyen.expire(id);
    return { status: 200, body: structuredClone(link) };
  }

  async function createLink(json: Record<string, unknown>): Promise<Reply> {
    const expiresAt = String(json['expiresAt']);
    const window = Date.parse(expiresAt) - now();
    if (!(window > 0 && window <= 70 * 86_400_000)) return failure(422, '000', 'expiresAt is out of range');
    const id = `PL${newPsp()}`;
    const link = { ...json, id, status: 'active', url: `${adyen.url}/pay/${id}`, updatedAt: time() } as unknown as Link;
    adyen.links.set(id, link);
    const reply = { status: 201, body: structuredClone(link) };
    if (adyen.paysBeforeAnswer) adyen.pay(id);
    await queue.sent();
    return reply;
  }

  function createRefund(psp: string, json: Record<string, unknown>): Reply {
    const payment = adyen.payments.get(psp);
    if (!payment) return failure(422, '167', 'Original pspReference required for this operation');
    const { value } = json['amount'] as Item['amount'];
    const refund = addRefund(payment, value, String(json['reference']));
    const body = { ...json, pspReference: refund.psp, paymentPspReference: psp, status: 'received' };
    return { status: 201, body };
  }

  /** Serves the payment page; the form field `act` selects the buyer's action. */
  function answerPage({ url = '', method }: IncomingMessage, response: ServerResponse, body: string): void {
    const link = adyen.links.get(url.slice('/pay/'.length));
    if (link?.status !== 'active') return void response.writeHead(410).end('This page has expired.');
    const act = method === 'POST' ? new URLSearchParams(body).get('act') : null;
    if (act === 'pay') adyen.pay(link.id);
    if (act === 'debit') adyen.startDebit(link.id);
    if (act === 'decline') adyen.decline(link.id, 'Not enough balance');
    if (act === 'pay' || act === 'debit') return void response.writeHead(303, { location: link.returnUrl }).end();
    const buttons = ['pay', 'debit', 'decline'].map((name) => `<button name="act" value="${name}">${name}</button>`);
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(`<!doctype html><title>Scripted Adyen</title><form method="post">${buttons.join('')}</form>`);
  }

  await adyen.listen();
  return adyen;
}

function failure(status: number, errorCode: string, message: string): Reply {
  return { status, body: { status, errorCode, message, errorType: status === 401 ? 'security' : 'validation' } };
}

function changedBy(fault: ApiFault | undefined, body: object): object {
  if (fault === 'empty_after') return {};
  if (fault === 'other_payment_after')
    return { ...body, reference: `pay_${'0'.repeat(36)}`, paymentPspReference: 'OTHER' };
  return fault === 'other_amount_after' ? { ...body, amount: { currency: 'USD', value: 1 } } : body;
}

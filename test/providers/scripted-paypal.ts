import { randomBytes, randomInt } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { OPERATIONS, paypalProblems } from './paypal-contract.ts';
import {
  type ApiFault,
  type Reply,
  type Sending,
  answerWithFault,
  createPort,
  createSendQueue,
  postCallback,
  hang,
} from './scripted-party.ts';
import { type EventType, type Json, type Made, EVENT_TYPES, createAccount } from './scripted-paypal-account.ts';
import { failure, missing, unprocessable } from './scripted-paypal-errors.ts';
import {
  type PaypalEvent,
  PAYER_ID,
  createResources,
  emptyWorld,
  isWaiting,
  moneyOf,
  timeOf,
} from './scripted-paypal-objects.ts';
import {
  type PaypalCallback,
  type PaypalForgery,
  PAYPAL_CERTIFICATES,
  signedCallback,
} from './scripted-paypal-signature.ts';

/** Fault of one request for a certificate. */
export type CertificateFault = 'error_500' | 'garbage' | 'redirect' | 'too_large' | 'drop' | 'hang';

export interface ScriptedPaypalOptions {
  /** URL that receives the callbacks; without it, the server only records its events. */
  callbackUrl?: string;
  /** Clock, in milliseconds since 1970. */
  now?: () => number;
  port?: number;
}

/** Request to the API as the server received it. */
export interface PaypalRequest {
  /** Method and path with the names of parameters: `POST /v2/checkout/orders/{id}/capture`. */
  operation: string;
  id: string;
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** Violations of PayPal's documentation, and of its description if PROVIDER_DATA is set. */
  problems: string[];
}

/** Running server that behaves like PayPal, with its objects and the actions of buyer, bank and PayPal. */
export type ScriptedPaypal = Awaited<ReturnType<typeof startScriptedPaypal>>;

const HOUR = 3_600_000;
const TOKEN_SECONDS = 32_400;
const ORDER_KEY_MS = 6 * HOUR;
const PAYMENT_KEY_MS = 45 * 24 * HOUR;
const CERTIFICATE_PATH = /^\/(?:v1\/notifications\/certs|uploads)\/([^/]+)$/;
const OTHER_ID = `pay_${'0'.repeat(36)}`;

const SCOPES = [
  'https://uri.paypal.com/services/payments/payment/authcapture',
  'https://uri.paypal.com/services/payments/refund',
  'https://uri.paypal.com/services/payments/orders/client-side-integration',
  'https://uri.paypal.com/services/disputes/read-seller',
  'https://uri.paypal.com/services/applications/webhooks',
  'openid',
];

/** Operations with their paths; `([^/]+)` is the id. */
const PATTERNS: Readonly<Record<string, RegExp>> = Object.fromEntries(
  [...OPERATIONS, 'GET /v1/customer/disputes', 'GET /v1/customer/disputes/{id}'].map((name) => [
    name,
    new RegExp(`^${name.replace(/\{\w+\}/, '([^/]+)')}$`),
  ]),
);

/**
 * Starts a stateful server that behaves like PayPal: API with contract checks, the buyer's page, certificates and signed
 * callbacks. Its methods are actions of the buyer, the bank or PayPal.
 */
export async function startScriptedPaypal(options: ScriptedPaypalOptions = {}) {
  const { now = () => Date.now() } = options;
  const world = emptyWorld();
  const resources = createResources(world, (): string => paypal.url);
  const { link, orderOf, captureAlone, refundOf, disputeSummary, disputeOf } = resources;
  const seed = randomInt(36 ** 8)
    .toString(36)
    .toUpperCase()
    .padStart(8, '0');
  const tokens = new Map<string, number>();
  const replies = new Map<string, { request: string; expires: number; made: Promise<Made> }>();
  /** First transmissions of events: PayPal repeats an unanswered callback with the same id and time. */
  const transmissions = new Map<string, { transmissionId: string; timeMs: number }>();
  const queue = createSendQueue();
  const port = createPort((request, response) => void answer(request, response), options.port);
  let count = 0;

  /** Id like `5O190127TN364715T`: 17 letters and digits. */
  const newId = (): string => `${seed}${(++count).toString(36).toUpperCase().padStart(9, '0')}`;

  const account = createAccount({ world, resources, now, newId, emit });
  const paypal = Object.assign(account, {
    url: '',
    clientId: `AS${randomBytes(20).toString('hex')}`,
    clientSecret: `EK${randomBytes(20).toString('hex')}`,
    webhookId: newId(),
    /** URL and events of the webhook. Without a URL, the webhook has the URL that receives the callbacks. */
    webhook: { url: '', events: [...EVENT_TYPES] as string[] },
    scopes: SCOPES,
    /** Faults of the next requests to the API, in order; undefined: no fault. */
    faults: [] as (ApiFault | undefined)[],
    /** Faults of the next requests for an access token. */
    tokenFaults: [] as (ApiFault | undefined)[],
    /** Faults of the next requests for a certificate. */
    certificateFaults: [] as (CertificateFault | undefined)[],
    isKeyRevoked: false,
    /** Ids of orders that PayPal has removed. Their captures remain. */
    removedOrders: new Set<string>(),
    /** True to approve each order, and to send the callback, before the server answers the creation of the order. */
    paysBeforeAnswer: false,
    /** True if a repeated request is answered with the current state of its object, false for the first answer. */
    repeatsLatest: true,
    callbackUrl: options.callbackUrl,
    /** Decides how often and how late each event is sent. */
    sendingOf: (_event: PaypalEvent): Sending => ({ times: 1, delayMs: 0 }),
    /** Last part of the certificate URL in callbacks. */
    certificate: 'CERT-test',
    certificates: { ...PAYPAL_CERTIFICATES },
    /** Paths of all requests for certificates. */
    certificateRequests: [] as string[],
    /** Number of requests for an access token. */
    tokenRequests: 0,
    /** All API requests with a valid access token. */
    requests: [] as PaypalRequest[],
    events: [] as PaypalEvent[],
    /** Events whose callback was not answered with 2xx. */
    undelivered: [] as PaypalEvent[],

    /** Starts to listen, after `goDown` at the same port as before. */
    async listen(): Promise<void> {
      paypal.url = await port.listen();
    },
    goDown: port.goDown,
    async [Symbol.asyncDispose](): Promise<void> {
      await queue.sent();
      await paypal.goDown();
    },
    /** Invalidates all access tokens before they expire. */
    revokeTokens: (): void => tokens.clear(),

    /** Builds the callback of an event, genuine or with the defect `forgery`. */
    callbackOf(event: PaypalEvent, forgery?: PaypalForgery): PaypalCallback {
      const { url, webhookId, certificate } = paypal;
      const first = transmissions.get(event.id) ?? { timeMs: now() };
      const callback = signedCallback(JSON.stringify(event), { url, webhookId, certificate, ...first, forgery });
      const transmissionId = callback.headers['paypal-transmission-id']!;
      if (forgery === undefined) transmissions.set(event.id, { timeMs: first.timeMs, transmissionId });
      return callback;
    },
    /** Sends the callback of an event now; returns the HTTP status, or 0 without an answer. */
    async send(event: PaypalEvent, forgery?: PaypalForgery): Promise<number> {
      const { status } = await postCallback(paypal.callbackUrl!, paypal.callbackOf(event, forgery));
      const isAccepted = status >= 200 && status < 300;
      if (!isAccepted && forgery === undefined) paypal.undelivered.push(event);
      return status;
    },
    /** Waits until all callbacks are sent. */
    sent: queue.sent,
    /** Sends undelivered events again, as PayPal does for three days. */
    async resend(): Promise<void> {
      for (const event of paypal.undelivered.splice(0)) await paypal.send(event);
    },
  });

  function emit(type: EventType, resourceType: string, resource: object): void {
    const id = `WH-${newId()}-${newId()}`;
    const event: PaypalEvent = {
      id,
      event_version: '1.0',
      create_time: new Date(now()).toISOString(),
      resource_type: resourceType,
      resource_version: '2.0',
      event_type: type,
      summary: type.replaceAll(/[.-]/g, ' ').toLowerCase(),
      resource: structuredClone(resource),
      links: [link('self', `/v1/notifications/webhooks-events/${id}`)],
    };
    paypal.events.push(event);
    if (paypal.callbackUrl === undefined || !paypal.webhook.events.includes(type)) return;
    queue.add(paypal.sendingOf(event), () => paypal.send(event));
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request).catch(() => '');
    const { pathname } = new URL(request.url ?? '/', paypal.url);
    const [, certificate] = CERTIFICATE_PATH.exec(pathname) ?? [];
    if (certificate !== undefined) return answerCertificate(certificate, request, response);
    if (pathname === '/checkoutnow') return answerPage(request, response, body);
    const isToken = pathname === '/v1/oauth2/token';
    const fault = (isToken ? paypal.tokenFaults : paypal.faults).shift();
    await answerWithFault(fault, request, response, async () => {
      const reply = isToken ? tokenReply(request, body, fault) : await apiReply(request, body, fault);
      const debugId = randomBytes(7).toString('hex').slice(1);
      const debug = reply.status >= 400 && 'name' in reply.body && { debug_id: debugId };
      const headers = { ...reply.headers, 'paypal-debug-id': debugId };
      return { status: reply.status, body: { ...changedBy(fault, reply.body), ...debug }, headers };
    });
  }

  function tokenReply({ headers, method }: IncomingMessage, body: string, fault: ApiFault | undefined): Reply {
    paypal.tokenRequests++;
    const broken = brokenBefore(fault) ?? (fault === 'error_500_after' ? failure(500) : undefined);
    if (broken) return broken;
    const credentials = Buffer.from(`${paypal.clientId}:${paypal.clientSecret}`).toString('base64');
    if (paypal.isKeyRevoked || headers.authorization !== `Basic ${credentials}`) {
      const error_description = 'Client Authentication failed';
      return { status: 401, body: { error: 'invalid_client', error_description } };
    }
    const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true;
    if (method !== 'POST' || !isForm || new URLSearchParams(body).get('grant_type') !== 'client_credentials') {
      const error_description = 'Grant Type is NULL';
      return { status: 400, body: { error: 'unsupported_grant_type', error_description } };
    }
    const access_token = `A21AA${randomBytes(30).toString('base64url')}`;
    tokens.set(access_token, now() + TOKEN_SECONDS * 1000);
    const about = { token_type: 'Bearer', app_id: 'APP-80W284485P519543T', expires_in: TOKEN_SECONDS };
    return { status: 200, body: { scope: paypal.scopes.join(' '), access_token, ...about, nonce: timeOf(now()) } };
  }

  async function apiReply(request: IncomingMessage, body: string, fault: ApiFault | undefined): Promise<Reply> {
    const { method = 'GET', url = '/', headers } = request;
    const [, token = ''] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? [];
    if (paypal.isKeyRevoked || (tokens.get(token) ?? 0) <= now()) {
      const error_description = 'Token signature verification failed';
      return { status: 401, body: { error: 'invalid_token', error_description } };
    }
    const [path = ''] = url.split('?');
    const [operation = '', pattern] = Object.entries(PATTERNS).find(([, each]) => each.test(`${method} ${path}`)) ?? [];
    const problems = paypalProblems({ method, url, headers, body });
    const id = pattern?.exec(`${method} ${path}`)?.[1] ?? '';
    const recorded: PaypalRequest = { operation, id, method, url, headers, body, problems };
    paypal.requests.push(recorded);
    const broken = brokenBefore(fault);
    if (broken) return broken;
    if (method === 'POST' && headers['content-type'] !== 'application/json') return failure(415);
    const [description] = problems;
    if (description !== undefined) return failure(400, [{ issue: 'INVALID_PARAMETER_SYNTAX', description }]);
    const { latest: _, ...reply } = await once(recorded);
    return fault === 'error_500_after' ? failure(500) : reply;
  }

  /** Executes a request, or repeats the result of the request with the same PayPal-Request-Id. */
  async function once(recorded: PaypalRequest): Promise<Made> {
    const { url, body, headers } = recorded;
    const key = headers['paypal-request-id'];
    if (typeof key !== 'string') return operate(recorded);
    const request = `${url} ${body}`;
    const isOrder = url.startsWith('/v2/checkout/');
    const before = replies.get(key);
    if (before && before.expires > now()) {
      if (before.request !== request) return unprocessable('PAYPAL_REQUEST_ID_PREVIOUSLY_USED');
      const { status, body, latest } = await before.made;
      if (status >= 400) return { status, body };
      return { status: isOrder ? 200 : status, body: (paypal.repeatsLatest ? latest?.() : undefined) ?? body };
    }
    const made = operate(recorded);
    replies.set(key, { request, expires: now() + (isOrder ? ORDER_KEY_MS : PAYMENT_KEY_MS), made });
    return made;
  }

  async function operate({ operation, id, url, body, headers }: PaypalRequest): Promise<Made> {
    const isFull = headers['prefer'] === 'return=representation';
    const json = jsonOf(body);
    switch (operation) {
      case 'POST /v2/checkout/orders':
        return paysBefore(account.createOrder(json, isFull));
      case 'GET /v2/checkout/orders/{id}':
        return found(paypal.removedOrders.has(id) ? undefined : world.orders.get(id), orderOf);
      case 'POST /v2/checkout/orders/{id}/capture':
        return account.captureOrder(id, isFull);
      case 'GET /v2/payments/captures/{capture_id}':
        return found(world.captures.get(id), captureAlone);
      case 'POST /v2/payments/captures/{capture_id}/refund':
        return account.createRefund(id, json, isFull);
      case 'GET /v2/payments/refunds/{refund_id}':
        return found(world.refunds.get(id), refundOf);
      case 'GET /v1/customer/disputes/{id}':
        return found(world.disputes.get(id), disputeOf);
      case 'GET /v1/customer/disputes':
        return listDisputes(new URL(url, paypal.url).searchParams.get('disputed_transaction_id'));
      case 'GET /v1/notifications/webhooks/{webhook_id}':
        return id === paypal.webhookId ? { status: 200, body: webhookOf() } : missing();
      default:
        return missing();
    }
  }

  /** Approves a new order, and sends the callback, before the server answers if `paysBeforeAnswer` is true. */
  async function paysBefore(made: Made): Promise<Made> {
    if (!paypal.paysBeforeAnswer || made.status !== 201) return made;
    account.approve((made.body as { id: string }).id);
    await queue.sent();
    return made;
  }

  function webhookOf() {
    const { url, events } = paypal.webhook;
    const event_types = events.map((name) => ({ name, description: name.toLowerCase() }));
    const links = [link('self', `/v1/notifications/webhooks/${paypal.webhookId}`)];
    return { id: paypal.webhookId, url: url || (paypal.callbackUrl ?? 'https://shop.example/'), event_types, links };
  }

  function listDisputes(captureId: string | null): Reply {
    const all = [...world.disputes.values()].toReversed();
    const items = all.filter((each) => captureId === null || each.captureId === captureId).map(disputeSummary);
    return { status: 200, body: { items, links: [link('self', '/v1/customer/disputes')] } };
  }

  function answerCertificate(name: string, request: IncomingMessage, response: ServerResponse): void {
    paypal.certificateRequests.push(request.url ?? '');
    const certificate = paypal.certificates[name];
    switch (paypal.certificateFaults.shift()) {
      case 'drop':
        return void request.socket.destroy();
      case 'hang':
        return hang(response);
      case 'error_500':
        return void response.writeHead(500).end('oops');
      case 'redirect':
        return void response.writeHead(302, { location: '/uploads/CERT-test' }).end();
      case 'garbage':
        return void response.end('-----BEGIN CERTIFICATE-----\noops\n-----END CERTIFICATE-----\n');
      case 'too_large':
        return void response.end(`${certificate}${'\n'.repeat(1_000_000)}`);
      case undefined:
        if (certificate === undefined) return void response.writeHead(404).end('No such certificate');
        return void response.end(certificate);
    }
  }

  /** Serves the buyer's page; the form field `act` selects the buyer's action. */
  function answerPage({ url = '', method }: IncomingMessage, response: ServerResponse, body: string): void {
    const order = world.orders.get(new URL(url, paypal.url).searchParams.get('token') ?? '');
    if (!order || !isWaiting(order)) {
      return void response
        .writeHead(410, { 'content-type': 'text/html; charset=utf-8' })
        .end('<h1>This link has expired</h1>');
    }
    const act = method === 'POST' ? new URLSearchParams(body).get('act') : null;
    if (act === 'approve') paypal.approve(order.id);
    if (act === 'approve' || act === 'cancel') {
      const target = new URL(act === 'approve' ? order.returnUrl : order.cancelUrl);
      target.searchParams.set('token', order.id);
      if (act === 'approve') target.searchParams.set('PayerID', PAYER_ID);
      return void response.writeHead(302, { location: target.href }).end();
    }
    const { value, currency_code } = moneyOf(order.cents, order.currency);
    const seller = order.brandName.replaceAll(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(
      `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>Scripted PayPal</title>` +
        `<main><h1>Pay ${value} ${currency_code}</h1><p>to ${seller}</p><form method="post">` +
        `<button name="act" value="approve">Pay now</button> ` +
        `<button name="act" value="cancel">Cancel and return</button></form></main></html>`,
    );
  }

  await paypal.listen();
  return paypal;
}

function jsonOf(body: string): Json {
  try {
    return JSON.parse(body) as Json;
  } catch {
    return {};
  }
}

function found<Found>(object: Found | undefined, resourceOf: (object: Found) => object): Reply {
  return object === undefined ? missing() : { status: 200, body: resourceOf(object) };
}

function brokenBefore(fault: ApiFault | undefined): Reply | undefined {
  if (fault === 'error_500_before') return failure(500);
  if (fault === 'rate_limited') return { ...failure(429), headers: { 'retry-after': '2' } };
  if (fault !== 'forbidden') return undefined;
  const description = 'You do not have permission to access or perform operations on this resource.';
  return failure(403, [{ issue: 'PERMISSION_DENIED', description }]);
}

/** Reply with other amounts or for another payment. */
function changedBy(fault: ApiFault | undefined, body: object): object {
  if (fault !== 'other_amount_after' && fault !== 'other_payment_after') return body;
  const [field, value] = fault === 'other_amount_after' ? ['value', '0.01'] : ['custom_id', OTHER_ID];
  return JSON.parse(JSON.stringify(body, (key, each: unknown) => (key === field ? value : each))) as object;
}

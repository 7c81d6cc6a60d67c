import type { Payment, ProviderStatus } from '../../src/domain/records.ts';
import type { Environment } from '../../src/domain/route.ts';
import type { HandoffRequest, HandoffResult, Provider } from '../../src/providers/provider.ts';
import type { Service } from '../../src/service.ts';
import { aKnownPayment } from '../fixtures/provider-reports.ts';
import { startServer } from './http-server.ts';
import { providerSays } from './money-arrives.ts';

/** A provider that a test controls, with its own page on another origin. */
export interface FakeProvider extends Provider, AsyncDisposable {
  /** Result of the next handoffs; `accept` sends the buyer to the fake's page. */
  answer: 'accept' | 'accept_without_page' | 'refuse' | 'lose';
  handoffs: HandoffRequest[];
  /** Ids of payments that were cancelled, and have failed at the provider. */
  cancelled: string[];
  pageUrl: string;
}

export async function startFakeProvider(
  id = 'sandbox',
  environment: Environment = 'sandbox',
  host = 'localhost',
): Promise<FakeProvider> {
  const pages = await startServer((request, response) => {
    const back = new URL(request.url ?? '/', 'http://fake').searchParams.get('back') ?? '';
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(
      `<!doctype html><html lang="en"><title>Provider</title><h1>At the provider</h1><a href="${back}">Back</a>`,
    );
  });
  const pageUrl = `${pages.url.replace('127.0.0.1', host)}/pay`;
  const fake: FakeProvider = {
    id,
    environment,
    answer: 'accept',
    handoffs: [],
    cancelled: [],
    pageUrl,
    async handoff(request) {
      fake.handoffs.push(request);
      return answerOf(fake, request);
    },
    traits: { cancel: 'holds', lookup: 'own_id', refunds: 'api', costRefundable: true, resend: 'always' },
    readCallback() {
      throw new Error('the fake provider sends no callbacks');
    },
    async inquire({ id: paymentId, amount }: Payment) {
      if (!fake.cancelled.includes(paymentId)) throw new Error('the fake provider does not respond to inquiries');
      const failure = { code: 'cancelled', source: 'buyer', reason: null } as const;
      return aKnownPayment(paymentId, { status: 'failed', amount, failure });
    },
    async cancel(payment: Payment) {
      fake.cancelled.push(payment.id);
      return 'cancelled';
    },
    async refund() {
      return { status: 'succeeded', reason: null };
    },
    async inquireRefund() {
      return undefined;
    },
    check: async () => ({ ready: true, findings: [] }),
    [Symbol.asyncDispose]: () => pages[Symbol.asyncDispose](),
  };
  return fake;
}

/** Connects the provider to a running service, and sets the health of its routes to live. */
export function connect(service: Service, provider: Provider): void {
  service.deps.providers = new Map([...service.deps.providers, [provider.id, provider]]);
  service.deps.routes = service.deps.routes.map((route) =>
    route.integrationId === provider.id ? { ...route, health: 'live' } : route,
  );
}

/** Applies a verified report of the provider about the newest payment of a session. */
export async function report(
  service: Service,
  sessionId: string,
  status: ProviderStatus,
  payment?: Payment,
): Promise<void> {
  const { payments } = (await service.deps.store.checkout(sessionId))!;
  const { id: paymentId, route } = payment ?? payments.at(-1)!;
  await providerSays({ service }, sessionId, status, { paymentId, provider: route.provider });
}

function answerOf(fake: FakeProvider, { payment, returnUrl }: HandoffRequest): HandoffResult {
  const reference = `fake_${payment.id}`;
  switch (fake.answer) {
    case 'accept':
      return { outcome: 'accepted', reference, url: `${fake.pageUrl}?back=${encodeURIComponent(returnUrl)}` };
    case 'accept_without_page':
      return { outcome: 'accepted', reference, url: null };
    case 'refuse':
      return { outcome: 'refused', reason: 'the test says so', providerReason: null };
    case 'lose':
      return { outcome: 'ambiguous', reason: 'the test says so', isAnswered: false };
  }
}

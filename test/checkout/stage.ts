import { createRefund } from '../../src/operations/refunds/create-refund.ts';
import { DAY } from '../fixtures/checkout-records.ts';
import { reportPayment } from '../fixtures/provider-reports.ts';
import { createSession } from '../simulator/buyer.ts';
import { type FakeProvider, connect, report, startFakeProvider } from '../support/fake-provider.ts';
import { type TestService, call, startTestService } from '../support/service.ts';

/** `redirectUrl` of the sessions, with a query and a fragment. */
export const REDIRECT_URL = 'https://shop.example/thanks?order=7#top';
/** A text that runs a script if a page does not escape it. */
export const HTML_INJECTION = '<img src=x onerror="document.title=1">';

/** Creates checkouts and brings them into any state. */
export interface Stage {
  create: (overrides?: Record<string, unknown>) => Promise<string>;
  /** Sends a form of the checkout page as a browser does; returns the status and the redirect. */
  submit: (id: string, step: string, fields?: Record<string, string>) => Promise<{ status: number; location: string }>;
  start: (id: string, answer?: FakeProvider['answer'], kind?: string) => Promise<void>;
  report: (id: string, status: 'paid' | 'failed') => Promise<void>;
  url: (id: string) => string;
}

// Total that the buyer accepts, in cents, higher than every total in these tests.
const ANY_TOTAL = '99999999';

/** Creates the actions on checkouts for tests, with the fake provider that the service is connected to. */
export function createStage(test: TestService, fake: FakeProvider): Stage {
  const url = (id: string) => `${test.url}/checkout/${id}`;
  const stage: Stage = {
    url,
    create: (overrides = {}) => createSession(test, { redirectUrl: REDIRECT_URL, ...overrides }),
    async submit(id, step, fields = {}) {
      // The form on the current page contains this attempt number.
      const attempt = String((await test.service.deps.store.session(id))?.attempts ?? 0);
      const answer = await fetch(`${url(id)}/${step}`, {
        method: 'POST',
        redirect: 'manual',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ attempt, ...fields }).toString(),
      });
      await answer.arrayBuffer();
      return { status: answer.status, location: answer.headers.get('location') ?? '' };
    },
    async start(id, answer = 'accept', kind = 'card') {
      fake.answer = answer;
      await stage.submit(id, 'pay', { kind, [`total_${kind}`]: ANY_TOTAL });
      fake.answer = 'accept';
    },
    report: (id, status) => report(test.service, id, status),
  };
  return stage;
}

/** Starts a service with the fake provider, shared by all tests of a file; `end` stops both. */
export async function startStage() {
  const service = await startTestService();
  const fake = await startFakeProvider();
  connect(service.service, fake);
  return {
    service,
    fake,
    stage: createStage(service, fake),
    async end() {
      await fake[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

/** Creates a checkout in each state; returns the URLs of the pages by the name of the state. */
export async function everyState(test: TestService, stage: Stage): Promise<Map<string, string>> {
  const { create, start, submit, url } = stage;
  const states = new Map<string, string>();
  const add = async (name: string, id: string, bring: (id: string) => Promise<unknown> = async () => {}) => {
    await bring(id);
    states.set(name, url(id));
  };
  const declined = async (id: string) => {
    await start(id);
    await stage.report(id, 'failed');
  };

  await add('choose', await create());
  states.set('notice', `${url(await create())}?notice=fee_changed`);
  await add('declined', await create({ preferredRoute: 'wallet' }), declined);
  await add('switched', await create(), async (id) => {
    await start(id);
    await submit(id, 'switch');
  });
  await add('waiting', await create(), (id) => start(id));
  states.set('not-stopped', `${states.get('waiting')!}?notice=not_stopped`);
  await add('confirming', await create(), (id) => start(id, 'lose'));
  states.set('returned', `${states.get('waiting')!}?returned=1`);
  await add('processing', await create(), async (id) => {
    await start(id);
    await reportProcessing(test, id);
  });
  await add('paid', await create({ amount: 1234.56, preferredRoute: 'wallet' }), async (id) => {
    await start(id, 'accept', 'wallet');
    await stage.report(id, 'paid');
  });
  await add('paid-own-page', await create({ redirectUrl: undefined }), async (id) => {
    await start(id);
    await stage.report(id, 'paid');
  });
  await add('refunded', await create(), async (id) => {
    await start(id);
    await stage.report(id, 'paid');
    const payment = (await test.service.deps.store.checkout(id))!.payments[0]!;
    await createRefund(test.service.deps, payment.id, {});
    await test.service.runDue();
  });
  // No worker runs from here on, so the refund of the surplus stays pending.
  await add('surplus', await create(), (id) => payTwice(test, stage, id));
  await add('failed', await create(), async (id) => {
    await declined(id);
    await submit(id, 'cancel');
  });
  await add('failed-uncertain', await create(), async (id) => {
    await start(id);
    await submit(id, 'cancel');
  });
  const withoutRedirect = { redirectUrl: undefined, clientReferenceId: 'A-1001' };
  await add('failed-own-page', await create(withoutRedirect), async (id) => {
    await declined(id);
    await submit(id, 'cancel');
  });
  await add('failed-uncertain-own-page', await create(withoutRedirect), async (id) => {
    await start(id);
    await submit(id, 'cancel');
  });
  const expire = (id: string) => call('POST', `${test.url}/api/gateway/sessions/${id}/expire`);
  await add('expired', await create(), expire);
  await add('expired-own-page', await create(withoutRedirect), expire);
  await add('no-way', await create({ environment: 'production' }));
  await add('long', await create({ product: 'W'.repeat(120), customer: `${'w'.repeat(60)}@example.com` }));
  await add('rtl', await create({ product: 'דליל שדה לציפורים 🐦 כרך ב׳' }));
  await add('evil', await create({ product: HTML_INJECTION, metadata: { note: HTML_INJECTION } }));
  const unknown = (await create()).replace(/.{8}$/, '00000000');
  states.set('preview', `${url(unknown)}?preview=1`);
  states.set('unknown', url(unknown));
  return states;
}

/** Abandons the first payment, pays the second one, and then pays the first one too. */
export async function payTwice(test: TestService, stage: Stage, id: string): Promise<void> {
  await stage.start(id);
  await stage.submit(id, 'switch');
  await stage.start(id);
  await stage.report(id, 'paid');
  const [first] = (await test.service.deps.store.checkout(id))!.payments;
  await report(test.service, id, 'paid', first);
}

/** The provider reports that the money of the newest payment is on its way. */
async function reportProcessing({ service: { deps } }: TestService, sessionId: string): Promise<void> {
  const { session, payments } = (await deps.store.checkout(sessionId))!;
  const expectedBy = deps.now() + 10 * DAY;
  const fields = { status: 'provider_pending', amount: session.amount, expectedBy } as const;
  await reportPayment(deps, { sessionId, paymentId: payments.at(-1)!.id, ...fields });
}

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { serveAssets } from '../html/assets.ts';
import { acceptForms, formOf, seeOther, sendPage } from '../html/page.ts';
import type { SimulatedPayment } from '../store/simulator.ts';
import { type CardForm, filledCardForm, readCardForm } from './card-form.ts';
import { type SimulatorDeps, leaveUnpaid, payWith } from './charges.ts';
import { type Instrument, instrumentById } from './instruments.ts';
import { STYLESHEET } from './layout.ts';
import { type Filled, closedPage, instrumentsPage, payPage, returnPage, unknownPage } from './views.ts';

interface PayPath {
  Params: { reference: string };
  Querystring: { use?: unknown };
}

/** Where the buyer pays: plain pages and forms, complete without JavaScript. */
export function simulatorPages(app: FastifyInstance, deps: SimulatorDeps, publicUrl: string): void {
  serveAssets(app, [STYLESHEET]);
  app.register(async (scope) => {
    acceptForms(scope, [publicUrl]);
    scope.get('/simulator', (_request, reply) => sendPage(reply, 200, instrumentsPage()));

    scope.get<PayPath>('/simulator/pay/:reference', async (request, reply) => {
      const payment = await deps.store.simulatedPayment(request.params.reference);
      if (!payment) return sendPage(reply, 404, unknownPage());
      if (payment.status !== 'open') return sendPage(reply, 200, closedPage(payment));
      return sendPage(reply, 200, payPage(payment, prefilled(request.query.use)));
    });

    scope.post<PayPath>('/simulator/pay/:reference', async (request, reply) => {
      const form = formOf(request);
      const payment = await deps.store.simulatedPayment(request.params.reference);
      if (!payment) return sendPage(reply, 404, unknownPage());
      const { instrument, filled } = readPayForm(payment, form, deps.now());
      // A second click, or a second tab: it goes where the first one went.
      if (payment.status === 'open') {
        if (!instrument) return sendPage(reply, 400, payPage(payment, filled));
        await payWith(deps, payment, instrument);
      }
      return sendBack(request, reply, payment);
    });

    scope.post<PayPath>('/simulator/pay/:reference/cancel', async (request, reply) => {
      const payment = await deps.store.simulatedPayment(request.params.reference);
      if (!payment) return sendPage(reply, 404, unknownPage());
      await leaveUnpaid(deps, payment);
      return sendBack(request, reply, payment);
    });
  });
}

/** The form as a link of the list of test outcomes fills it in. */
function prefilled(use: unknown): Filled {
  const instrument = typeof use === 'string' ? instrumentById(use) : undefined;
  if (!instrument) return {};
  return { card: filledCardForm(instrument), choice: { chosen: instrument.id, problem: undefined } };
}

/** What the buyer chose; without `instrument`, `filled` says what is wrong. */
function readPayForm(
  payment: SimulatedPayment,
  form: URLSearchParams,
  now: number,
): { instrument: Instrument | undefined; filled: Filled } {
  if (payment.kind === 'card') {
    const card: CardForm = readCardForm(form, now);
    const complete = Object.keys(card.problems).length === 0;
    return { instrument: complete ? card.instrument : undefined, filled: { card } };
  }
  const instrument = instrumentById(form.get('outcome') ?? '');
  return { instrument, filled: { choice: { chosen: '', problem: 'Choose one of the outcomes.' } } };
}

/** Back to the merchant. A form may lead within its own origin only; elsewhere a page of ours leads on. */
function sendBack(request: FastifyRequest, reply: FastifyReply, payment: SimulatedPayment): FastifyReply {
  const here = new URL(payment.returnUrl).host === request.headers.host;
  return here ? seeOther(reply, payment.returnUrl) : sendPage(reply, 200, returnPage(payment));
}

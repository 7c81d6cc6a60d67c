import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { serveAssets } from '../html/assets.ts';
import { acceptForms, formOf, seeOther, sendPage } from '../html/html-page.ts';
import { filledCardForm, readCardForm } from './card-page.ts';
import { type SimulatorDeps, cancelChargeByBuyer, payCharge } from './simulated-charges.ts';
import { type Instrument, instrumentById } from './test-instruments.ts';
import type { Charge } from './simulator-store.ts';
import {
  type PayPageInput,
  STYLESHEET,
  closedPage,
  instrumentsPage,
  payPage,
  returnPage,
  unknownPage,
} from './simulator-views.ts';

interface PayPath {
  Params: { reference: string };
  Querystring: { use?: unknown };
}

/** Serves the pages of the buyer, which work without JavaScript. */
export function simulatorPages(app: FastifyInstance, deps: SimulatorDeps, publicUrl: string): void {
  serveAssets(app, [STYLESHEET]);
  app.register(async (scope) => {
    acceptForms(scope, [publicUrl]);
    scope.get('/simulator', (_request, reply) => sendPage(reply, 200, instrumentsPage()));

    scope.get<PayPath>('/simulator/pay/:reference', async (request, reply) => {
      const charge = await deps.store.charge(request.params.reference);
      if (!charge) return sendPage(reply, 404, unknownPage());
      if (charge.status !== 'open') return sendPage(reply, 200, closedPage(charge));
      return sendPage(reply, 200, payPage(charge, prefilled(request.query.use)));
    });

    scope.post<PayPath>('/simulator/pay/:reference', async (request, reply) => {
      const form = formOf(request);
      const charge = await deps.store.charge(request.params.reference);
      if (!charge) return sendPage(reply, 404, unknownPage());
      const { instrument, filled } = readPayForm(charge, form, deps.now());
      // Redirects without another payment if the charge was already paid, such as after a second click or in a second tab.
      if (charge.status === 'open') {
        if (!instrument) return sendPage(reply, 400, payPage(charge, filled));
        await payCharge(deps, charge, instrument);
      }
      return sendBack(request, reply, charge);
    });

    scope.post<PayPath>('/simulator/pay/:reference/cancel', async (request, reply) => {
      const charge = await deps.store.charge(request.params.reference);
      if (!charge) return sendPage(reply, 404, unknownPage());
      await cancelChargeByBuyer(deps, charge);
      return sendBack(request, reply, charge);
    });
  });
}

/** Input of the pay page after a click on a link in the list of test outcomes: that outcome is filled in. */
function prefilled(use: unknown): PayPageInput {
  const instrument = typeof use === 'string' ? instrumentById(use) : undefined;
  if (!instrument) return {};
  return { card: filledCardForm(instrument), choice: { chosen: instrument.id, problem: undefined } };
}

/** Reads the buyer's choice from a sent form. Without `instrument`, `filled` contains the problem. */
function readPayForm(
  charge: Charge,
  form: URLSearchParams,
  now: number,
): { instrument: Instrument | undefined; filled: PayPageInput } {
  if (charge.kind === 'card') {
    const card = readCardForm(form, now);
    const complete = Object.keys(card.problems).length === 0;
    return { instrument: complete ? card.instrument : undefined, filled: { card } };
  }
  const instrument = instrumentById(form.get('outcome') ?? '');
  return { instrument, filled: { choice: { chosen: '', problem: 'Choose one of the outcomes.' } } };
}

/** Sends the buyer back to the merchant. A form may redirect only to its own origin, so a page redirects to another origin. */
function sendBack(request: FastifyRequest, reply: FastifyReply, charge: Charge): FastifyReply {
  const here = new URL(charge.returnUrl).host === request.headers.host;
  return here ? seeOther(reply, charge.returnUrl) : sendPage(reply, 200, returnPage(charge));
}

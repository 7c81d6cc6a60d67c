import { createHash, timingSafeEqual } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { GatewayError } from '../domain/gateway-error.ts';
import { type SimulatorDeps, acceptCharge, cancelCharge, capturedCharge } from './simulated-charges.ts';
import { acceptRefund, refundOf } from './simulated-refunds.ts';
import { type CallbackOptions, createCallbackWorker } from './simulator-callbacks.ts';
import { chargeReader, refundReader, renderCharge, renderRefund } from './simulator-messages.ts';
import { simulatorPages } from './simulator-pages.ts';
import type { Charge } from './simulator-store.ts';
import { handoffTagOf } from './test-instruments.ts';

const SLOW_ANSWER_MS = 8000;

/** Options of {@link createSimulator}. */
export interface SimulatorOptions extends Omit<SimulatorDeps, 'settlementDelayMs'>, Omit<CallbackOptions, 'realNow'> {
  /** Clock for the signatures of callbacks; by default `now`. */
  realNow?: CallbackOptions['realNow'];
  /** API key of the merchant's gateway. */
  apiKey: string;
  /** Origin of the buyer's pages, without a trailing slash. */
  publicUrl: string;
  settlementDelayMs?: number;
  /** Delay of the answer to a handoff tagged `handoff_timeout`; must be longer than the gateway waits. Default 8000. */
  slowAnswerMs?: number;
}

/** Creates the simulated provider, which moves no money. It uses the gateway only over HTTP, and has its own database tables. */
export function createSimulator(options: SimulatorOptions) {
  const { now, realNow = now, settlementDelayMs = 0 } = options;
  const deps: SimulatorDeps = { ...options, settlementDelayMs };
  return {
    part(this: void, app: FastifyInstance): void {
      simulatorApi(app, deps, options);
      simulatorPages(app, deps, options.publicUrl);
    },
    worker: createCallbackWorker(deps, { ...options, realNow }),
  };
}

interface ChargePath {
  Params: { charge: string };
}

/** Serves the simulated provider's API, which the gateway calls. A path names a charge by the gateway's payment id. */
function simulatorApi(
  app: FastifyInstance,
  deps: SimulatorDeps,
  { apiKey, publicUrl, slowAnswerMs = SLOW_ANSWER_MS }: SimulatorOptions,
): void {
  const render = (charge: Charge) => renderCharge(charge, `${publicUrl}/simulator/pay/${charge.reference}`);

  async function chargeOf({ params }: FastifyRequest<ChargePath>): Promise<Charge> {
    const charge = await deps.store.chargeOfPayment(params.charge);
    if (!charge) throw new GatewayError('not_found', 'The simulated provider has no such charge.');
    return charge;
  }

  app.register(
    async (scope) => {
      scope.addHook('onRequest', async (request) => requireKey(request, apiKey));
      scope.post('/', async (request) => {
        const order = chargeReader.read(request.body);
        const charge = await acceptCharge(deps, order);
        const tag = handoffTagOf(order.buyer_email, order.route);
        if (tag === 'handoff_timeout') await sleep(slowAnswerMs, undefined, { ref: false });
        return render(charge);
      });
      scope.get<ChargePath>('/:charge', async (request) => render(await chargeOf(request)));
      scope.post<ChargePath>('/:charge/cancel', async (request) => {
        await cancelCharge(deps, await chargeOf(request));
        return render(await chargeOf(request));
      });
      scope.post<ChargePath>('/:charge/refunds', async (request, reply) => {
        const order = refundReader.read(request.body);
        const sample = { charge: request.params.charge, merchant: '', product: 'Sample', return_url: publicUrl };
        const charge = await capturedCharge(deps, { ...order.charge, ...sample });
        const { refund, answer } = await acceptRefund(deps, charge, order);
        if (answer !== 'lost') return renderRefund(charge, refund, answer);
        reply.hijack();
        request.raw.socket.destroy();
        return undefined;
      });
      scope.get<{ Params: { charge: string; refund: string } }>('/:charge/refunds/:refund', async (request) => {
        const charge = await chargeOf(request);
        return renderRefund(charge, await refundOf(deps, charge, request.params.refund));
      });
    },
    { prefix: '/simulator/api/payments' },
  );
}

function requireKey(request: FastifyRequest, apiKey: string): void {
  // Compares hashes, because `timingSafeEqual` requires equal lengths.
  const given = sha256(request.headers.authorization ?? '');
  if (timingSafeEqual(given, sha256(`Bearer ${apiKey}`))) return;
  throw new GatewayError('unauthorized', 'The simulated provider does not know this API key.');
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { GatewayError } from '../domain/gateway-error.ts';
import { applySignal } from '../operations/apply-signal.ts';
import { queueHints } from '../operations/provider-hints.ts';
import type { Callback, Provider } from '../providers/provider.ts';
import type { AppDeps } from './app.ts';

interface CallbackPath {
  Params: { provider: string };
}
type CallbackRequest = FastifyRequest<CallbackPath>;

/** Limit of a callback's body. Larger than for other requests, because a provider can send several reports in one callback. */
const MAX_BODY_BYTES = 512 * 1024;

/** Serves provider callbacks: verifies the signature over the raw bytes, and responds after the commit. */
export function providerCallbacks(app: FastifyInstance, deps: AppDeps): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    const path = '/api/providers/:provider/callbacks';
    scope.post<CallbackPath>(path, { bodyLimit: MAX_BODY_BYTES }, async (request, reply) => {
      const { provider, body, callback } = await verify(deps, request).catch(async (error: unknown) => {
        if (error instanceof GatewayError && FORGED.has(error.code)) await app.limit('forged', request, reply);
        throw error;
      });
      const outcome = await apply(deps, provider, callback, body);
      return reply.send(callback.reply ?? { ok: true, outcome });
    });
  });
}

/** Error codes of callbacks for an unknown provider or with an invalid signature; such callbacks are rate-limited. */
const FORGED = new Set<GatewayError['code']>(['not_found', 'unauthorized']);

interface Verified {
  provider: Provider;
  body: Buffer;
  callback: Callback;
}

/** Verifies a callback. Throws GatewayError `not_found` for an unknown provider, and the errors of {@link Provider.readCallback}. */
async function verify({ providers }: AppDeps, request: CallbackRequest): Promise<Verified> {
  const provider = providers.get(request.params.provider);
  if (!provider) throw new GatewayError('not_found', 'No such provider is connected.');
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  return { provider, body, callback: await provider.readCallback(body, request.headers) };
}

/** Applies the signals and queues the hints of a callback. Returns all outcomes: `queued` for hints, `ignored` if it has neither. */
async function apply(
  deps: AppDeps,
  { id: provider, environment }: Provider,
  { signals, hints }: Callback,
  body: Buffer,
): Promise<string> {
  if (signals.length + hints.length === 0) deps.countForeignSignal(provider);
  const outcomes: string[] = [];
  for (const { eventId, outdatedBy, ...signal } of signals) {
    const received = { provider, environment, eventId, outdatedBy, signal, body: body.toString('utf8') };
    outcomes.push((await applySignal(deps, received)).outcome);
  }
  if (hints.length > 0) outcomes.push(...(await queueHints(deps, { provider, environment }, hints)));
  return outcomes.join(', ') || 'ignored';
}

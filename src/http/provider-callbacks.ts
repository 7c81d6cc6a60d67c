import type { FastifyInstance, FastifyRequest } from 'fastify';
import { GatewayError } from '../domain/gateway-error.ts';
import { type IncomingMessage, applyProviderMessage } from '../operations/apply-provider-message.ts';
import { applyRefundMessage } from '../operations/refunds/apply-refund-report.ts';
import { applySettlementMessage } from '../operations/settlement/settle-payment.ts';
import type { Provider, ProviderSignal } from '../providers/provider.ts';
import type { AppDeps } from './app.ts';

interface CallbackPath {
  Params: { provider: string };
}
type CallbackRequest = FastifyRequest<CallbackPath>;

/** Provider callbacks: the signature is verified over the raw bytes, and the response is sent after the commit. */
export function providerCallbacks(app: FastifyInstance, deps: AppDeps): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    scope.post<CallbackPath>('/api/providers/:provider/callbacks', async (request, reply) => {
      const { provider, body, signal } = await verify(deps, request).catch(async (error: unknown) => {
        if (error instanceof GatewayError && FORGED.has(error.code)) await app.limit('forged', request, reply);
        throw error;
      });
      const message = { provider: provider.id, environment: provider.environment, body: body.toString('utf8') };
      return reply.send({ ok: true, outcome: await apply(deps, signal, message) });
    });
  });
}

/** Error codes of a callback that no connected provider has signed. */
const FORGED = new Set<GatewayError['code']>(['not_found', 'unauthorized']);

interface Verified {
  provider: Provider;
  body: Buffer;
  signal: ProviderSignal;
}

/** Throws GatewayError `not_found` for an unknown provider, and the errors of {@link Provider.readCallback}. */
async function verify({ providers }: AppDeps, request: CallbackRequest): Promise<Verified> {
  const provider = providers.get(request.params.provider);
  if (!provider) throw new GatewayError('not_found', 'No such provider is connected.');
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  return { provider, body, signal: provider.readCallback(body, request.headers) };
}

/** Applies the message and returns its outcome. */
async function apply(
  deps: AppDeps,
  signal: ProviderSignal,
  message: Omit<IncomingMessage, 'callback'>,
): Promise<string> {
  switch (signal.about) {
    case 'payment':
      return (await applyProviderMessage(deps, { ...message, callback: signal.callback })).outcome;
    case 'refund':
      return applyRefundMessage(deps, { ...message, callback: signal.callback });
    case 'settlement':
      return applySettlementMessage(deps, { ...message, callback: signal.callback });
  }
}

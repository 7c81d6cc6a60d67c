import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../domain/errors.ts';
import { applyProviderMessage } from '../operations/apply-provider-message.ts';
import type { AppDeps } from './app.ts';

/** Where providers report: the signature is verified over the raw bytes, and the answer comes after the commit. */
export function providerCallbacks(app: FastifyInstance, deps: AppDeps): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    scope.post<{ Params: { provider: string } }>('/api/providers/:provider/callbacks', async (request, reply) => {
      const provider = deps.providers.get(request.params.provider);
      if (!provider) throw new GatewayError('not_found', 'No such provider is connected.');
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      const callback = provider.readCallback(body, request.headers);
      const { outcome } = await applyProviderMessage(deps, {
        provider: provider.id,
        environment: provider.environment,
        callback,
        body: body.toString('utf8'),
      });
      return reply.send({ ok: true, outcome });
    });
  });
}

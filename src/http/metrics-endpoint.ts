import type { FastifyInstance } from 'fastify';

/** `/metrics` for Prometheus; `read` answers the present values as text. */
export function metricsEndpoint(app: FastifyInstance, contentType: string, read: () => Promise<string>): void {
  app.get('/metrics', async (_request, reply) => reply.type(contentType).send(await read()));
}

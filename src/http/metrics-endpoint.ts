import type { FastifyInstance } from 'fastify';

/** Serves `/metrics` for Prometheus; `read` returns the current values as text. */
export function metricsEndpoint(app: FastifyInstance, contentType: string, read: () => Promise<string>): void {
  app.get('/metrics', async (_request, reply) => reply.type(contentType).send(await read()));
}

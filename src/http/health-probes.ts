import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../domain/gateway-error.ts';
import type { AppDeps } from './app.ts';

/** Serves `/healthz` (the process runs) and `/readyz` (the service accepts requests, and the database answers). */
export function healthProbes(app: FastifyInstance, deps: AppDeps): void {
  app.get('/healthz', async () => ({ ok: true }));
  app.get('/readyz', async () => {
    if (!deps.isReady()) throw new GatewayError('unavailable', 'The service is shutting down.');
    await deps.store.ping();
    return { ok: true };
  });
}

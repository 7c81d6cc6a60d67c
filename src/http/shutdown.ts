import { Server } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../domain/gateway-error.ts';
import type { Connections } from './http-server.ts';

// Payments in progress and workers call the simulated provider of this process, which then sends callbacks.
const SERVED_WHILE_DRAINING = ['/simulator/api/', '/api/providers/', '/healthz', '/readyz'];

/** Time for the last requests of clients that reconnect at once and do not watch `/readyz`. */
const LAST_REQUESTS_MS = 200;
/** Time in which a client sends its request after its connection was accepted. */
const FIRST_BYTES_MS = 1000;

declare module 'fastify' {
  interface FastifyInstance {
    /** Rejects new requests from now on; resolves once the requests in progress are answered. */
    drain(): Promise<void>;
  }
}

/** Makes `close` finish the requests in progress. While the app is not ready, every answer closes its connection. */
export function closeGracefully(
  app: FastifyInstance,
  { isReady }: { isReady(): boolean },
  connections: Connections,
): void {
  let isDraining = false;
  let hasClients = false;
  let portClosed: Promise<void> | undefined;
  app.decorate('drain', () => {
    isDraining = true;
    return connections.answered();
  });
  app.addHook('onRequest', ({ url }, _reply, done) => {
    if (isReady() || SERVED_WHILE_DRAINING.some((path) => url.startsWith(path))) return done();
    hasClients = true;
    if (!isDraining) return done();
    void reject(done);
  });
  async function reject(done: (error: Error) => void): Promise<void> {
    await portClosed;
    done(
      new GatewayError('unavailable', 'The service is shutting down.', {
        suggestion: 'Send the same request again in a moment: it was not carried out.',
      }),
    );
  }
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (!isReady()) reply.header('connection', 'close');
    done();
  });
  app.addHook('preClose', async () => {
    // When the port closes, the kernel resets connections that wait to be accepted. So the last answers are sent after
    // that, because clients open no other connection before they have their answer.
    const closing = Promise.withResolvers<void>();
    portClosed = closing.promise;
    if (hasClients) await sleep(LAST_REQUESTS_MS);
    // The event loop has just accepted every waiting connection.
    await nextTurn();
    // The same method of HTTP servers also closes the accepted connections that have sent nothing yet.
    Server.prototype.close.call(app.server);
    closing.resolve();
    if (hasClients) await sleep(FIRST_BYTES_MS);
    while (connections.hasRequests()) await connections.answered();
    // Fastify then destroys the connections that have not sent a complete header section.
  });
}

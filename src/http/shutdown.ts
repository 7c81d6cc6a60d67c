import { Server } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../domain/gateway-error.ts';
import type { Connections } from './http-server.ts';

// Paths that are served during the shutdown: payments in progress and workers still need the simulated provider and callbacks.
const SERVED_WHILE_DRAINING = ['/simulator/api/', '/api/providers/', '/healthz', '/readyz'];

/** Time in which clients that reconnect at once, without watching `/readyz`, can send a last request. */
const LAST_REQUESTS_MS = 200;
/** Time in which an accepted connection can send the first bytes of its request. */
const FIRST_BYTES_MS = 1000;

declare module 'fastify' {
  interface FastifyInstance {
    /** Rejects new requests from now on, and resolves when all requests in progress are answered. */
    drain(): Promise<void>;
  }
}

/** Makes `close` finish the requests in progress. During the shutdown, every response closes its connection. */
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
        suggestion: 'Send the same request again in a moment: it had no effect.',
      }),
    );
  }
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (!isReady()) reply.header('connection', 'close');
    done();
  });
  app.addHook('preClose', async () => {
    // When the port closes, the kernel resets connections that are not accepted yet. The last responses are therefore sent after
    // the port is closed: while clients wait for a response, they open no new connection.
    const closing = Promise.withResolvers<void>();
    portClosed = closing.promise;
    if (hasClients) await sleep(LAST_REQUESTS_MS);
    // After one more turn, the event loop has accepted all connections that were waiting.
    await nextTurn();
    // Uses `close` of net.Server, because `close` of http.Server also closes accepted connections that have sent nothing yet.
    Server.prototype.close.call(app.server);
    closing.resolve();
    if (hasClients) await sleep(FIRST_BYTES_MS);
    while (connections.hasRequests()) await connections.answered();
    // After this hook, Fastify destroys connections without complete headers.
  });
}

import { once } from 'node:events';
import { Server } from 'node:net';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { GatewayError } from '../domain/errors.ts';
import type { ConnectionGuard } from './connections.ts';

// What requests under way and workers ask of their own process, and what providers tell; and the probes.
const STILL_SERVED = ['/simulator/api/', '/api/providers/', '/healthz', '/readyz'];

declare module 'fastify' {
  interface FastifyInstance {
    /** Refuses what comes from now on; fulfilled once all that came before is answered. */
    refuseMore(): Promise<void>;
    /**
     * Has nobody listen any more, and answers those first who could not know: what comes within `momentMs`, by connections
     * that callers believe to be kept, or by new ones. 0 leaves them to `close`, which cuts them off.
     */
    closeDoor(momentMs: number): Promise<void>;
    /** Says in an answer that its connection ends, where it does; for answers of which no hook is run. */
    tellEnd(request: FastifyRequest, reply: FastifyReply): void;
  }
}

interface Stopping {
  isReady(): boolean;
}

/** From the moment when it is not ready, an app tells every caller that the connection ends; and it can be left in steps. */
export function endConnections(app: FastifyInstance, { isReady }: Stopping, connections: ConnectionGuard): void {
  let isRefusing = false;
  let held: Promise<void> | undefined;
  app.decorate('refuseMore', () => {
    isRefusing = true;
    return connections.settled();
  });
  app.decorate('closeDoor', async (momentMs: number) => {
    // Whoever comes again after each answer may be between two connections just now.
    if (momentMs === 0) return;
    const release = Promise.withResolvers<void>();
    // Whoever is refused at once comes again at once, and would be in the queue of the door when that is closed.
    held = release.promise;
    await sleep(momentMs);
    // Right behind the turn that has emptied the queue.
    await turn();
    // Not as an HTTP server closes: that ends connections of which nothing has been read yet.
    Server.prototype.close.call(app.server);
    release.resolve();
    await Promise.race([once(app.server, 'close'), sleep(momentMs, undefined, { ref: false })]);
  });
  app.addHook('onRequest', ({ url }, _reply, done) => {
    if (!isRefusing || STILL_SERVED.some((path) => url.startsWith(path))) done();
    else void refuse(done);
  });
  async function refuse(done: (refusal: Error) => void): Promise<void> {
    await held;
    done(stopping());
  }
  app.decorate('tellEnd', ({ raw }, reply) => {
    // Whatever was sent ahead is still answered: the last answer says that it is the last.
    if (!isReady() && connections.isLast(raw.socket)) reply.header('connection', 'close');
  });
  app.addHook('onSend', (request, reply, _payload, done) => {
    app.tellEnd(request, reply);
    done();
  });
  // Node closes those that are idle then, but not those that have sent half a request: they could last for ever.
  app.addHook('preClose', (done) => {
    connections.closeIdle();
    done();
  });
}

function stopping(): GatewayError {
  return new GatewayError('unavailable', 'The service is stopping.', {
    suggestion: 'Send the same request again in a moment: nothing of it was carried out.',
  });
}

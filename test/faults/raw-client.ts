import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface RawAnswer {
  /** NaN if the response is not HTTP. */
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** A client that sends any bytes, valid HTTP or not, over one keep-alive connection; it reconnects after a close. */
export function createRawClient(port: number, timeoutMs: number) {
  let next: { bytes: Buffer; last: boolean };
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  // Node's client parses the responses. Its sockets send the given bytes in place of the client's own request.
  agent.createConnection = () => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    const write = socket.write.bind(socket);
    socket.write = (...args: unknown[]) => {
      const isWritten = write(next.bytes, args.at(-1) as () => void);
      if (next.last) socket.end();
      return isWritten;
    };
    return socket;
  };
  return {
    /** Sends bytes verbatim. Returns the response or, as a string, the reason why there is none. */
    async exchange(bytes: Buffer, { method, last }: { method: string; last: boolean }): Promise<RawAnswer | string> {
      next = { bytes, last };
      const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
      // A response to a damaged HEAD request has a body: the server could not read the method.
      const sent = request({
        agent,
        method: method === 'HEAD' && !last ? 'HEAD' : 'GET',
        signal: AbortSignal.timeout(timeoutMs),
      });
      sent.once('error', reject).once('upgrade', () => reject(new Error('upgraded')));
      let head: RawAnswer | undefined;
      sent.once('response', (response) => {
        const { statusCode: status = NaN, headers } = response;
        head = { status, headers, body: Buffer.alloc(0) };
        buffer(response).then((body) => resolve({ status, headers, body }), reject);
      });
      sent.end();
      try {
        return await promise;
      } catch (error) {
        const { name, message, code } = error as NodeJS.ErrnoException;
        if (name === 'AbortError') return `no answer within ${timeoutMs} ms`;
        if (code?.startsWith('HPE_')) {
          // The server answers bytes after a damaged request separately, possibly before the client reads the first response.
          return (method === 'HEAD' && head) || { status: NaN, headers: {}, body: Buffer.alloc(0) };
        }
        return `closed without an answer: ${message}`;
      } finally {
        if (last) sent.destroy();
      }
    },
    close: () => agent.destroy(),
  };
}

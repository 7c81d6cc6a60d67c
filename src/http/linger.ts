import type { Socket } from 'node:net';

/** How long whoever still sends may take to read the last answer. */
export const LINGER_MS = 1000;
/** As much as a hurried upload brings in that time; more is not worth the reading. */
const MAX_IGNORED_BYTES = 64 * 1024 * 1024;

/** Ends a connection whose caller may still be sending: what nobody reads would reset it, and take the answer along. */
export function closeGently(socket: Socket): void {
  socket.end();
  ignoreInput(socket);
  destroyLater(socket);
}

/** Whoever does not close shall not keep the connection. */
export function destroyLater(socket: Socket): void {
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

/** Reads on, for bytes that nobody has read would reset the connection; no request comes of them. */
export function ignoreInput(socket: Socket): void {
  let ignored = 0;
  const ignore = ({ length }: Buffer) => {
    ignored += length;
    if (ignored > MAX_IGNORED_BYTES) socket.destroy();
  };
  // Takes the reading from Node's parser, which else has it without events.
  socket.on('data', ignore);
  socket.removeAllListeners('data');
  socket.on('data', ignore);
  socket.resume();
}

import { type Socket, connect } from 'node:net';

const TICK_MS = 50;
/** Number of ticks among which the sockets are distributed, so that the process never sends on all sockets at once. */
const TICKS = 40;
/** Number of simultaneous connects: the system resets connections beyond the accept queue. */
const AT_ONCE = 200;

/** Connections that send their requests very slowly. `await using` closes them. */
export interface SlowSockets extends AsyncDisposable {
  /** Number of open sockets. */
  open(): number;
  /** First line of the response on each closed socket. */
  answers: readonly string[];
  /** Resolves when the server has closed all connections. */
  ended: Promise<void>;
}

/** The start of a request whose headers never end; `SLOW_BODY` starts a body that never ends. */
export const SLOW_HEADERS = 'GET /readyz HTTP/1.1\r\nhost: localhost\r\nx-slow: ';
export const SLOW_BODY =
  'POST /api/gateway/sessions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{';

/** Opens connections, sends each one of the texts, and then one byte on each connection at intervals. */
export async function openSlowSockets(port: number, count: number, texts: readonly string[]): Promise<SlowSockets> {
  const sockets = new Set<Socket>();
  const answers: string[] = [];
  let allEnded = () => {};
  const ended = new Promise<void>((resolve) => (allEnded = resolve));

  function open(text: string): Promise<void> {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
    socket.on('error', (error) => (answer ||= String(error)));
    socket.on('close', () => {
      answers.push(answer.split('\r\n', 1)[0]!);
      sockets.delete(socket);
      if (sockets.size === 0) allEnded();
    });
    return new Promise((resolve) =>
      socket.on('connect', () => {
        sockets.add(socket);
        socket.write(text, () => resolve());
      }),
    );
  }

  for (let opened = 0; opened < count; opened += AT_ONCE) {
    const few = Array.from({ length: Math.min(AT_ONCE, count - opened) }, (_, index) => texts[index % texts.length]!);
    await Promise.all(few.map(open));
  }
  let tick = 0;
  const drip = setInterval(() => {
    tick = (tick + 1) % TICKS;
    for (const [index, socket] of [...sockets].entries()) if (index % TICKS === tick) socket.write('x');
  }, TICK_MS);
  return {
    open: () => sockets.size,
    answers,
    ended,
    async [Symbol.asyncDispose]() {
      clearInterval(drip);
      for (const socket of sockets) socket.destroy();
      if (sockets.size > 0) await ended;
    },
  };
}

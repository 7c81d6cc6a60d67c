import { type AddressInfo, type Socket, connect, createServer } from 'node:net';

/** A proxy between a client and PostgreSQL that parses their protocol and simulates network faults. */
export interface TcpProxy extends AsyncDisposable {
  port: number;
  /**
   * Forwards the next message of a client that contains `text` (SQL or a parameter), drops the whole response up to
   * ReadyForQuery, which the server sends at the end of the transaction, and then closes the connection to the client. If the
   * server rejects the message, the proxy forwards the error and waits for the next message with the text. Resolves when the
   * response was cut.
   */
  cutAnswerTo(text: string): Promise<void>;
  /** Stops forwarding in both directions. All connections, including new connections, stay open. */
  blackHole(): void;
  /** Forwards again, and destroys the connections that lost bytes in the black hole. */
  heal(): void;
  /** Resets every connection now. */
  cut(): void;
  /** Number of client requests since the last call, without the start and the end of connections. */
  takeCounts(): Counts;
  stop(): Promise<void>;
}

export interface Counts {
  /** Executions of a statement, with or without parameters. */
  statements: number;
  /** Times that a client waited for ReadyForQuery. */
  roundTrips: number;
  /** Explicit COMMITs that the server has confirmed. */
  commits: number;
}

interface Trap {
  text: string;
  sprung: () => void;
}

/** State that the connections of a proxy share. */
interface Shared {
  silent: boolean;
  counts: Counts;
  traps: Trap[];
}

interface Connection {
  /** True once the proxy has dropped bytes of this connection. */
  isLost(): boolean;
  cut(): void;
}

const NOTHING: Counts = { statements: 0, roundTrips: 0, commits: 0 };
const ENCRYPTION_REQUESTS = [80877103, 80877104];

/** Starts a proxy on a free port. The client must not use TLS, nor flush without a sync before a cut response. */
export async function startProxy(targetPort: number): Promise<TcpProxy> {
  const shared: Shared = { silent: false, counts: { ...NOTHING }, traps: [] };
  const connections = new Set<Connection>();
  // The proxy itself forwards the end of a connection to the other side.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const connection = join(client, shared.silent ? undefined : targetPort, shared);
    connections.add(connection);
    // A connection that closes in a black hole stays in the set, so that `heal` can cut its server side.
    client.once('close', () => shared.silent || connections.delete(connection));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (which: (connection: Connection) => boolean = () => true): void => {
    for (const connection of connections) {
      if (!which(connection)) continue;
      connection.cut();
      connections.delete(connection);
    }
  };
  const stop = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    cut();
    await closed;
  };
  return {
    port: (server.address() as AddressInfo).port,
    cutAnswerTo: (text) => new Promise((sprung) => shared.traps.push({ text, sprung })),
    blackHole() {
      shared.silent = true;
    },
    heal() {
      shared.silent = false;
      cut((connection) => connection.isLost());
    },
    cut: () => cut(),
    takeCounts() {
      const { counts } = shared;
      shared.counts = { ...NOTHING };
      return counts;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Connects a client to the server, except in a black hole. */
function join(client: Socket, targetPort: number | undefined, shared: Shared): Connection {
  const upstream = targetPort === undefined ? undefined : connectTo(targetPort);
  let lost = upstream === undefined;
  const cut = (): void => {
    for (const socket of [client, upstream]) {
      if (!socket || socket.destroyed) continue;
      // A socket that is closing cannot be reset: Node would wait for it forever at the end of the process.
      if (socket.writableEnded || socket.readableEnded) socket.destroy();
      else socket.resetAndDestroy();
    }
  };
  const conversation = listenTo(shared, cut);
  const forward = (from: Socket, to: Socket | undefined, read: (bytes: Buffer) => Buffer): void => {
    // A black hole drops all bytes for good.
    const unlessLost = (pass: () => void) => {
      lost ||= shared.silent;
      if (!lost) pass();
    };
    from.on('data', (bytes: Buffer) => unlessLost(() => to?.write(read(bytes))));
    from.on('end', () => unlessLost(() => to?.end()));
    from.on('error', () => unlessLost(cut));
    from.on('close', () => unlessLost(() => to?.destroy()));
  };
  forward(client, upstream, conversation.fromClient);
  if (upstream) forward(upstream, client, conversation.fromServer);
  return { cut, isLost: () => lost };
}

function connectTo(port: number): Socket {
  return connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
}

/** Parses the traffic of one connection. The returned functions return the bytes to forward. */
function listenTo(shared: Shared, cut: () => void): Record<'fromClient' | 'fromServer', (bytes: Buffer) => Buffer> {
  let started = false;
  let encryptionRequested = false;
  // The server sends ReadyForQuery once at the start, and then once for each round trip.
  let requestCount = 1;
  let ready = 0;
  let trap: (Trap & { at: number }) | undefined;
  const held: Buffer[] = [];
  const readRequests = createReader(() => (started ? 'typed' : 'untyped'));
  const readAnswers = createReader(() => (encryptionRequested ? 'byte' : 'typed'));

  const onStart = (message: Buffer): void => {
    encryptionRequested = ENCRYPTION_REQUESTS.includes(message.readUInt32BE(4));
    started = !encryptionRequested;
  };
  const onRequest = (message: Buffer): void => {
    const type = String.fromCharCode(message[0]!);
    const found = shared.traps.find(({ text }) => message.includes(text));
    if (found && !trap) {
      shared.traps.splice(shared.traps.indexOf(found), 1);
      trap = { ...found, at: requestCount + 1 };
    }
    if (type === 'Q' || type === 'E') shared.counts.statements++;
    if (type !== 'Q' && type !== 'S') return;
    shared.counts.roundTrips++;
    requestCount++;
  };
  /** Messages to forward to the client now. */
  const onAnswer = (message: Buffer): Buffer[] => {
    if (encryptionRequested) {
      encryptionRequested = false;
      return [message];
    }
    const type = String.fromCharCode(message[0]!);
    const isTrapped = trap !== undefined && ready >= trap.at - 1;
    if (type === 'C' && message.subarray(5, -1).equals(Buffer.from('COMMIT'))) shared.counts.commits++;
    if (type === 'Z') ready++;
    if (!trap || !isTrapped) return [message];
    held.push(message);
    if (type === 'E') {
      shared.traps.push({ text: trap.text, sprung: trap.sprung });
      trap = undefined;
      return held.splice(0);
    }
    if (ready === trap.at) {
      cut();
      trap.sprung();
    }
    return [];
  };
  return {
    fromClient(bytes) {
      readRequests(bytes, (message) => (started ? onRequest(message) : onStart(message)));
      return bytes;
    },
    fromServer(bytes) {
      const passed: Buffer[] = [];
      readAnswers(bytes, (message) => {
        passed.push(...onAnswer(message));
      });
      return Buffer.concat(passed);
    },
  };
}

/** Reassembles the messages of protocol version 3 from arbitrary chunks. */
function createReader(form: () => 'byte' | 'untyped' | 'typed') {
  let rest: Buffer = Buffer.alloc(0);
  const sizeOfNext = (): number => {
    const kind = form();
    if (kind === 'byte') return 1;
    const before = kind === 'typed' ? 1 : 0;
    return rest.length < before + 4 ? Infinity : before + rest.readUInt32BE(before);
  };
  return (chunk: Buffer, onMessage: (message: Buffer) => void): void => {
    rest = Buffer.concat([rest, chunk]);
    for (let size = sizeOfNext(); rest.length >= size; size = sizeOfNext()) {
      const message = rest.subarray(0, size);
      rest = rest.subarray(size);
      onMessage(message);
    }
  };
}

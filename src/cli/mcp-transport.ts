import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { wrapArguments } from '../mcp/arguments.ts';

/** Messages line by line over two streams. After the end of its input it closes once every request is answered. */
export class PatientTransport extends StdioServerTransport {
  readonly #input: Readable;
  /** Limits the wait for open requests; the signal aborts when all are answered. */
  readonly #wait: (signal: AbortSignal) => Promise<void>;
  readonly #unanswered = new Set<RequestId>();
  readonly #answered = new AbortController();
  readonly #closed = Promise.withResolvers<void>();

  constructor(wait: (signal: AbortSignal) => Promise<void>, input: Readable = process.stdin, output?: Writable) {
    super(input, output);
    this.#wait = wait;
    this.#input = input;
  }

  /** Resolves when it is closed. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  override async start(): Promise<void> {
    const deliver = this.onmessage;
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the protocol's own property, and no event
    this.onmessage = (message) => {
      this.#note(message);
      deliver?.(wrapArguments(message) as JSONRPCMessage);
    };
    await super.start();
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    try {
      await super.send(message);
    } finally {
      if (!('method' in message) && message.id !== undefined) this.#settle(message.id);
    }
  }

  override async close(): Promise<void> {
    // Otherwise the streams are broken, or the caller closes the transport at once.
    if (this.#input.readableEnded && this.#unanswered.size > 0) await this.#wait(this.#answered.signal);
    await super.close();
    this.#closed.resolve();
  }

  #note(message: JSONRPCMessage): void {
    if (!('method' in message)) return;
    const { method, params } = message;
    // A subscription is answered when it ends.
    if ('id' in message && method !== 'subscriptions/listen') this.#unanswered.add(message.id);
    else if (method === 'notifications/cancelled') this.#settle(params?.['requestId'] as RequestId);
  }

  #settle(id: RequestId): void {
    this.#unanswered.delete(id);
    if (this.#input.readableEnded && this.#unanswered.size === 0) this.#answered.abort();
  }
}

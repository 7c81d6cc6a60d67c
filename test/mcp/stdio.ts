import { randomBytes } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { serveMcp } from '../../src/cli/mcp-stdio.ts';

interface Message {
  id: number;
  result?: unknown;
  error?: { code: number; message: string };
}

/** `tillway mcp` within this process, spoken to line by line in the protocol of 2025. */
export interface Bridge {
  /** Sends one request; `params` as JSON, so that anything can be said. */
  ask<Result>(method: string, params: string): Promise<Result>;
  /** Writes messages as they are, and nothing else ever. */
  end(...messages: object[]): void;
  /** Every message that came, in the order in which they came. */
  answers: Message[];
  /** Resolves when the program would end. */
  ended: Promise<void>;
}

/** Starts one. `sleep` is the time it waits at most; default: for ever, or until there is nothing to wait for. */
export function startBridge(url: string, sleep: (signal: AbortSignal) => Promise<void> = untilAborted): Bridge {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const answers: Message[] = [];
  const waiting = new Map<number, (message: Message) => void>();
  let rest = '';
  output.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    for (const line of lines) {
      const message = JSON.parse(line) as Message;
      answers.push(message);
      waiting.get(message.id)?.(message);
    }
  });
  let lastId = 0;
  return {
    async ask<Result>(method: string, params: string) {
      const id = ++lastId;
      const { promise, resolve } = Promise.withResolvers<Message>();
      waiting.set(id, resolve);
      input.write(`{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}\n`);
      const { result, error } = await promise;
      if (error) throw new Error(error.message);
      return result as Result;
    },
    end: (...messages) => void input.end(messages.map((message) => `${JSON.stringify(message)}\n`).join('')),
    answers,
    ended: serveMcp(url, {
      complain: () => undefined,
      randomBytes: (size: number) => randomBytes(size),
      sleep: (_ms, signal) => sleep(signal),
      input,
      output,
    }),
  };
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { serveMcp } from '../../src/cli/mcp-stdio.ts';
import type { ToolAnswer } from './rpc.ts';

interface Message {
  id: number;
  result?: unknown;
  error?: { code: number; message: string };
}

/** `tillway mcp` in the test process, with protocol version 2025-11-25. `await using` closes its input. */
export interface Bridge extends AsyncDisposable {
  /** Sends one request. `params` is JSON text, so that a test can send any input. */
  request<Result>(method: string, params?: string): Promise<Result>;
  callTool(name: string, input: unknown): Promise<ToolAnswer>;
  /** Writes messages verbatim, and closes the input. */
  end(...messages: object[]): void;
  /** Every message from the program, in order. */
  answers: Message[];
  /** Resolves when the real program would exit. */
  ended: Promise<void>;
}

export function startBridge(url: string, { apiKey }: { apiKey?: string } = {}): Bridge {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const answers: Message[] = [];
  const waiting = new Map<number, (message: Message) => void>();
  createInterface(output).on('line', (line) => {
    const message = JSON.parse(line) as Message;
    answers.push(message);
    waiting.get(message.id)?.(message);
  });
  const ended = serveMcp({ url, apiKey }, { complain: () => undefined, randomBytes, input, output });
  let lastId = 0;
  async function request<Result>(method: string, params = '{}') {
    const id = ++lastId;
    const { promise, resolve } = Promise.withResolvers<Message>();
    waiting.set(id, resolve);
    input.write(`{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}\n`);
    const { result, error } = await promise;
    if (error) throw new Error(error.message);
    return result as Result;
  }
  return {
    request,
    callTool: (name, sent) => request<ToolAnswer>('tools/call', JSON.stringify({ name, arguments: sent })),
    end: (...messages) => void input.end(messages.map((message) => `${JSON.stringify(message)}\n`).join('')),
    answers,
    ended,
    [Symbol.asyncDispose]() {
      input.end();
      return ended;
    },
  };
}

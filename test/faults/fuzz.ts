import { z } from 'zod';
import { HTTP_STATUS } from '../../src/http/error-responses.ts';
import { type RawAnswer, createRawClient } from './raw-client.ts';
import { createSeededRandom } from './random.ts';
import { type RawRequest, type FuzzWorld, rawRequest } from './raw-requests.ts';

/** The service that receives the generated requests. */
export interface FuzzTarget {
  port: number;
  world: FuzzWorld;
  /** All log lines, as JSON. */
  logged: readonly string[];
}

export interface FuzzOptions {
  seed: number;
  requests: number;
  connections?: number;
  timeoutMs?: number;
}

const SHOWN_BYTES = 2000;

/** Sends generated requests over several connections and checks every response and log line, until the first failure. */
export async function fuzzBytes(target: FuzzTarget, options: FuzzOptions) {
  const { seed, requests, connections = 32, timeoutMs = 10_000 } = options;
  /** Number of responses by status. 0 counts connections that were closed without a response. */
  const statuses = new Map<number, number>();
  const failures: string[] = [];
  const indexes = Array.from({ length: requests }).keys();
  let linesRead = target.logged.length;
  let sent = 0;

  async function drive(): Promise<void> {
    const client = createRawClient(target.port, timeoutMs);
    for (const index of indexes) {
      if (failures.length > 0) break;
      const request = rawRequest(createSeededRandom(seed, index), target.world);
      sent++;
      const answer = await client.exchange(request.bytes, request);
      const status = typeof answer === 'string' ? 0 : answer.status;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      const faults = [...faultsOf(request, answer), ...loggedErrors()];
      if (faults.length > 0) failures.push(`request ${index} of seed ${seed}: ${describe(faults, request, answer)}`);
      else if (typeof answer !== 'string' && status < 400) {
        target.world.ids.learn(`${answer.headers.location ?? ''} ${answer.body.toString('latin1')}`);
      }
    }
    client.close();
  }

  /** Returns the errors logged since the last call. With several connections, another request may have caused them. */
  function loggedErrors(): string[] {
    const lines = target.logged.slice(linesRead);
    linesRead = target.logged.length;
    return lines.filter((line) => /"level":[56]0\b/.test(line)).map((line) => `logged: ${line.trim()}`);
  }

  await Promise.all(Array.from({ length: connections }, drive));
  const ready = await fetch(`http://127.0.0.1:${target.port}/readyz`).then(({ status }) => status, String);
  if (ready !== 200) failures.push(`after ${sent} requests of seed ${seed}: /readyz answers ${ready}`);
  failures.push(...loggedErrors().map((line) => `after ${sent} requests of seed ${seed}: ${line}`));
  return { sent, statuses, failures };
}

const PAGES = /^\/(?:checkout\/|simulator(?:[/?]|$)(?!api\/)|demo\b|docs\b|(?:\?|$))/;
/** The error envelope of the specification. */
const ENVELOPE = z.strictObject({
  ok: z.literal(false),
  action: z.string().optional(),
  operation: z.string().optional(),
  error: z.strictObject({
    code: z.enum(Object.keys(HTTP_STATUS)),
    message: z.string().min(1),
    field: z.string().optional(),
    suggestion: z.string().optional(),
    issues: z.array(z.looseObject({ path: z.string(), code: z.string(), message: z.string() })).optional(),
  }),
});

function faultsOf(request: RawRequest, answer: RawAnswer | string): string[] {
  // After invalid HTTP, the server may close the connection without a response, but must not leave it open.
  if (typeof answer === 'string') return request.mustAnswer || answer.startsWith('no answer') ? [answer] : [];
  const { status, headers, body } = answer;
  if (Number.isNaN(status)) return ['the response is not HTTP'];
  if (status >= 500) return [`status ${status}`];
  if (request.method === 'HEAD') return [];
  const type = headers['content-type'] ?? '';
  if (!type.startsWith('application/json')) {
    const isPage = type.startsWith('text/html') && PAGES.test(request.url);
    return status < 400 || isPage
      ? []
      : [`status ${status} without the error envelope: content-type ${type || 'none'}`];
  }
  try {
    const json: unknown = JSON.parse(body.toString('utf8'));
    const checked = status < 400 ? undefined : ENVELOPE.safeParse(json);
    return checked?.error ? [`no error envelope: ${z.prettifyError(checked.error)}`] : [];
  } catch {
    return ['the response is not the JSON that its content type announces'];
  }
}

function describe(faults: string[], { bytes }: RawRequest, answer: RawAnswer | string): string {
  const printable = (some: Buffer) => JSON.stringify(some.toString('latin1', 0, SHOWN_BYTES));
  const shown = typeof answer === 'string' ? answer : `${answer.status} ${printable(answer.body)}`;
  return `${faults.join('\n  ')}\n  sent: ${printable(bytes)}\n  answered: ${shown}`;
}

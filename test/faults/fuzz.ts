import { randomInt } from 'node:crypto';
import { HTTP_STATUS } from '../../src/http/errors.ts';
import { type FuzzRequest, type Target, type World, drawRequest } from './fuzz-requests.ts';
import { startFuzzedService } from './fuzzed-service.ts';
import { createRandom } from './random.ts';
import { type RawAnswer, createRawClient } from './raw-client.ts';

export interface FuzzOptions {
  seed: number;
  requests: number;
  /** The number of the first request. Default 0. */
  first?: number;
  connections?: number;
  timeoutMs?: number;
}

export interface FuzzReport {
  seed: number;
  sent: number;
  durationMs: number;
  /** How many answers had which status; 0 counts connections that were closed instead. */
  statuses: Map<number, number>;
  /** What should not have happened, each with the request that did it. At most a few: then it stops. */
  failures: string[];
}

const CONNECTIONS = 32;
const TIMEOUT_MS = 10_000;
const MAX_FAILURES = 5;
const SHOWN_BYTES = 2000;

/** Sends random requests over `connections` sockets at once and checks every answer and every line that is logged. */
export async function fuzz(target: Target, options: FuzzOptions): Promise<FuzzReport> {
  const { seed, requests, first = 0, connections = CONNECTIONS, timeoutMs = TIMEOUT_MS } = options;
  const statuses = new Map<number, number>();
  const failures: string[] = [];
  /** Lines of level error and above that no answer has been found for, by request id. */
  const errors = new Map<string, string>();
  const started = performance.now();
  const end = first + requests;
  let next = first;
  let linesRead = target.logged.length;

  async function drive(): Promise<void> {
    const client = createRawClient(target.port, timeoutMs);
    while (next < end && failures.length < MAX_FAILURES) {
      const index = next++;
      const request = drawRequest(createRandom(seed, index), target.world);
      const answer = await client.exchange(request.bytes, request);
      const status = typeof answer === 'string' ? 0 : answer.status;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      const faults = [faultOf(request, answer), loggedFor(answer)].filter((fault) => fault !== undefined);
      if (faults.length > 0) failures.push(describeFailure(index, faults.join('\n  '), request, answer));
      else if (typeof answer !== 'string') learnIds(target.world, answer);
    }
    client.close();
  }

  function readLog(): void {
    while (linesRead < target.logged.length) {
      const line = target.logged[linesRead++]!;
      if (!/"level":[56]0\b/.test(line)) continue;
      errors.set(/"requestId":"([^"]+)"/.exec(line)?.[1] ?? `line ${linesRead}`, line.trim());
    }
  }

  /** The error that was logged for a request: that is done before the answer is sent. */
  function loggedFor(answer: RawAnswer | string): string | undefined {
    readLog();
    const id = typeof answer === 'string' ? undefined : answer.headers.get('x-request-id');
    const line = id === undefined ? undefined : errors.get(id);
    if (id === undefined || line === undefined) return undefined;
    errors.delete(id);
    return `logged: ${line}`;
  }

  function describeFailure(index: number, fault: string, request: FuzzRequest, answer: RawAnswer | string): string {
    const shown = typeof answer === 'string' ? answer : `${answer.status} ${printable(answer.body)}`;
    return [
      `request ${index} of seed ${seed}: ${fault}`,
      `  again: FUZZ_SEED=${seed} FUZZ_REQUESTS=${requests} node test/faults/fuzz.ts`,
      `  sent: ${printable(request.bytes)}`,
      `  answered: ${shown}`,
    ].join('\n');
  }

  await Promise.all(Array.from({ length: connections }, drive));
  readLog();
  const unready = await unreadiness(target, timeoutMs);
  const rest = [...errors.values()].map((line) => `logged: ${line}`);
  for (const late of [...rest, unready]) {
    if (late !== undefined) failures.push(`after ${next - first} requests of seed ${seed}: ${late}`);
  }
  return { seed, sent: next - first, durationMs: performance.now() - started, statuses, failures };
}

/** What is wrong with an answer; undefined for nothing. */
function faultOf(request: FuzzRequest, answer: RawAnswer | string): string | undefined {
  if (typeof answer === 'string') {
    // Whoever sends what is hardly HTTP may be hung up on, but not be left waiting.
    return request.mustAnswer || answer.startsWith('no answer') ? answer : undefined;
  }
  const { status, headers, body } = answer;
  if (Number.isNaN(status)) return 'the answer is not HTTP';
  if (status >= 500) return `status ${status}`;
  const type = headers.get('content-type') ?? '';
  const isJson = type.startsWith('application/json');
  if (request.method === 'HEAD') return undefined;
  if (isJson && parsed(body) === undefined) return 'the answer says that it is JSON, and is not';
  if (status < 400) return undefined;
  if (type.startsWith('text/html') && isPage(request.url)) return undefined;
  if (!isJson) return `status ${status} without the error envelope: content-type ${type || 'none'}`;
  return envelopeFault(status, parsed(body));
}

const PAGES = /^\/(?:checkout\/|simulator(?:[/?]|$)(?!api\/)|demo\b|docs\b|(?:\?|$))/;

function isPage(url: string): boolean {
  return PAGES.test(url);
}

const ENVELOPE_FIELDS = new Set(['ok', 'error', 'action', 'operation']);
const ERROR_FIELDS = new Set(['code', 'message', 'field', 'suggestion', 'issues']);

/** What keeps an error from being `{ok: false, error: {code, message, ...}}` as the spec draws it. */
function envelopeFault(status: number, envelope: unknown): string | undefined {
  if (!isRecord(envelope) || envelope['ok'] !== false) return 'no error envelope';
  const { error, ...rest } = envelope;
  if (!isRecord(error)) return 'no error in the envelope';
  const unknown = [
    ...Object.keys(rest).filter((name) => !ENVELOPE_FIELDS.has(name)),
    ...Object.keys(error).filter((name) => !ERROR_FIELDS.has(name)),
  ];
  if (unknown.length > 0) return `unknown fields in the envelope: ${unknown.join(', ')}`;
  const { code, message, field = '', suggestion = '', issues = [] } = error;
  if (typeof code !== 'string' || !Object.hasOwn(HTTP_STATUS, code)) return `unknown code ${String(code)}`;
  if (typeof message !== 'string' || message === '') return 'no message';
  if (typeof field !== 'string' || typeof suggestion !== 'string') return 'field or suggestion is no string';
  if (!Array.isArray(issues) || !issues.every(isIssue)) return 'issues that are none';
  return status < 400 ? 'an error with a status of success' : undefined;
}

function isIssue(value: unknown): boolean {
  return isRecord(value) && ['path', 'code', 'message'].every((name) => typeof value[name] === 'string');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

const ID = /\b(?:(chk|pay|inv|cus)_[0-9a-z]{36}|simulator\/pay\/([\w-]+))\b/g;
const KNOWN_IDS = 200;
const LEARNT_FROM_BYTES = 8192;

/** Remembers the ids in an answer, so that later requests reach what earlier ones made. */
function learnIds({ ids }: World, { status, body, headers }: RawAnswer): void {
  if (status >= 400 || body.length > LEARNT_FROM_BYTES) return;
  for (const match of `${headers.get('location') ?? ''} ${body.toString('latin1')}`.matchAll(ID)) {
    const [id, prefix = 'sim', reference] = match;
    const known = ids.get(prefix) ?? [];
    ids.set(prefix, known);
    const value = reference ?? id;
    if (known.includes(value)) continue;
    known.push(value);
    if (known.length > KNOWN_IDS) known.shift();
  }
}

async function unreadiness({ port }: Target, timeoutMs: number): Promise<string | undefined> {
  try {
    const { status } = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(timeoutMs) });
    return status === 200 ? undefined : `/readyz answers ${status}`;
  } catch (error) {
    return `/readyz does not answer: ${String(error)}`;
  }
}

function printable(bytes: Buffer): string {
  const shown = JSON.stringify(bytes.toString('latin1', 0, SHOWN_BYTES));
  return bytes.length > SHOWN_BYTES ? `${shown} and ${bytes.length - SHOWN_BYTES} bytes more` : shown;
}

/** `FUZZ_SEED` and `FUZZ_REQUESTS`, where they are set. */
export function fuzzSettings(seed: number, requests: number): { seed: number; requests: number } {
  const { FUZZ_SEED, FUZZ_REQUESTS } = process.env;
  return { seed: Number(FUZZ_SEED || seed), requests: Number(FUZZ_REQUESTS || requests) };
}

export function summaryOf({ seed, sent, durationMs, statuses }: FuzzReport): string {
  const counts = [...statuses]
    .toSorted(([a], [b]) => a - b)
    .map(([status, count]) => `${status || 'closed'}: ${count}`);
  return `${sent} requests in ${(durationMs / 1000).toFixed(1)} s, seed ${seed}; ${counts.join(', ')}`;
}

if (import.meta.main) {
  await using service = await startFuzzedService();
  const report = await fuzz(service, fuzzSettings(randomInt(2 ** 31), 100_000));
  process.stdout.write(`${[summaryOf(report), ...report.failures].join('\n')}\n`);
  process.exitCode = report.failures.length === 0 ? 0 : 1;
}

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { TestClock } from '../../sdk/src/index.ts';
import { startServer } from '../support/http-server.ts';
import { until } from '../support/until.ts';
import { type Answer, call } from '../support/service.ts';
import { SECRET } from '../webhooks/fixtures.ts';

/** A received webhook delivery. */
export interface Arrival {
  type: string;
  sessionId: string;
  headers: Record<string, string>;
  body: string;
  /** Real time of the arrival. */
  at: number;
}

/** A webhook receiver of a merchant. */
export interface Receiver extends AsyncDisposable {
  arrivals: Arrival[];
  /** Event types of a session in the order of arrival. */
  typesOf(sessionId: string): string[];
  /** Sets the function that ends responses; the default acknowledges. */
  respond(answer?: (response: ServerResponse) => void): void;
  /** Settings for a service with a test clock that sends its events to this receiver. */
  variables: Record<string, string>;
}

export async function startReceiver(): Promise<Receiver> {
  const arrivals: Arrival[] = [];
  const acknowledge = (response: ServerResponse) => response.end('ok');
  let answer: (response: ServerResponse) => void = acknowledge;
  const server = await startServer(async (request, response) => {
    const body = await text(request);
    const { type, data } = JSON.parse(body) as { type: string; data: { session_id: string } };
    const headers = request.headers as Record<string, string>;
    arrivals.push({ type, sessionId: data.session_id, headers, body, at: Date.now() });
    answer(response);
  });
  return {
    ...server,
    arrivals,
    typesOf: (sessionId) => arrivals.filter((one) => one.sessionId === sessionId).map(({ type }) => type),
    respond: (next = acknowledge) => void (answer = next),
    variables: { TEST_CLOCK: 'true', WEBHOOK_URL: `${server.url}/hooks`, WEBHOOK_SECRET: SECRET },
  };
}

const PATH = '/api/gateway/test-clock';

export interface ErrorBody {
  error: { code: string; field: string; message: string; suggestion: string };
}

export async function clockAt(url: string): Promise<TestClock> {
  const { status, body } = await call<TestClock>('GET', `${url}${PATH}`);
  assert.equal(status, 200);
  return body;
}

export function requestAdvance<Body = ErrorBody>(url: string, body: unknown): Promise<Answer<Body>> {
  return call<Body>('POST', `${url}${PATH}/advance`, body);
}

/** Begins an advance and returns the clock immediately after the request. */
export async function beginAdvance(url: string, seconds: number): Promise<TestClock> {
  const { status, body } = await requestAdvance<TestClock>(url, { seconds });
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

export async function advanceEnd(url: string): Promise<TestClock> {
  await until(async () => (await clockAt(url)).status === 'ready');
  return clockAt(url);
}

/** Advances the clock and waits until the advance ends. */
export async function advance(url: string, seconds: number): Promise<TestClock> {
  await beginAdvance(url, seconds);
  return advanceEnd(url);
}

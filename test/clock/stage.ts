import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestClockResource } from '../../src/contract/test-clock.ts';
import { call } from '../support/service.ts';
import { SECRET } from '../webhooks/fixtures.ts';

/** One delivery as it arrived. */
export interface Arrival {
  type: string;
  sessionId: string;
  headers: Record<string, string>;
  body: string;
  /** Real time. */
  at: number;
}

/** A merchant's server. */
export interface Receiver extends AsyncDisposable {
  arrivals: Arrival[];
  /** The types of what has arrived for a session, in order. */
  typesOf(sessionId: string): string[];
  /** What a service that tells it is to be started with. */
  variables: Record<string, string>;
}

/** `answer` ends the response, or leaves it open. */
export async function startReceiver(answer: (response: ServerResponse, arrival: Arrival) => void): Promise<Receiver> {
  const arrivals: Arrival[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const event = JSON.parse(body) as { type: string; data: { session_id: string } };
      const arrival: Arrival = {
        type: event.type,
        sessionId: event.data.session_id,
        headers: request.headers as Record<string, string>,
        body,
        at: Date.now(),
      };
      arrivals.push(arrival);
      answer(response, arrival);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    arrivals,
    typesOf: (sessionId) => arrivals.filter((one) => one.sessionId === sessionId).map(({ type }) => type),
    variables: { TEST_CLOCK: 'true', WEBHOOK_URL: `http://127.0.0.1:${port}/hooks`, WEBHOOK_SECRET: SECRET },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const PATH = '/api/gateway/test-clock';
const POLL_MS = 20;
/** Nothing is measured by it: an instant at which more keeps coming is left after half a minute, and there may be several. */
const PATIENCE_MS = 120_000;

export async function clockAt(url: string): Promise<TestClockResource> {
  const { status, body } = await call<TestClockResource>('GET', `${url}${PATH}`);
  assert.equal(status, 200);
  return body;
}

/** Asks for an advance; answers the clock as it stands right after. */
export async function ask(url: string, seconds: number): Promise<TestClockResource> {
  const { status, body } = await call<TestClockResource>('POST', `${url}${PATH}/advance`, { seconds });
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

/** Waits until time stands where it was to be. */
export async function arrived(url: string): Promise<TestClockResource> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const clock = await clockAt(url);
    if (clock.status === 'ready') return clock;
    assert.ok(performance.now() < deadline, `still on the way: ${JSON.stringify(clock)}`);
    await sleep(POLL_MS);
  }
}

export async function advance(url: string, seconds: number): Promise<TestClockResource> {
  await ask(url, seconds);
  return arrived(url);
}

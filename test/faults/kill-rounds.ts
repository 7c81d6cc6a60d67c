import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SAMPLE_PROVIDER_SECRET } from '../../src/operations/samples.ts';
import { signCallback } from '../../src/webhooks/sign.ts';
import { startChild } from '../support/child.ts';

const CLIENTS = 12;
const SHORTEST_LIFE_MS = 60;
const LIFE_SPREAD_MS = 300;
const DELIVERY_TRIES = 400;

/** What the service has acknowledged, as a client that survives it wrote it down. */
interface Journal {
  /** Every key that was sent, and the session that was answered, where one was. */
  keys: Map<string, string | undefined>;
  /** Sessions whose payment was acknowledged as queued. */
  paid: Set<string>;
}

export interface KillReport {
  rounds: number;
  acknowledged: number;
  paid: number;
  problems: string[];
}

/**
 * Runs a server under concurrent load, kills it with SIGKILL at a random moment, starts it again on the same database,
 * `rounds` times; then compares what is there with what was acknowledged.
 */
export async function runKillRounds(entry: URL, rounds: number): Promise<KillReport> {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-kill-'));
  const receiver = await startReceiver();
  const port = await freePort();
  const variables = {
    DATABASE_URL: `sqlite:${join(folder, 'kill.db')}`,
    WEBHOOK_URL: receiver.url,
    WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
  };
  const journal: Journal = { keys: new Map(), paid: new Set() };
  try {
    for (let round = 0; round < rounds; round++) {
      const server = await startChild(entry, port, variables);
      const life = SHORTEST_LIFE_MS + Math.random() * LIFE_SPREAD_MS;
      const load = Array.from({ length: CLIENTS }, (_, client) => drive(server.url, journal, `${round}-${client}`));
      await sleep(life);
      await server.end('SIGKILL');
      await Promise.all(load);
    }
    const server = await startChild(new URL('./later-server.ts', import.meta.url), port, variables);
    const problems = await compare(server.url, journal, receiver.events);
    await server.end('SIGKILL');
    const acknowledged = [...journal.keys.values()].filter((id) => id !== undefined).length;
    return { rounds, acknowledged, paid: journal.paid.size, problems };
  } finally {
    receiver.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Creates sessions and has the provider pay them, one after the other, until the server is gone. */
async function drive(url: string, journal: Journal, name: string): Promise<void> {
  for (let count = 0; ; count++) {
    const key = `kill-${name}-${count}`;
    journal.keys.set(key, undefined);
    try {
      const { id = '' } = await post(`${url}/api/gateway/sessions`, sessionBody(key));
      journal.keys.set(key, id);
      const payment = await post(`${url}/api/agent/actions/webhook.verify_sample`, callbackBody(key, id));
      if (payment.result?.merchantWebhookQueued) journal.paid.add(id);
    } catch {
      return;
    }
  }
}

interface Answer {
  id?: string;
  status?: string;
  result?: { merchantWebhookQueued: boolean };
}

async function post(url: string, body: unknown): Promise<Answer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as Answer;
  if (response.status !== 200) throw new Error(`${url}: ${response.status} ${JSON.stringify(answer)}`);
  return answer;
}

function sessionBody(key: string) {
  return {
    product: 'Field guide',
    amount: 49.99,
    customer: `${key}@example.com`,
    idempotencyKey: key,
    clientReferenceId: key,
  };
}

function callbackBody(key: string, sessionId: string) {
  const payload = { eventId: `event-${key}`, sessionId, status: 'paid', amount: 49.99 };
  const now = Math.floor(Date.now() / 1000);
  return { payload, signature: signCallback(SAMPLE_PROVIDER_SECRET, now, JSON.stringify(payload)) };
}

async function compare(url: string, journal: Journal, events: Set<string>): Promise<string[]> {
  const problems: string[] = [];
  for (const [key, id] of journal.keys) {
    if (id !== undefined) {
      const response = await fetch(`${url}/api/gateway/sessions/${id}`);
      const session = (await response.json()) as Answer;
      if (response.status !== 200) problems.push(`${id} was acknowledged and is lost`);
      else if (journal.paid.has(id) && session.status !== 'paid')
        problems.push(`${id} was paid and is ${session.status}`);
    }
    // Whether it was acknowledged or not: the key gives one session, now and for ever.
    const again = await post(`${url}/api/gateway/sessions`, sessionBody(key));
    if (id !== undefined && again.id !== id) problems.push(`key ${key} gave ${id} and then ${again.id}`);
    const list = await fetch(`${url}/api/gateway/sessions?clientReferenceId=${key}`);
    const { data } = (await list.json()) as { data: unknown[] };
    if (data.length !== 1) problems.push(`key ${key} has ${data.length} sessions`);
  }
  if (problems.length > 0) return problems;
  const expected = [...journal.paid].map((id) => `evt_${id}_paid`);
  for (let attempt = 0; attempt < DELIVERY_TRIES && expected.some((id) => !events.has(id)); attempt++) await sleep(50);
  for (const id of expected) if (!events.has(id)) problems.push(`${id} was queued and never delivered`);
  return problems;
}

async function startReceiver(): Promise<{ url: string; events: Set<string>; close(): void }> {
  const events = new Set<string>();
  const server = createServer((request, response) => {
    events.add(String(request.headers['x-gateway-event']));
    request.resume().on('end', () => response.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    events,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function freePort(): Promise<number> {
  const { url, close } = await startReceiver();
  close();
  return Number(new URL(url).port);
}

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { z } from 'zod';
import type {
  RoutingDecisionResource,
  dryRunResult,
  routingReplay,
} from '../../src/contract/routing-decision-contract.ts';
import type { routeStanding, rulesResource } from '../../src/contract/routing-contract.ts';
import { withClient } from './database.ts';
import { type Answer, type TestService, call, startTestService } from './service.ts';

// What an operator asks of routing, over HTTP.

export type Decision = RoutingDecisionResource;
export type Replay = z.output<typeof routingReplay>;
export type Rules = z.output<typeof rulesResource>;
export type Standing = z.output<typeof routeStanding>;
export type DryRun = z.output<typeof dryRunResult>;
export type RulesInput = { version: number; rules: unknown[] };

export interface Refusal {
  ok: false;
  error: {
    code: string;
    message: string;
    field?: string;
    suggestion?: string;
    issues?: { path: string; code: string; message: string }[];
  };
}

const TABLES = [
  'routing_decisions',
  'routing_snapshots',
  'routing_rules',
  'route_outcomes',
  'route_estimates',
  'route_health',
  'route_transitions',
  'sessions',
];

/** Answers what was asked for; anything but 200 fails the test. */
export async function ask<Body>(method: string, { url }: { url: string }, path: string, body?: unknown): Promise<Body> {
  const answer = await call<Body>(method, `${url}/api/gateway/routing/${path}`, body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

/** The refusal that must come, with its status and code. */
export async function refused(
  expected: [status: number, code: string],
  ...request: Parameters<typeof call>
): Promise<Refusal['error']> {
  const { status, body } = await call<Refusal>(...request);
  assert.deepEqual([status, body.error?.code], expected, JSON.stringify(body));
  return body.error;
}

export async function decisionsOf(on: { url: string }, sessionId: string): Promise<Decision[]> {
  return (await ask<{ decisions: Decision[] }>('GET', on, `decisions/${sessionId}`)).decisions;
}

export function replayOf(on: { url: string }, sessionId: string): Promise<Replay> {
  return ask('GET', on, `decisions/${sessionId}/replay`);
}

export function saveRules(on: { url: string }, ...rules: unknown[]): Promise<Rules> {
  return ask('PUT', on, 'rules', { version: 1, rules });
}

export function tryRules({ url }: { url: string }, body: unknown): Promise<Answer<Refusal>> {
  return call<Refusal>('PUT', `${url}/api/gateway/routing/rules`, body);
}

export async function standings(on: { url: string }, environment = 'sandbox'): Promise<Map<string, Standing>> {
  const { data } = await ask<{ data: Standing[] }>('GET', on, `routes?environment=${environment}`);
  return new Map(data.map((route) => [route.id, route]));
}

/** Rows by table, counted past the service. */
export async function routingRows({ databaseUrl }: TestService): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  if (databaseUrl.startsWith('sqlite:')) {
    const database = new DatabaseSync(databaseUrl.slice('sqlite:'.length), { readOnly: true });
    for (const name of TABLES) counts[name] = Number(database.prepare(`SELECT COUNT(*) AS n FROM ${name}`).get()!['n']);
    database.close();
    return counts;
  }
  return withClient(databaseUrl, async (client) => {
    for (const name of TABLES) {
      const { rows } = await client.query<{ n: string }>(`SELECT COUNT(*) AS n FROM ${name}`);
      counts[name] = Number(rows[0]!.n);
    }
    return counts;
  });
}

/** The columns of every row as text: what the router keeps of a payment. */
export async function routingBodies({ databaseUrl }: TestService): Promise<string> {
  const sql = ['routing_decisions', 'routing_snapshots', 'route_transitions', 'route_estimates', 'route_health'].map(
    (name) => `SELECT * FROM ${name}`,
  );
  if (databaseUrl.startsWith('sqlite:')) {
    const database = new DatabaseSync(databaseUrl.slice('sqlite:'.length), { readOnly: true });
    const rows = sql.map((each) => database.prepare(each).all());
    database.close();
    return JSON.stringify(rows);
  }
  return withClient(databaseUrl, async (client) => {
    const rows: unknown[] = [];
    for (const each of sql) rows.push((await client.query(each)).rows);
    return JSON.stringify(rows);
  });
}

/** The service started again over the same database: what it knows now, it has read. */
export async function restarted(
  on: TestService,
  options: Omit<Parameters<typeof startTestService>[0] & object, 'beside'> = {},
): Promise<TestService> {
  await on.service.stop();
  // Its database is removed by `await using` all the same.
  on.service.stop = () => Promise.resolve();
  return startTestService({ ...options, beside: on });
}

/** A file that is gone after `using`. */
export function temporaryFile(name: string, content: unknown): Disposable & { path: string } {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-routing-'));
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return { path, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

/** A catalogue whose card routes are so near to each other that exploring costs next to nothing. */
export function twinRoutes(): Disposable & { path: string } {
  const source = new URL('../../config/routes.json', import.meta.url);
  const { routes } = JSON.parse(readFileSync(source, 'utf8')) as { routes: { kind: string }[] };
  const twins = routes.map((route) => (route.kind === 'card' ? { ...route, successRate: 0.92 } : route));
  return temporaryFile('routes.json', { routes: twins });
}

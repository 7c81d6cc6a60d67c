import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { z } from 'zod';
import type {
  RoutingDecisionResource,
  dryRunResult,
  routingReplay,
} from '../../src/contract/routing-decision-contract.ts';
import type { routeStanding, rulesResource } from '../../src/contract/routing-contract.ts';
import { queryRows } from './database.ts';
import { type TestService, call, startTestService } from './service.ts';

// Requests of an operator to the routing API.

export type Decision = RoutingDecisionResource;
export type Replay = z.output<typeof routingReplay>;
export type Rules = z.output<typeof rulesResource>;
export type Standing = z.output<typeof routeStanding>;
export type DryRun = z.output<typeof dryRunResult>;
export type RulesInput = { version: number; rules: unknown[] };

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

/** Sends a request and returns the body of its response; a status other than 200 fails the test. */
export async function ask<Body>(method: string, { url }: { url: string }, path: string, body?: unknown): Promise<Body> {
  const answer = await call<Body>(method, `${url}/api/gateway/routing/${path}`, body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
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

export async function standings(on: { url: string }, environment = 'sandbox'): Promise<Map<string, Standing>> {
  const { data } = await ask<{ data: Standing[] }>('GET', on, `routes?environment=${environment}`);
  return new Map(data.map((route) => [route.id, route]));
}

/** Number of rows by table. */
export async function routingRows({ databaseUrl }: TestService): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const name of TABLES) {
    const [row] = await queryRows(databaseUrl, `SELECT COUNT(*) AS n FROM ${name}`);
    counts[name] = Number(row!['n']);
  }
  return counts;
}

/** All rows of the routing tables except rules and outcomes, as text. */
export async function routingBodies({ databaseUrl }: TestService): Promise<string> {
  const tables: unknown[] = [];
  for (const name of [
    'routing_decisions',
    'routing_snapshots',
    'route_transitions',
    'route_estimates',
    'route_health',
  ]) {
    tables.push(await queryRows(databaseUrl, `SELECT * FROM ${name}`));
  }
  return JSON.stringify(tables);
}

/** Restarts the service on the same database. The new instance has only the state in the database. */
export async function restarted(
  on: TestService,
  options: Omit<Parameters<typeof startTestService>[0] & object, 'beside'> = {},
): Promise<TestService> {
  await on.service.stop();
  // The service is stopped already; the disposal of `on` then only removes the database.
  on.service.stop = () => Promise.resolve();
  return startTestService({ ...options, beside: on });
}

/** A file that `using` removes. */
export function temporaryFile(name: string, content: unknown): Disposable & { path: string } {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-routing-'));
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return { path, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

/** A catalogue whose card routes are nearly equal, so that exploration costs almost nothing. */
export function twinRoutes(): Disposable & { path: string } {
  const source = new URL('../../config/routes.json', import.meta.url);
  const { routes } = JSON.parse(readFileSync(source, 'utf8')) as { routes: { kind: string }[] };
  const twins = routes.map((route) => (route.kind === 'card' ? { ...route, successRate: 0.92 } : route));
  return temporaryFile('routes.json', { routes: twins });
}

// @run on=postgres
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENVIRONMENTS } from '../../src/domain/route.ts';
import { DEFAULT_POLICY } from '../../src/routing/routing-policy.ts';
import { createServiceDatabase } from '../support/database.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { startTestService } from '../support/service.ts';
import { startProxy } from '../support/tcp-proxy.ts';

/** Limit of SQL statements for one round of the workers. An instance runs one or two rounds per second. */
const MOST_STATEMENTS = 60;
/** Statements of the worker that reads the money of the routes by day, every five minutes. */
const MONEY_STATEMENTS = ENVIRONMENTS.length * DEFAULT_POLICY.money.memoryDays;

test('the workers of an idle service send fewer than 60 statements per round, besides one for each day of past payments', async () => {
  await using database = await createServiceDatabase('postgres');
  await using proxy = await startProxy((await sharedPostgres()).port);
  const url = new URL(database.url);
  url.port = String(proxy.port);
  await using tillway = await startTestService({ beside: { databaseUrl: url.href } });
  for (const hours of [0, 0, 1, 24]) {
    // The test does not count the first round after a jump of the clock, which reads more.
    await tillway.pass(hours * 3_600_000);
    proxy.takeCounts();
    await tillway.service.runDue();
    const statements = proxy.takeCounts().statements - MONEY_STATEMENTS;
    assert.ok(statements > 0 && statements < MOST_STATEMENTS, `${statements} statements, ${hours} h later`);
  }
});

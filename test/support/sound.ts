import assert from 'node:assert/strict';
import { INVARIANTS } from '../../src/store/invariants.ts';
import { type DatabaseSettings, examineDatabase } from '../../src/store/open.ts';
import { settingsOf } from './database.ts';

/** Messages about damage to the database file, and about each broken invariant with up to three ids. */
export async function brokenInvariants(settings: DatabaseSettings): Promise<string[]> {
  const database = await examineDatabase(settings);
  try {
    const broken = (await database.integrity()) ?? [];
    for (const { name, sql } of INVARIANTS) {
      const ids = await database.violations(sql, 3);
      if (ids.length > 0) broken.push(`invariant ${name} is broken: ${ids.join(', ')}`);
    }
    return broken;
  } finally {
    await database.close();
  }
}

/** Asserts that every invariant of `tillway doctor` holds. */
export async function assertSound(databaseUrl: string): Promise<void> {
  assert.deepEqual(await brokenInvariants(settingsOf(databaseUrl)), []);
}

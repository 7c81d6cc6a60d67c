import assert from 'node:assert/strict';
import { INVARIANTS } from '../../src/store/invariants.ts';
import { examineDatabase } from '../../src/store/open.ts';
import { settingsOf } from './database.ts';

/** Holds every invariant that `tillway doctor` knows. */
export async function assertSound(databaseUrl: string): Promise<void> {
  const examined = await examineDatabase(settingsOf(databaseUrl));
  try {
    for (const { name, sql } of INVARIANTS) assert.deepEqual(await examined.violations(sql, 5), [], name);
  } finally {
    await examined.close();
  }
}

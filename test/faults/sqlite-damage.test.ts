// @run needs=process
import assert from 'node:assert/strict';
import { closeSync, existsSync, openSync, statSync, writeSync } from 'node:fs';
import { describe, it } from 'node:test';
import {
  type RunningService,
  SERVICE,
  startProgram,
  startServiceProgram,
  temporaryFolder,
} from '../process/program.ts';
import { SESSIONS, ask, sessionBody } from './requests.ts';

const PAGE_BYTES = 4096;
const FILLED = 60;
const MOST_REQUESTS = 500;

/** Creates a database with some sessions, and shuts its service down cleanly. */
async function filled(path: string): Promise<Record<string, string>> {
  const variables = { DATABASE_URL: `sqlite:${path}`, SHUTDOWN_DELAY: '0' };
  await using service = await startServiceProgram(variables);
  for (let number = 0; number < FILLED; number++) {
    assert.equal((await ask(service.url + SESSIONS, sessionBody(`first-key-${number}`))).status, 200);
  }
  service.signal('SIGTERM');
  assert.equal(await service.exited, 0);
  assert.ok(!existsSync(`${path}-wal`));
  return variables;
}

/** Overwrites the middle half of the file. */
function damage(path: string): void {
  const pages = statSync(path).size / PAGE_BYTES;
  const file = openSync(path, 'r+');
  for (let page = Math.ceil(pages / 4); page < (pages * 3) / 4; page++) {
    writeSync(file, Buffer.alloc(PAGE_BYTES, 0xab), 0, PAGE_BYTES, page * PAGE_BYTES);
  }
  closeSync(file);
}

/** Lists and creates sessions until the service exits; returns the number of acknowledged ones, and every other status. */
async function use({ url }: RunningService): Promise<{ acknowledged: number; others: Set<number> }> {
  const others = new Set<number>();
  let acknowledged = 0;
  for (let number = 0; number < MOST_REQUESTS; number++) {
    const { status } = await ask(url + SESSIONS, sessionBody(`late-key-${number}`));
    if (status === 200) acknowledged++;
    others.add(status);
    const listed = (await ask(`${url}${SESSIONS}?limit=100`)).status;
    others.add(listed);
    if (status === 0 && listed === 0) break;
  }
  others.delete(200);
  return { acknowledged, others };
}

async function refusal(variables: Record<string, string>): Promise<string> {
  await using program = startProgram(SERVICE, { ...variables, PORT: '0' });
  assert.equal(await program.exited, 1);
  assert.match(program.stderr(), /^Tillway cannot start: [^\n]+\n$/);
  return program.stderr();
}

const fatalLines = ({ stdout }: RunningService) =>
  stdout()
    .split('\n')
    .filter((line) => line.includes('"level":60'));

describe('a damaged database file', () => {
  it('ends a running service with one line, and no later start serves it', async () => {
    using folder = temporaryFolder();
    const path = folder.path('a.db');
    const variables = await filled(path);
    await using service = await startServiceProgram(variables);
    damage(path);
    const { others } = await use(service);
    assert.equal(await service.exited, 1);
    // Until the process exits, a request gets a 503 because of the damage, or cannot connect.
    assert.deepEqual(
      [...others].filter((status) => status !== 503),
      [0],
    );
    const [line, ...more] = fatalLines(service);
    assert.deepEqual(more, []);
    assert.match(
      line!,
      /the database is lost; stopping: \S+a\.db is damaged: keep a copy of it [^\n]*restore a backup/,
    );
    assert.doesNotMatch(service.stdout(), /"level":50/);
    // A supervisor starts it again and again.
    for (let start = 0; start < 2; start++) assert.match(await refusal(variables), /a\.db is damaged: keep a copy/);
  });

  it('is found by the next start after an unclean shutdown', async () => {
    using folder = temporaryFolder();
    const path = folder.path('a.db');
    const variables = await filled(path);
    {
      await using killed = await startServiceProgram(variables);
      assert.equal((await ask(killed.url + SESSIONS, sessionBody('last-key'))).status, 200);
    }
    assert.ok(existsSync(`${path}-wal`));
    damage(path);
    for (let start = 0; start < 2; start++) assert.match(await refusal(variables), /a\.db is damaged: keep a copy/);
  });

  it('is served after an unclean shutdown if it is intact, and the log reports the check', async () => {
    using folder = temporaryFolder();
    const path = folder.path('a.db');
    const variables = await filled(path);
    const checked = ({ stdout }: RunningService) => stdout().includes('the file was checked');
    {
      await using killed = await startServiceProgram(variables);
      assert.ok(!checked(killed), 'after a clean shutdown');
      assert.equal((await ask(killed.url + SESSIONS, sessionBody('last-key'))).status, 200);
    }
    await using service = await startServiceProgram(variables);
    assert.equal((await ask(service.url + SESSIONS, sessionBody('last-key'))).status, 200);
    assert.ok(checked(service));
  });
});

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';

// The program under strace, `node power-world.ts <server file>`: the unchanged service, and a second user of its
// database that checkpoints. The service itself does so only every 16000 pages, which no short run reaches; SQLite does
// the same writes and syncs for every run. It does so all the time from the first line on the standard input, and at each
// line until it has caught up with the log, which it then says. At the end of the input everything ends as it does with
// the power: nothing is closed. So nothing outlives the process that holds the other end.

const PAUSE_MS = 25;
const RETRY_MS = 2;
// PASSIVE is what the service does; after the others the next writer begins the log anew in any case, or finds it cut off.
const CATCH_UP = ['PASSIVE', 'RESTART', 'TRUNCATE'];

const [, , entry = ''] = process.argv;
const path = (process.env['DATABASE_URL'] ?? '').replace('sqlite:', '');

const service = spawn(process.execPath, [entry, 'serve'], { stdio: ['ignore', 'ignore', 'inherit'] });
service.once('exit', (code) => process.exit(code ?? 0));
process.once('exit', () => service.kill('SIGKILL'));

let caughtUp = 0;
let database: DatabaseSync | undefined;
for await (const _ of createInterface({ input: process.stdin })) {
  database ??= open();
  const kind = CATCH_UP[caughtUp++ % CATCH_UP.length]!;
  while (!checkpoint(database, kind)) await sleep(RETRY_MS);
  process.stdout.write('caught up\n');
}
service.kill('SIGKILL');

function open(): DatabaseSync {
  const opened = new DatabaseSync(path, { timeout: 5000 });
  opened.exec('PRAGMA synchronous = FULL');
  setInterval(() => checkpoint(opened, 'PASSIVE'), PAUSE_MS);
  return opened;
}

/** True if the whole log is in the database file. */
function checkpoint(database: DatabaseSync, kind: string): boolean {
  const { busy, log, checkpointed } = database.prepare(`PRAGMA wal_checkpoint(${kind})`).get() ?? {};
  return busy === 0 && log === checkpointed;
}

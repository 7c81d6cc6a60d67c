import { DatabaseSync } from 'node:sqlite';
import { registerHooks, syncBuiltinESMExports } from 'node:module';
import workerThreads, { isMainThread, type WorkerOptions } from 'node:worker_threads';

// The service for the simulation of power losses. It copies the log to the file after a few pages instead of after 15,000, and its
// writer copies it after a few pages instead of after 60,000, which no short run reaches. With SYNCS_COMMITS=false, the injected
// fault, the writer commits with `synchronous = NORMAL` but reads back FULL. The store has no options for these settings;
// instead, the threads load this file first.

const PAGES_PER_COPY = 100;
const CHECKPOINT_PAGES = 250;

if (isMainThread) {
  workerThreads.Worker = class extends workerThreads.Worker {
    constructor(file: string | URL, options?: WorkerOptions) {
      super(file, { ...options, execArgv: ['--import', import.meta.url] });
    }
  };
  syncBuiltinESMExports();
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!url.endsWith('/sqlite-log-copier.ts')) return loaded;
      const original = Buffer.from(loaded.source as Uint8Array).toString();
      const source = original.replace('PAGES_PER_COPY = 15_000', `PAGES_PER_COPY = ${PAGES_PER_COPY}`);
      if (source === original) throw new Error(`${url} does not set PAGES_PER_COPY to 15_000`);
      return { ...loaded, source };
    },
  });
  // The end of the standard input stands for the power loss: the process closes nothing.
  process.stdin.once('end', () => process.kill(process.pid, 'SIGKILL')).resume();
  await import('../../src/main.ts');
} else {
  const { exec, prepare } = DatabaseSync.prototype;
  const syncsCommits = process.env['SYNCS_COMMITS'] !== 'false';
  DatabaseSync.prototype.exec = function (sql) {
    const frequent = sql.replace('wal_autocheckpoint = 60000', `wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    exec.call(this, syncsCommits ? frequent : frequent.replace('synchronous = FULL', 'synchronous = NORMAL'));
  };
  DatabaseSync.prototype.prepare = function (sql, ...options) {
    const pretended = !syncsCommits && sql === 'PRAGMA synchronous' ? 'SELECT 2 AS synchronous' : sql;
    return prepare.call(this, pretended, ...options);
  };
}

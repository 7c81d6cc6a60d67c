import { DatabaseSync } from 'node:sqlite';
import { syncBuiltinESMExports } from 'node:module';
import workerThreads, { isMainThread, type WorkerOptions } from 'node:worker_threads';

// The injected fault: the same service, whose writer commits with `synchronous = NORMAL` and believes it is FULL. The
// store has no option for it, so the writer's thread loads this file first and is lied to from here.

if (isMainThread) {
  workerThreads.Worker = class extends workerThreads.Worker {
    constructor(file: string | URL, options?: WorkerOptions) {
      super(file, { ...options, execArgv: ['--import', import.meta.url] });
    }
  };
  syncBuiltinESMExports();
  await import('../../src/main.ts');
} else {
  const { exec, prepare } = DatabaseSync.prototype;
  DatabaseSync.prototype.exec = function (sql) {
    exec.call(this, sql.replace('synchronous = FULL', 'synchronous = NORMAL'));
  };
  DatabaseSync.prototype.prepare = function (sql, ...options) {
    return prepare.call(this, sql === 'PRAGMA synchronous' ? 'SELECT 2 AS synchronous' : sql, ...options);
  };
}

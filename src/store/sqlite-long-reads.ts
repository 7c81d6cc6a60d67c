import { Worker } from 'node:worker_threads';
import type { LongReads, Query, Row } from './keyset.ts';
import type { ReadResult } from './sqlite-reader.ts';

/** Long reads of a file, in a thread that starts at the first read. If the thread fails, the next read starts another one. */
export function createSqliteLongReads(path: string): LongReads {
  let worker: Worker | undefined;
  let waiting: PromiseWithResolvers<Row[]>[] = [];

  function start(): Worker {
    const started = new Worker(new URL('./sqlite-reader.ts', import.meta.url), { workerData: { path } });
    started.on('message', (result: ReadResult) => {
      const read = waiting.shift();
      if ('rows' in result) read?.resolve(result.rows);
      else read?.reject(Object.assign(new Error(result.error), { errcode: result.code }));
      if (waiting.length === 0) started.unref();
    });
    started.on('error', (error) => {
      const failed = waiting;
      [worker, waiting] = [undefined, []];
      for (const { reject } of failed) reject(error);
    });
    return started;
  }

  return {
    select(sql, ...params) {
      worker ??= start();
      const read = Promise.withResolvers<Row[]>();
      waiting.push(read);
      // A thread without work does not keep the process alive.
      worker.ref();
      worker.postMessage({ sql, params } satisfies Query);
      return read.promise;
    },
    async close() {
      if (!worker) return;
      const ended = new Promise((resolve) => worker!.once('exit', resolve));
      worker.ref();
      worker.postMessage('close');
      await ended;
    },
  };
}

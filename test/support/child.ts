import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { NO_RATE_LIMITS } from './rate-limits.ts';

export interface Child {
  url: string;
  process: ChildProcess;
  /** Sends a signal and waits for the end; answers the exit code, null where the signal ended it. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Nothing is measured by it: on a busy machine the start of a process alone can take half a minute. */
const PATIENCE_MS = 120_000;

/** Starts a server file as a process of its own and waits until it is ready. */
export async function startChild(entry: URL, port: number, variables: Record<string, string>): Promise<Child> {
  const child = spawn(process.execPath, [entry.pathname], {
    env: { ...process.env, LOG_LEVEL: 'error', ...NO_RATE_LIMITS, ...variables, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const url = `http://127.0.0.1:${port}`;
  const deadline = performance.now() + PATIENCE_MS;
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode} while starting`);
    const ready = await fetch(`${url}/readyz`).then(
      (response) => response.ok,
      () => false,
    );
    if (ready) {
      return {
        url,
        process: child,
        end(signal) {
          child.kill(signal);
          return exited;
        },
      };
    }
    await sleep(10);
  }
  child.kill('SIGKILL');
  throw new Error('the server did not become ready');
}

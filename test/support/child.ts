import { type ChildProcess, spawn } from 'node:child_process';
import { statusOf } from '../process/program.ts';
import { NO_RATE_LIMITS } from './rate-limits.ts';
import { until } from './until.ts';

export interface Child {
  url: string;
  process: ChildProcess;
  /** Sends a signal and waits for the end; answers the exit code, null where the signal ended it. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Starts a server file as a process of its own and waits until it is ready. */
export async function startChild(entry: URL, port: number, variables: Record<string, string>): Promise<Child> {
  const child = spawn(process.execPath, [entry.pathname, 'serve'], {
    env: { ...process.env, LOG_LEVEL: 'error', ...NO_RATE_LIMITS, ...variables, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const url = `http://127.0.0.1:${port}`;
  try {
    await until(
      async () => {
        if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode} while starting`);
        return (await statusOf(`${url}/readyz`)) === 200;
      },
      () => 'the server did not become ready',
    );
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  return {
    url,
    process: child,
    end(signal) {
      child.kill(signal);
      return exited;
    },
  };
}

import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Postgres } from '../../test/support/postgres.ts';
import { NO_RATE_LIMITS } from '../../test/support/rate-limits.ts';

export interface ServerProcess {
  port: number;
  process: ChildProcess;
  /** Processor time of all threads so far, user and system, in milliseconds. */
  cpuMs(): number;
  /** Resident memory in MiB. */
  memoryMiB(): number;
  /** Milliseconds from the start of the process to its first response. */
  startMs: number;
  stop(): Promise<void>;
}

const POLL_MS = 2;
const TICKS_PER_SECOND = 100;

/** Starts a server in a child process and waits for its first response. */
export async function launchServer(
  file: URL,
  variables: Record<string, string>,
  path = '/healthz',
): Promise<ServerProcess> {
  const port = await freePort();
  const started = performance.now();
  const child = spawn(process.execPath, [file.pathname, 'serve'], {
    env: { ...process.env, LOG_LEVEL: 'warn', ...NO_RATE_LIMITS, ...variables, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await firstResponse(`http://127.0.0.1:${port}${path}`, child);
  const startMs = performance.now() - started;
  return {
    port,
    process: child,
    startMs,
    cpuMs: () => cpuMsOf(child.pid!),
    memoryMiB: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024,
    async stop() {
      const exited = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await exited;
    },
  };
}

async function firstResponse(url: string, child: ChildProcess): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${url}: the server exited with code ${child.exitCode}`);
    try {
      const response = await fetch(url);
      await response.text();
      if (response.ok) return;
    } catch {
      // The server does not listen yet.
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
}

/** Processor time of all PostgreSQL processes so far, in milliseconds. */
export function cpuMsOfBackends({ folder }: Pick<Postgres, 'folder'>): number {
  const postmaster = readFileSync(join(folder, 'data/postmaster.pid'), 'utf8').split('\n')[0]!;
  let ticks = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const [, parent, user, system] = statOf(pid);
    if (pid === postmaster || parent === postmaster) ticks += Number(user) + Number(system);
  }
  return (ticks * 1000) / TICKS_PER_SECOND;
}

/** State, parent, user and system ticks of a process; empty if the process has exited. */
function statOf(pid: string): string[] {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
    return [fields[0]!, fields[1]!, fields[11]!, fields[12]!];
  } catch {
    return [];
  }
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

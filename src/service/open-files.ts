import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';

// The database, its files, deliveries, and what Node itself opens.
const RESERVE = 300;

/** Logs a warning if the system allows this process fewer open files than connections. */
export function warnOfFewFiles(maxConnections: number, log: Pick<Logger, 'warn'>): void {
  const files = openFilesAllowed();
  if (files === undefined || files >= maxConnections + RESERVE) return;
  log.warn(
    { files, maxConnections },
    `each connection needs a file: raise "ulimit -Hn" (LimitNOFILE= in systemd) to ${maxConnections + RESERVE}, or lower MAX_CONNECTIONS`,
  );
}

/** Undefined if the system does not report it. */
function openFilesAllowed(): number | undefined {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}

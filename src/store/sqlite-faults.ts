// Primary result codes: https://www.sqlite.org/rescode.html
export const BUSY = 5;
const READ_ONLY = 8;
const IO_ERROR = 10;
export const CORRUPT = 11;
const FULL = 13;
const CANNOT_OPEN = 14;
const NOT_A_DATABASE = 26;

const PRIMARY_CODE_BITS = 0xff;

/** The primary result code of an SQLite error; 0 for every other error. */
export function sqliteCodeOf(error: unknown): number {
  const { errcode } = error as { errcode?: unknown };
  return typeof errcode === 'number' ? errcode & PRIMARY_CODE_BITS : 0;
}

/** True if the file is damaged. Reads from a damaged file cannot be trusted, and writes to it are forbidden. */
export function isDamage(code: number): boolean {
  return code === CORRUPT || code === NOT_A_DATABASE;
}

/** True if the disk or the file system refused a write. SQLite reports an exceeded quota as an I/O error, a full disk as FULL. */
export function isUnwritable(code: number): boolean {
  return code === FULL || code === IO_ERROR || code === READ_ONLY || code === CANNOT_OPEN;
}

/** True if the machine caused the error, and not the request. The same write can then succeed later. */
export function isUnavailable(code: number): boolean {
  return code === BUSY || isUnwritable(code);
}

/** Time for which SQLite, and {@link untilFree}, wait for another connection. */
export const BUSY_TIMEOUT_MS = 5000;
const PAUSE_MS = 10;

/** For waits that SQLite's busy timeout does not cover: blocks the thread until `attempt` returns true; false after the timeout. */
export function untilFree(attempt: () => boolean, timeoutMs = BUSY_TIMEOUT_MS): boolean {
  const deadline = performance.now() + timeoutMs;
  const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  while (!attempt()) {
    if (performance.now() >= deadline) return false;
    Atomics.wait(never, 0, 0, PAUSE_MS);
  }
  return true;
}

// Error codes of the operating system for an unusable path. Node reports ENOENT for a new folder on a read-only file system.
const REFUSED_BY_THE_SYSTEM = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM', 'ENOENT']);

/** Converts the error of an unusable file to an error with its path and the remedy; returns every other error unchanged. */
export function describeSqliteError(path: string, error: unknown): unknown {
  const { message, code: system = '' } = error as NodeJS.ErrnoException;
  const code = sqliteCodeOf(error);
  if (isDamage(code)) {
    const remedy = `keep a copy of it and of ${path}-wal, and restore a backup (docs/doctor.md)`;
    return new Error(`${path} is damaged: ${remedy}: ${message}`, { cause: error });
  }
  if (!isUnwritable(code) && !REFUSED_BY_THE_SYSTEM.has(system)) return error;
  const remedy =
    "make room on its disk, mount its file system read-write, and give the service's user write access to the file and its folder";
  return new Error(`${path} cannot be written: ${message}; ${remedy}`, { cause: error });
}

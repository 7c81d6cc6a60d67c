import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, mkdtempSync, rmSync, rmdirSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export type SmallDisk = ReturnType<typeof mountSmallDisk>;

const BLOCK = Buffer.alloc(1 << 20);
const UNMOUNT_TRIES = 50;
const QUIET = { stdio: 'pipe' } as const;

/** A small disk in memory, which every account can use. `await using` unmounts it. */
export function mountSmallDisk(megabytes: number) {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-disk-'));
  chmodSync(folder, 0o755);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=1777`, 'tillway-test', folder], QUIET);
  } catch (error) {
    rmdirSync(folder);
    throw error;
  }
  const filler = join(folder, 'filler');
  const free = (): number => {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  };
  return {
    folder,
    free,
    /** Fills the disk until only `leaving` bytes are free. */
    fill(leaving: number): void {
      writeFileSync(filler, '');
      for (let rest = free() - leaving; rest > 0; rest = free() - leaving) {
        appendFileSync(filler, BLOCK.subarray(0, Math.min(rest, BLOCK.length)));
      }
    },
    /** Removes the filler. */
    empty: () => rmSync(filler, { force: true }),
    async [Symbol.asyncDispose]() {
      for (let attempt = 1; ; attempt++) {
        try {
          // If a process still has a file open, the last try frees the memory later.
          execFileSync('umount', [...(attempt === UNMOUNT_TRIES ? ['--lazy'] : []), folder], QUIET);
          break;
        } catch (error) {
          if (attempt === UNMOUNT_TRIES) throw error;
          await sleep(100);
        }
      }
      rmdirSync(folder);
    },
  };
}

/** The reason why this machine cannot mount a small disk, in one line; undefined if it can. */
export async function whyNoDisk(): Promise<string | undefined> {
  try {
    await mountSmallDisk(1)[Symbol.asyncDispose]();
    return undefined;
  } catch (error) {
    return `this machine cannot mount a small disk: ${(error as Error).message.replaceAll('\n', ' ')}`;
  }
}

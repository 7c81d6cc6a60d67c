import { spawnSync } from 'node:child_process';
import { appendFileSync, chmodSync, mkdtempSync, rmSync, rmdirSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A small disk in memory, which can be full. `await using` unmounts it. */
export interface SmallDisk extends AsyncDisposable {
  /** Mount point, accessible to every account. */
  folder: string;
  /** Free bytes. */
  free(): number;
  /** Fills it up and leaves these bytes free. */
  fill(leaving: number): void;
  /** Removes the filler. */
  empty(): void;
}

const BLOCK = Buffer.alloc(1 << 20);
const UNMOUNT_TRIES = 50;

export function mountSmallDisk(megabytes: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-disk-'));
  chmodSync(folder, 0o755);
  try {
    run('mount', '-t', 'tmpfs', '-o', `size=${megabytes}m,mode=1777`, 'tillway-test', folder);
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
    fill(leaving) {
      writeFileSync(filler, '');
      for (let rest = free() - leaving; rest > 0; rest = free() - leaving) {
        appendFileSync(filler, BLOCK.subarray(0, Math.min(rest, BLOCK.length)));
      }
    },
    empty: () => rmSync(filler, { force: true }),
    async [Symbol.asyncDispose]() {
      for (let attempt = 1; ; attempt++) {
        try {
          // If a process still has a file open, the last try frees the memory later.
          run('umount', ...(attempt === UNMOUNT_TRIES ? ['--lazy'] : []), folder);
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
    return `no disk can be made small here: ${(error as Error).message}`;
  }
}

function run(program: string, ...options: string[]): void {
  const { error, status, stderr } = spawnSync(program, options, { encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(stderr.trim().split('\n')[0] ?? `${program} ended with ${status}`);
}

import type { FileChange, TraceEvent } from './power-trace.ts';
import type { SeededRandom } from './random.ts';

/**
 * The unsynced writes that survive a power loss: none, a random part, or all except half of the last write to each file.
 * `whole` stands for a disk without a power loss.
 */
export type PowerLossKind = 'synced only' | 'some unsynced' | 'last torn' | 'whole';

type ContentChange = FileChange & { kind: 'write' | 'truncate' };

/** A file independent of its name: a later file of the same name has a new inode. */
interface Inode {
  durable: Buffer;
  pending: ContentChange[];
}

interface NameChange {
  name: string;
  inode: Inode | undefined;
  done: number;
}

/** A simulated disk, which distinguishes durable changes from pending changes. */
export function createSimulatedDisk() {
  const current = new Map<string, Inode>();
  const durableNames = new Map<string, Inode>();
  // The names in a folder are durable after a sync of the folder, not of the file.
  let pendingNames: NameChange[] = [];

  function link(name: string, inode: Inode | undefined, done: number): void {
    setName(current, { name, inode });
    pendingNames.push({ name, inode, done });
  }

  return {
    apply(event: TraceEvent): void {
      switch (event.kind) {
        case 'create':
          return link(event.file, { durable: Buffer.alloc(0), pending: [] }, event.done);
        case 'unlink':
          return link(event.file, undefined, event.done);
        case 'write':
        case 'truncate':
          return void existing(current, event.file).pending.push(event);
        case 'sync': {
          const isOver = ({ done }: { done: number }) => done <= event.start;
          if (event.file === '') {
            for (const change of pendingNames.filter(isOver)) setName(durableNames, change);
            pendingNames = pendingNames.filter((change) => !isOver(change));
          } else {
            const inode = existing(current, event.file);
            inode.durable = inode.pending.filter(isOver).reduce(changed, inode.durable);
            inode.pending = inode.pending.filter((change) => !isOver(change));
          }
          return;
        }
        default:
      }
    },
    /** The files after a power loss at this moment. */
    after(loss: PowerLossKind, random: SeededRandom): Map<string, Buffer> {
      // The share of surviving writes differs each time.
      const share = random.int(100) / 100;
      const survives = () =>
        loss === 'whole' || loss === 'last torn' || (loss === 'some unsynced' && random.chance(share));
      const names = new Map(durableNames);
      for (const change of pendingNames) if (survives()) setName(names, change);
      const files = new Map<string, Buffer>();
      for (const [name, { durable, pending }] of names) {
        const last = loss === 'last torn' ? pending.at(-1) : undefined;
        const surviving = pending.filter(survives).map((change) => (change === last ? torn(change) : change));
        files.set(name, surviving.reduce(changed, Buffer.from(durable)));
      }
      return files;
    },
  };
}

function setName(names: Map<string, Inode>, { name, inode }: Pick<NameChange, 'name' | 'inode'>): void {
  if (inode) names.set(name, inode);
  else names.delete(name);
}

function existing(names: Map<string, Inode>, name: string): Inode {
  const inode = names.get(name);
  if (!inode) throw new Error(`the trace uses ${name} before its creation`);
  return inode;
}

function torn(change: ContentChange): ContentChange {
  if (change.kind === 'truncate') return change;
  return { ...change, data: change.data.subarray(0, change.data.length / 2) };
}

/** Content of a file after a change. A gap before the written data contains zeros. May modify `bytes`. */
function changed(bytes: Buffer, change: ContentChange): Buffer {
  const size = change.kind === 'truncate' ? change.size : Math.max(bytes.length, change.offset + change.data.length);
  const result = size === bytes.length ? bytes : Buffer.alloc(size);
  if (result !== bytes) bytes.copy(result);
  if (change.kind === 'write') result.set(change.data, change.offset);
  return result;
}

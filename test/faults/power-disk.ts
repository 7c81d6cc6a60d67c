import type { FileChange, TraceEvent } from './power-trace.ts';
import type { Random } from './random.ts';

/**
 * Content of unsynced writes after a power loss: none of them, any part of them, or all except half of the last write to
 * each file. `whole` is the disk without a power loss.
 */
export type Loss = 'synced only' | 'some unsynced' | 'last torn' | 'whole';

/** A disk that remembers what is durable and what is only on its way there. */
export interface Disk {
  apply(event: TraceEvent): void;
  /** The files as they would be found after a loss of power now. */
  after(loss: Loss, random: Random): Map<string, Buffer>;
}

/** A file apart from its name: what was made under the same name later is another. */
interface Inode {
  durable: Content;
  pending: (FileChange & { kind: 'write' | 'truncate' })[];
}

interface NameChange {
  name: string;
  inode: Inode | undefined;
  done: number;
}

export function createDisk(): Disk {
  const current = new Map<string, Inode>();
  const durableNames = new Map<string, Inode>();
  // The names in a folder are durable after a sync of the folder, not of the file.
  let pendingNames: NameChange[] = [];

  function link(name: string, inode: Inode | undefined, done: number): void {
    setName(current, { name, inode });
    pendingNames.push({ name, inode, done });
  }

  return {
    apply(event) {
      switch (event.kind) {
        case 'create':
          return link(event.file, { durable: createContent(), pending: [] }, event.done);
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
            for (const change of inode.pending.filter(isOver)) inode.durable.change(change);
            inode.pending = inode.pending.filter((change) => !isOver(change));
          }
          return undefined;
        }
        default:
          return undefined;
      }
    },
    after(loss, random) {
      // A share of its own each time: a few writes lost, or nearly all.
      const share = random.int(100) / 100;
      const survives = () =>
        loss === 'whole' || loss === 'last torn' || (loss === 'some unsynced' && random.chance(share));
      const names = new Map(durableNames);
      for (const change of pendingNames) if (survives()) setName(names, change);
      const files = new Map<string, Buffer>();
      for (const [name, { durable, pending }] of names) {
        const content = durable.copy();
        const last = loss === 'last torn' ? pending.at(-1) : undefined;
        for (const change of pending) if (survives()) content.change(change === last ? torn(change) : change);
        files.set(name, content.bytes());
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
  if (!inode) throw new Error(`the trace has ${name} used before it was made`);
  return inode;
}

function torn(change: Inode['pending'][number]): Inode['pending'][number] {
  if (change.kind === 'truncate') return change;
  return { ...change, data: change.data.subarray(0, change.data.length / 2) };
}

interface Content {
  change(change: Inode['pending'][number]): void;
  copy(): Content;
  bytes(): Buffer;
}

/** Bytes that grow; a hole reads as zeros. */
function createContent(from: Buffer = Buffer.alloc(0)): Content {
  let bytes = Buffer.from(from);
  let size = bytes.length;

  function resize(wanted: number): void {
    if (wanted > bytes.length) bytes = Buffer.concat([bytes.subarray(0, size), Buffer.alloc(wanted * 2 - size)]);
    if (wanted < size) bytes.fill(0, wanted, size);
    size = wanted;
  }

  return {
    change(change) {
      if (change.kind === 'truncate') return resize(change.size);
      const end = change.offset + change.data.length;
      if (end > size) resize(end);
      bytes.set(change.data, change.offset);
    },
    copy: () => createContent(bytes.subarray(0, size)),
    bytes: () => bytes.subarray(0, size),
  };
}

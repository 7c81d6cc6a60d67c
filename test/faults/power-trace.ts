import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

/** System calls that change database files, make them durable, or answer a client; strace ignores unknown calls with `?`. */
export const TRACED_CALLS = [
  'pwrite64,pwritev,pwritev2,write,writev,sendto,sendmsg,fsync,fdatasync',
  'ftruncate,?truncate,fallocate,copy_file_range,sendfile,msync,?open,openat,?creat',
  '?unlink,unlinkat,?rename,?renameat,renameat2,?link,linkat',
].join(',');

/** A change of a database file. `done` is the index of the event at which the call returned; Infinity without a return. */
export type FileChange =
  | { kind: 'create' | 'unlink'; file: string; done: number }
  | { kind: 'write'; file: string; done: number; offset: number; data: Buffer }
  | { kind: 'truncate'; file: string; done: number; size: number };

/** One event of the trace, at the index of its start; a sync is at the index of its end. */
export type TraceEvent =
  | FileChange
  /** All changes of the file before `start` are durable; an empty `file` stands for the names in the folder. */
  | { kind: 'sync'; file: string; start: number }
  /** The service starts to send a response with 200. */
  | { kind: 'answer'; body: string }
  /** The start of a call that has no effect, or whose effect is a separate event. */
  | { kind: 'nothing' };

const NOTHING: TraceEvent = { kind: 'nothing' };
const CUT = '<unfinished ...>';
const SOCKET = hexOf('socket:');
// The index of the log in shared memory, which SQLite rebuilds from the log after a crash.
const INDEX_SUFFIX = '-shm';

/**
 * Reads the output of `strace -f -y -xx` about the files in `folder` and the responses of the service. strace stops a thread
 * at the start and the end of a call, and prints both separately if another event occurs between them, so that the trace keeps
 * the order of cause and effect. Throws at an unknown call.
 */
export async function readTrace(trace: string, folder: string): Promise<TraceEvent[]> {
  const events: TraceEvent[] = [];
  const existing = new Set<string>();
  const begun = new Map<string, { text: string; start: number }>();
  const folderHex = hexOf(folder);

  for await (const line of createInterface({ input: createReadStream(trace, 'latin1'), crlfDelay: Infinity })) {
    const space = line.indexOf(' ');
    const thread = line.slice(0, space);
    const text = line.slice(space).trimStart();
    const before = begun.get(thread);
    if (text.startsWith('<... ') && before) {
      begun.delete(thread);
      finish(before.text + text.slice(text.indexOf('resumed>') + 'resumed>'.length), before.start);
    } else if (text.includes(folderHex) || text.includes(SOCKET)) {
      const start = events.push(NOTHING) - 1;
      if (text.endsWith(CUT)) begun.set(thread, { text: text.slice(0, -CUT.length).trimEnd(), start });
      else finish(text, start);
    }
  }
  // The end of the trace interrupted these calls before or after their execution.
  for (const { text, start } of begun.values()) finish(`${text}) = ?`, start);
  return events;

  function finish(text: string, start: number): void {
    const [, name = '', result = ''] = /^(\w+)\(.*\) += (-?\d+|\?)/s.exec(text) ?? [];
    // A failed call has no effect.
    if (result === '' || result.startsWith('-')) return;
    const isOver = result !== '?';
    const count = isOver ? Number(result) : Infinity;
    const done = isOver ? events.length : Infinity;
    const event = text.includes(folderHex) ? fileEvent(name, text, count, start, done) : answerOf(text);
    if (!isOver && (event?.kind === 'sync' || event?.kind === 'answer')) return;
    if (event?.kind === 'sync') events.push(event);
    else if (event) events[start] = event;
  }

  function fileEvent(name: string, text: string, count: number, start: number, done: number): TraceEvent | undefined {
    const path = pathOf(text);
    const file = path === folder ? '' : path.slice(folder.length + 1);
    if ((path !== '' && !path.startsWith(folder)) || file.endsWith(INDEX_SUFFIX)) return undefined;
    switch (name) {
      case 'fsync':
      case 'fdatasync':
        return { kind: 'sync', file, start };
      case 'openat':
      case 'open':
        // With O_EXCL the file is new, so that O_TRUNC has no effect.
        if (text.includes('O_TRUNC') && !text.includes('O_EXCL')) break;
        if (!text.includes('O_CREAT') || existing.has(file)) return undefined;
        existing.add(file);
        return { kind: 'create', file, done };
      case 'unlink':
      case 'unlinkat':
        existing.delete(file);
        return { kind: 'unlink', file, done };
      case 'ftruncate':
        return { kind: 'truncate', file, done, size: Number(/, (\d+)\) /.exec(text)![1]) };
      case 'pwrite64': {
        const [, hex, offset] = /, "([^"]*)", \d+, (\d+)\) /.exec(text) ?? [];
        if (hex === undefined) break;
        return { kind: 'write', file, done, offset: Number(offset), data: bytesOf(hex).subarray(0, count) };
      }
      default:
    }
    throw new Error(`the simulation does not know this call: ${text.slice(0, 300)}`);
  }
}

/** The file of a call, from its path or its descriptor as `-y` prints it; '' for other calls. */
function pathOf(text: string): string {
  const [, path = ''] =
    /^(?:open|openat|unlink|unlinkat)\([^"]*"([^"]*)"/.exec(text) ?? /^\w+\(\d+<([^>]*)>/.exec(text) ?? [];
  return bytesOf(path).toString();
}

function answerOf(text: string): TraceEvent | undefined {
  const sent = Buffer.concat(Array.from(text.matchAll(/"([^"]*)"/g), ([, hex = '']) => bytesOf(hex))).toString();
  if (!sent.startsWith('HTTP/1.1 200 ')) return undefined;
  return { kind: 'answer', body: sent.slice(sent.indexOf('\r\n\r\n') + 4) };
}

function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.replaceAll('\\x', ''), 'hex');
}

function hexOf(text: string): string {
  return Array.from(Buffer.from(text), (byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
}

import { readFileSync } from 'node:fs';
import { CommandError } from '../context.ts';
import { type HeaderLine, readHeaders } from './headers.ts';

/** A request as it was received. */
export interface WholeRequest {
  headers: HeaderLine[];
  body: Buffer;
}

/** Where it is to be found; all that is left out is looked for on the standard input. */
interface Sources {
  headers?: string;
  header: string[];
  body?: string;
}

const STDIN = '-';
const HOW =
  "pass the request to the standard input (header lines, an empty line, the body), or its headers with --headers FILE or --header 'name: value'";

/** The request of those files, options and the standard input. Throws CommandError 2 where it has no header. */
export async function requestOf(
  { headers: file, header, body: bodyFile }: Sources,
  readInput: () => Promise<Uint8Array>,
): Promise<WholeRequest> {
  const bytesOf = async (name: string) => (name === STDIN ? Buffer.from(await readInput()) : bytesIn(name));
  const given = header.map(headerIn);
  if (file === undefined && header.length > 0) return { headers: given, body: await bytesOf(bodyFile ?? STDIN) };
  if (file === undefined && bodyFile !== undefined) throw new CommandError(2, HOW);

  const source = file ?? STDIN;
  if (source === STDIN && bodyFile === STDIN) throw new CommandError(2, 'only one of them can be the standard input');
  const bytes = await bytesOf(source);
  const { head, body } = partsOf(bytes);
  const headers = readHeaders(head);
  if (headers.length === 0 && file === undefined) throw new CommandError(2, HOW);
  if (headers.length === 0) {
    throw new CommandError(2, `${source} holds no header: write one "name: value" a line, or a JSON object`);
  }
  const isWhole = bodyFile === undefined && (source === STDIN || body.toString('latin1').trim() !== '');
  return {
    headers: [...headers, ...given],
    body: isWhole ? withoutLineEnd(body, headers) : await bytesOf(bodyFile ?? STDIN),
  };
}

/** A whole request as it was kept: header lines up to an empty line, then the body, which may be empty. */
function partsOf(bytes: Buffer): { head: string; body: Buffer } {
  // What is not UTF-8 stays as long in Latin-1 as it is in bytes.
  const text = bytes.toString('latin1');
  const { index, 0: gap } = /\r?\n\r?\n/.exec(text) ?? { index: text.length, 0: '' };
  const isJson = text.trimStart().startsWith('{');
  if (isJson) return { head: bytes.toString(), body: Buffer.alloc(0) };
  return { head: bytes.subarray(0, index).toString(), body: bytes.subarray(index + gap.length) };
}

/** Editors and shells end a file with a line end, which is not sent; Content-Length knows better. */
function withoutLineEnd(body: Buffer, headers: readonly HeaderLine[]): Buffer {
  const announced = headers.find(([name]) => name === 'content-length')?.[1];
  if (announced === String(body.length)) return body;
  const end = /\r?\n$/.exec(body.toString('latin1'))?.[0] ?? '';
  return body.subarray(0, body.length - end.length);
}

function headerIn(line: string): HeaderLine {
  const [one] = readHeaders(line);
  if (one) return one;
  throw new CommandError(2, `--header takes 'name: value', not ${JSON.stringify(line)}`);
}

function bytesIn(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new CommandError(2, `${file} cannot be read: ${(error as Error).message}`);
  }
}

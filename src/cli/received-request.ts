import { readFileSync } from 'node:fs';
import { CommandError, type Terminal } from './command-context.ts';
import type { Received } from './webhook-diagnosis.ts';

/** The options that name the parts of a request; the standard input has the parts that no option names. */
interface Sources {
  headers?: string;
  header: string[];
  body?: string;
}

const STDIN = '-';
const HOW =
  "pass the request to the standard input (header lines, an empty line, the body), or its headers with --headers FILE or --header 'name: value'";

/** The content of a file, or of the standard input for `-`. Throws {@link CommandError} 2 if it cannot be read. */
export async function contentOf(file: string, { readInput }: Pick<Terminal, 'readInput'>): Promise<Buffer> {
  try {
    return file === STDIN ? Buffer.from(await readInput()) : readFileSync(file);
  } catch (error) {
    throw new CommandError(2, `${file} cannot be read: ${(error as Error).message}`);
  }
}

/** The request in those files, options and the standard input. Throws {@link CommandError} 2 if it has no header. */
export async function requestOf(
  { headers: file, header, body: bodyFile }: Sources,
  terminal: Pick<Terminal, 'readInput'>,
): Promise<Pick<Received, 'headers' | 'body'>> {
  const wrong = header.find((line) => Object.keys(readHeaders(line)).length === 0);
  if (wrong !== undefined) throw new CommandError(2, `--header takes 'name: value', not ${JSON.stringify(wrong)}`);
  if (file === undefined && header.length > 0) {
    return { headers: readHeaders(header.join('\n')), body: await contentOf(bodyFile ?? STDIN, terminal) };
  }
  if (file === undefined && bodyFile !== undefined) throw new CommandError(2, HOW);
  const source = file ?? STDIN;
  if (source === STDIN && bodyFile === STDIN) throw new CommandError(2, 'only one of them can be the standard input');
  const { head, body } = partsOf(await contentOf(source, terminal));
  const headers = readHeaders([head, ...header].join('\n'));
  if (Object.keys(headers).length === 0) {
    const missing = `${source} holds no header: write one "name: value" a line, or a JSON object`;
    throw new CommandError(2, file === undefined ? HOW : missing);
  }
  const isWhole = bodyFile === undefined && (source === STDIN || body.toString('latin1').trim() !== '');
  return { headers, body: isWhole ? withoutLineEnd(body, headers) : await contentOf(bodyFile ?? STDIN, terminal) };
}

/**
 * Reads `name: value` lines, the output of `curl -v`, or one JSON object of headers. Names come out in lower case, and
 * those of CGI (`HTTP_X_GATEWAY_SIGNATURE`) as the service sent them. Other lines, such as a request line, are skipped.
 */
export function readHeaders(text: string): Received['headers'] {
  const headers: Record<string, string[]> = {};
  for (const line of linesOf(text.replace(/^\u{feff}/u, ''))) {
    const [, name, value] = /^\s*(?:[<>] )?(?:HTTP_)?([\w!#$%&'*+.^`|~-]+)\s*:\s?(.*)$/is.exec(line) ?? [];
    if (name !== undefined) (headers[name.toLowerCase().replaceAll('_', '-')] ??= []).push(value!.trim());
  }
  return headers;
}

function linesOf(text: string): string[] {
  if (!text.trimStart().startsWith('{')) return text.split(/\r?\n/);
  try {
    const entries = Object.entries(JSON.parse(text) as Record<string, unknown>);
    return entries.flatMap(([name, value]) => [value].flat().map((one) => `${name}: ${String(one)}`));
  } catch {
    return [];
  }
}

/** A whole request: header lines up to an empty line, then the body, which may be empty. */
function partsOf(bytes: Buffer): { head: string; body: Buffer } {
  // Latin-1 has one character a byte, so that positions in the text are positions in the bytes.
  const text = bytes.toString('latin1');
  const gap = text.trimStart().startsWith('{') ? null : /\r?\n\r?\n/.exec(text);
  if (gap === null) return { head: bytes.toString(), body: Buffer.alloc(0) };
  return { head: bytes.subarray(0, gap.index).toString(), body: bytes.subarray(gap.index + gap[0].length) };
}

/** Editors and shells end a file with a line end, which is not sent, unless Content-Length counts it. */
function withoutLineEnd(body: Buffer, headers: Received['headers']): Buffer {
  if (headers['content-length']?.[0] === String(body.length)) return body;
  const end = /\r?\n$/.exec(body.toString('latin1'))?.[0] ?? '';
  return body.subarray(0, body.length - end.length);
}

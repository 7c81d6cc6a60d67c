import { request } from 'undici';

/** A command that could not be done; `help` is shown under the message. */
export class CommandError extends Error {
  readonly exitCode: 1 | 2;
  readonly help: string;

  constructor(exitCode: 1 | 2, message: string, help = '') {
    super(message);
    this.name = 'CommandError';
    this.exitCode = exitCode;
    this.help = help;
  }
}

type Fields = Record<string, string | undefined>;

/** The API of a running service. Every call rejects with {@link CommandError} where it is refused or not reached. */
export interface Api {
  get(path: string, query?: Fields): Promise<Record<string, unknown>>;
  post(path: string, body: unknown): Promise<Record<string, unknown>>;
  put(path: string, body: unknown): Promise<Record<string, unknown>>;
}

export function createApi(base: string): Api {
  return {
    get: (path, query = {}) => call(base, 'GET', `${path}${queryOf(query)}`),
    post: (path, body) => call(base, 'POST', path, body),
    put: (path, body) => call(base, 'PUT', path, body),
  };
}

interface Refusal {
  error?: { message?: string; suggestion?: string; issues?: { path: string; message: string }[] };
}

async function call(
  base: string,
  method: 'GET' | 'POST' | 'PUT',
  path: string,
  body?: unknown,
): Promise<Record<string, unknown>> {
  const answer = await send(base, method, path, body);
  const json = (await answer.body.json().catch(() => undefined)) as (Record<string, unknown> & Refusal) | undefined;
  if (answer.statusCode === 200 && typeof json?.['object'] === 'string') return json;
  const { message, suggestion, issues = [] } = json?.error ?? {};
  const lines = [
    message ?? `${base} answered ${answer.statusCode}, and not as Tillway does`,
    ...(issues.length > 1 ? issues.map((issue) => `  ${issue.path}: ${issue.message}`) : []),
    ...(suggestion === undefined ? [] : [suggestion]),
  ];
  throw new CommandError(1, lines.join('\n'));
}

async function send(base: string, method: 'GET' | 'POST' | 'PUT', path: string, body: unknown) {
  const json =
    body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  if (!/^https?:$/.test(URL.parse(base)?.protocol ?? ''))
    throw new CommandError(2, `${base} is not a URL such as http://127.0.0.1:3000`);
  try {
    return await request(`${base.replace(/\/$/, '')}${path}`, { method, ...json });
  } catch (error) {
    throw new CommandError(1, `${base} cannot be reached: ${(error as Error).message}`);
  }
}

function queryOf(fields: Fields): string {
  const given = Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}

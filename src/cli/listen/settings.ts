import { type RequestOptions, type Tillway, TillwayError } from '../../../sdk/src/index.ts';
import { CommandError, type Terminal } from '../context.ts';
import { parseDuration } from '../duration.ts';
import { EVENT_TYPES } from '../values.ts';
import { SECRET_FORM, isSecret } from '../../webhooks/secret.ts';
import type { Since } from './feed.ts';

export interface ListenOptions {
  url?: string;
  forwardTo?: string;
  events?: string;
  secret?: string;
  since?: string;
  environment?: 'sandbox' | 'production';
}

/** What forwarded events are signed with, and where that comes from: a secret of the environment is not shown. */
export interface SigningSecret {
  text: string;
  from: 'made' | 'option' | 'environment';
}

const SECRET_BYTES = 32;
const TARGET = 'http://127.0.0.1:4000/webhooks';
/** Without a scheme, what is meant as an address has a port, or is this machine: `localhost:4000/webhooks`. */
const BARE_ADDRESS = /^(?:localhost|[\w.-]+:\d+|\[[\da-f:]+\]:\d+)(?:\/|$)/i;
// A shell takes these as they stand.
const HARMLESS_WORD = /^[\w@%+=:,./-]+$/;

/** The types of --events; all where it is left out. */
export function typesOf(text: string | undefined): ReadonlySet<string> {
  if (text === undefined) return new Set<string>(EVENT_TYPES);
  const types = text.split(',').map((type) => type.trim());
  const unknown = types.find((type) => !EVENT_TYPES.some((known) => known === type));
  if (unknown === undefined) return new Set(types);
  throw new CommandError(2, `--events knows no ${JSON.stringify(unknown)}; there are ${EVENT_TYPES.join(', ')}`);
}

/** The URL of --forward-to, which may lack its scheme. What it says of a user is never repeated: it may be a password. */
export function targetOf(text: string): string {
  const url = URL.parse(BARE_ADDRESS.test(text) ? `http://${text}` : text);
  const isWeb = url !== null && /^https?:$/.test(url.protocol);
  if (text.includes('@') && (!isWeb || url.username !== '' || url.password !== '')) {
    throw new CommandError(2, `--forward-to takes a URL without user and password, which would not be sent: ${TARGET}`);
  }
  if (isWeb) return url.href;
  throw new CommandError(2, `--forward-to takes a URL such as ${TARGET}, not ${text}`);
}

/** What to sign with: the one given, else that of the environment, else a new one. */
export function signingSecretOf(
  { forwardTo, secret }: ListenOptions,
  { webhookSecret, randomBytes }: Pick<Terminal, 'webhookSecret' | 'randomBytes'>,
): SigningSecret {
  if (secret !== undefined) {
    if (forwardTo === undefined) throw new CommandError(2, '--secret signs what is forwarded: name --forward-to too');
    if (isSecret(secret)) return { text: secret, from: 'option' };
    const made = 'such as whsec_$(openssl rand -base64 32); left out, one is made';
    throw new CommandError(2, `--secret takes ${SECRET_FORM}, ${made}`);
  }
  if (webhookSecret === undefined || forwardTo === undefined) {
    return { text: `whsec_${Buffer.from(randomBytes(SECRET_BYTES)).toString('base64')}`, from: 'made' };
  }
  if (isSecret(webhookSecret)) return { text: webhookSecret, from: 'environment' };
  throw new CommandError(
    2,
    `WEBHOOK_SECRET of this shell is not ${SECRET_FORM}: mend it, unset it, or name another with --secret`,
  );
}

interface Asking {
  /** Milliseconds since 1970, by the clock here. */
  now(): number;
  requests: RequestOptions;
}

/** From where on --since wants the events that are there; undefined where it is left out. */
export async function sinceOf(
  { since, environment }: ListenOptions,
  client: Tillway,
  asking: Asking,
): Promise<Since | undefined> {
  if (since === undefined) return undefined;
  if (/^evt_\w+$/.test(since)) {
    const event = await client.events.get(since, asking.requests);
    const { created, livemode } = event;
    const is = livemode ? 'production' : 'sandbox';
    if (environment === undefined || environment === is) return { from: Date.parse(created), event };
    throw new CommandError(2, `--since names an event of ${is}, and --environment ${environment}`);
  }
  const seconds = parseDuration(since);
  if (seconds !== undefined) return { from: (await serviceNow(client, asking)) - seconds * 1000 };
  throw new CommandError(
    2,
    `--since takes the id of an event, evt_..., or a time such as 15m or 2h, not ${JSON.stringify(since)}`,
  );
}

/** The time by which events are stamped: that of the test clock, where the service has one. */
async function serviceNow(client: Tillway, { now, requests }: Asking): Promise<number> {
  try {
    return Date.parse((await client.testClock.get(requests)).now);
  } catch (error) {
    if (error instanceof TillwayError && error.code === 'forbidden') return now();
    throw error;
  }
}

/** The command line that forwards everything from that event on again. */
export function againCommand(id: string, options: ListenOptions, { text, from }: SigningSecret): string {
  const given: [option: string, value: string | undefined][] = [
    ['--since', id],
    ['--url', options.url],
    ['--forward-to', options.forwardTo],
    ['--events', options.events],
    ['--environment', options.environment],
    // What the shell holds stays there.
    ['--secret', from === 'environment' ? undefined : text],
  ];
  const words = given.flatMap(([option, value]) => (value === undefined ? [] : [option, quoted(value)]));
  return ['tillway', 'listen', ...words].join(' ');
}

function quoted(word: string): string {
  return HARMLESS_WORD.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

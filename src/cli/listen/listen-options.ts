import { type RequestOptions, type Tillway, TillwayError, type WebhookEventType } from '../../../sdk/src/index.ts';
import { SECRET_FORM, isSecret } from '../../webhooks/secret-box.ts';
import { CommandError, type Terminal } from '../command-context.ts';
import { parseDuration } from '../duration.ts';
import type { Since } from './event-follower.ts';

export interface ListenOptions {
  url?: string;
  forwardTo?: string;
  events?: WebhookEventType[];
  secret?: string;
  since?: string;
  environment?: 'sandbox' | 'production';
}

/** The secret for forwarded events, and its source: a secret of the environment is not shown. */
export interface SigningSecret {
  text: string;
  from: 'made' | 'option' | 'environment';
}

const SECRET_BYTES = 32;
const TARGET = 'http://127.0.0.1:4000/webhooks';
/** An address without a scheme has a port or is this machine: `localhost:4000/webhooks`. */
const BARE_ADDRESS = /^(?:localhost|[\w.-]+:\d+|\[[\da-f:]+\]:\d+)(?:\/|$)/i;
// A shell passes these words on unchanged.
const HARMLESS_WORD = /^[\w@%+=:,./-]+$/;

/** The URL of --forward-to, which may lack its scheme. An error never repeats user and password. */
export function targetOf(text: string): string {
  const url = URL.parse(BARE_ADDRESS.test(text) ? `http://${text}` : text);
  const isWeb = url !== null && /^https?:$/.test(url.protocol);
  if (text.includes('@') && (!isWeb || url.username !== '' || url.password !== '')) {
    throw new CommandError(2, `--forward-to takes a URL without user and password, which would not be sent: ${TARGET}`);
  }
  if (isWeb) return url.href;
  throw new CommandError(2, `--forward-to takes a URL such as ${TARGET}, not ${text}`);
}

/** The signing secret: from the option, else from the environment, else a new one. */
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
  const refusal = `WEBHOOK_SECRET of this shell is not ${SECRET_FORM}`;
  throw new CommandError(2, `${refusal}: correct it, unset it, or name another with --secret`);
}

/** The start of the past events that --since names; undefined without --since. */
export async function sinceOf(
  { since, environment }: ListenOptions,
  client: Tillway,
  { now, requests }: { now(): number; requests: RequestOptions },
): Promise<Since | undefined> {
  if (since === undefined) return undefined;
  if (/^evt_\w+$/.test(since)) {
    const event = await client.events.get(since, requests);
    const is = event.livemode ? 'production' : 'sandbox';
    if (environment === undefined || environment === is) return { from: Date.parse(event.created), event };
    throw new CommandError(2, `--since names an event of ${is}, and --environment ${environment}`);
  }
  const seconds = parseDuration(since);
  if (seconds === undefined) {
    const form = 'the id of an event, evt_..., or a time such as 15m or 2h';
    throw new CommandError(2, `--since takes ${form}, not ${JSON.stringify(since)}`);
  }
  // Events carry the time of the test clock if the service has one.
  const clock = await client.testClock.get(requests).catch((error: unknown) => {
    if (error instanceof TillwayError && error.code === 'forbidden') return undefined;
    throw error;
  });
  return { from: (clock === undefined ? now() : Date.parse(clock.now)) - seconds * 1000 };
}

/** The command line that forwards everything from that event on again. */
export function againCommand(id: string, options: ListenOptions, { text, from }: SigningSecret): string {
  const given: [option: string, value: string | undefined][] = [
    ['--since', id],
    ['--url', options.url],
    ['--forward-to', options.forwardTo],
    ['--events', options.events?.join(',')],
    ['--environment', options.environment],
    // The shell has its own secret already.
    ['--secret', from === 'environment' ? undefined : text],
  ];
  const words = given.flatMap(([option, value]) => (value === undefined ? [] : [option, quoted(value)]));
  return ['tillway', 'listen', ...words].join(' ');
}

function quoted(word: string): string {
  return HARMLESS_WORD.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

import type { Command } from 'commander';
import type { Tillway, WebhookEvent, WebhookEventType } from '../../../sdk/src/index.ts';
import { STATUS_TYPES } from '../../domain/webhook-endpoint.ts';
import { SECRET_FORM, isWebhookSecret } from '../../webhooks/secret-box.ts';
import { dollars, plain } from '../cells.ts';
import {
  type CommandContext,
  CommandError,
  type Paint,
  type Style,
  type Terminal,
  describedCommand,
  jsonLineOf,
} from '../command-context.ts';
import { followFeed } from '../feed-follower.ts';
import { environmentOption, eventTypesOption, option } from '../options.ts';
import type { Forwarded } from './forwarder.ts';

interface ListenOptions {
  forwardTo?: string;
  events?: readonly WebhookEventType[];
  secret?: string;
  since?: string;
  environment?: 'sandbox' | 'production';
}

/** One line of the output, printed as JSON with --json, otherwise as text. */
type Note =
  /** `secret` is null if nothing is forwarded, or if it comes from WEBHOOK_SECRET, which is not shown. */
  | { object: 'listen_started'; url: string; forwardTo: string | null; secret: string | null }
  | { object: 'event'; event: WebhookEvent }
  | ({ object: 'forward'; eventId: string } & Omit<Forwarded, 'event'>)
  /** `reason` is null when the service is reachable again. */
  | { object: 'service_reach'; url: string; reason: string | null }
  /** `since` is the oldest event that the target has not received; null if it has received all. */
  | { object: 'listen_ended'; events: number; forwarded: number; since: string | null };

const PAGE = 100;
const REQUESTS = { maxRetries: 0, timeoutMs: 10_000 };
const SECRET_BYTES = 32;
const TARGET = 'http://127.0.0.1:4000/webhooks';
const TYPE_WIDTH = 'payment.provider_pending'.length;
const STYLES: Record<string, Style> = {
  'payment.paid': 'green',
  'payment.failed': 'red',
  'payment.provider_pending': 'yellow',
};

/** The `listen` command: prints new events, and forwards them signed, until Ctrl-C. */
export function listenCommand(context: CommandContext): Command {
  const command = describedCommand('listen', {
    summary: 'Print new events, and forward them to a local URL',
    details:
      'Forwards events like webhooks of the service: the same bytes, headers and order, signed with a secret that is printed at the ' +
      'start. No endpoint is registered, and this machine needs no public address. Only 200 counts as received; ' +
      'otherwise the event is sent again after 1, 5, 15 and 30 s. Redirects are not followed, and the timeout is 15 s.\n\n' +
      'To forward past events, or events whose attempts all failed, give the first one as --since; ' +
      'all later events follow. Your server can then receive an event twice, as with webhooks of the service.',
    examples: [
      'tillway listen',
      'tillway listen --forward-to http://127.0.0.1:4000/webhooks',
      'tillway listen --events payment.paid,payment.failed --json',
    ],
    options: [
      option('--forward-to <url>', 'URL that receives the events'),
      eventTypesOption('show'),
      option('--since <event>', 'start with this past event'),
      option('--secret <secret>', 'signing secret: whsec_ and base64; default WEBHOOK_SECRET, else a random secret'),
      environmentOption('events of this environment; default both'),
    ],
    data: 'print one JSON document per line',
    lines: true,
  });
  return command.action(async ({ events: types = STATUS_TYPES, since, environment, ...given }: ListenOptions) => {
    const { terminal } = context;
    const forwardTo = given.forwardTo === undefined ? null : targetOf(given.forwardTo);
    const secret = given.secret ?? terminal.webhookSecret ?? newSecret(terminal);
    if (!isWebhookSecret(secret)) throw wrongSecret(given.secret === undefined ? 'WEBHOOK_SECRET' : '--secret');
    // Imported here, because only this command delivers webhooks.
    const [{ createDeliverer }, { createResolve }, { createForwarder }] = await Promise.all([
      import('../../webhooks/deliver.ts'),
      import('../../webhooks/address.ts'),
      import('./forwarder.ts'),
    ]);
    const paint = context.paint(command);
    const tell = (note: Note) =>
      terminal.write(context.isJson(command) ? `${jsonLineOf(note)}\n` : textOf(note, paint));
    const url = context.urlOf(command);
    const client = context.client(command);
    const signal = terminal.interruption();
    const deliverer = createDeliverer({ targets: 'any', resolve: createResolve(), now: terminal.now });
    const counts = { events: 0, forwarded: 0 };
    /** The events that the target has not received. */
    const open = new Set<string>();
    let fault: { error: unknown } | undefined;
    const forwarder = createForwarder({
      secret,
      deliverer,
      now: terminal.now,
      signal,
      sleep: (ms) => terminal.sleep(ms, signal),
      report({ event, ...forwarded }) {
        if (forwarded.failure === null) {
          open.delete(event.id);
          counts.forwarded += 1;
        }
        tell({ object: 'forward', eventId: event.id, ...forwarded });
      },
      onFault: (error) => (fault ??= { error }),
    });
    function show(event: WebhookEvent): void {
      if (fault) throw fault.error;
      if (!types.some((type) => type === event.type)) return;
      counts.events += 1;
      tell({ object: 'event', event });
      if (forwardTo === null) return;
      open.add(event.id);
      forwarder.forward(forwardTo, event);
    }

    try {
      const first = since === undefined ? undefined : await client.events.get(since, { ...REQUESTS, signal });
      const position = { after: first?.id ?? (await lastEvent(client, environment, signal)) };
      const isShown = forwardTo !== null && (given.secret !== undefined || terminal.webhookSecret === undefined);
      tell({ object: 'listen_started', url, forwardTo, secret: isShown ? secret : null });
      if (first) show(first);
      const query = { limit: PAGE, environment };
      const onReach = (reason: string | null) => tell({ object: 'service_reach', url, reason });
      const sleep: Terminal['sleep'] = async (ms, until) => {
        await terminal.sleep(ms, until);
        if (fault) throw fault.error;
      };
      const follow = { client, position, query, wasReached: true, signal, requests: REQUESTS, sleep, onReach };
      for await (const event of followFeed(follow)) show(event);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await deliverer.close();
    }
    const [oldest = null] = open;
    tell({ object: 'listen_ended', ...counts, since: oldest });
  });
}

/** Cursor at the end of the feed, which can be after the newest event of the list; empty without events. */
async function lastEvent(client: Tillway, environment: ListenOptions['environment'], signal: AbortSignal) {
  const requests = { ...REQUESTS, signal };
  const newest = await client.events.list({ limit: 1, environment }, requests);
  const feed = client.events.feed({ limit: PAGE, environment, after: newest.data[0]?.id ?? '' }, requests);
  for await (const event of feed) void event;
  return feed.cursor;
}

/** URL of --forward-to, with `http://` added if it has no scheme. Error messages never contain a user name or password. */
function targetOf(text: string): string {
  const url = URL.parse(/^[a-z]+:\/\//i.test(text) ? text : `http://${text}`);
  if (text.includes('@')) {
    throw new CommandError(2, `--forward-to takes a URL without user name and password: ${TARGET}`);
  }
  if (url !== null && /^https?:$/.test(url.protocol)) return url.href;
  throw new CommandError(2, `--forward-to takes a URL such as ${TARGET}, not ${text}`);
}

function newSecret({ randomBytes }: Terminal): string {
  return `whsec_${Buffer.from(randomBytes(SECRET_BYTES)).toString('base64')}`;
}

function wrongSecret(source: string): CommandError {
  return new CommandError(2, `${source} must be ${SECRET_FORM}, such as whsec_$(openssl rand -base64 32)`);
}

function textOf(note: Note, paint: Paint): string {
  switch (note.object) {
    case 'listen_started': {
      const { url, forwardTo, secret } = note;
      if (forwardTo === null) return `Listening to ${paint('bold', url)}. Press Ctrl-C to stop.\n\n`;
      const signed = secret === null ? 'the secret in WEBHOOK_SECRET of this shell' : secret;
      return `Forwarding the events of ${paint('bold', url)} to ${paint('bold', forwardTo)}. Press Ctrl-C to stop.\nThe events are signed with ${paint('bold', signed)}\nVerify them with this secret on your server.\n\n`;
    }
    case 'event': {
      const { created, type, data } = note.event;
      const time = paint('dim', plain(created.slice(0, 19).replace('T', ' ')));
      const name = paint(STYLES[type] ?? 'bold', plain(type).padEnd(TYPE_WIDTH));
      const about = 'to' in data ? `${data.route.id}  ${data.words}` : `${dollars(data.amount)}  ${data.session_id}`;
      return `${time}  ${name}  ${plain(about)}\n`;
    }
    case 'forward':
      return forwardText(note, paint);
    case 'service_reach': {
      if (note.reason === null) return `${paint('green', `${note.url} is reachable again.`)}\n`;
      return `${paint('yellow', `${note.url} is unreachable: ${plain(note.reason)}`)} Retrying.\n`;
    }
    case 'listen_ended': {
      const rest = note.since === null ? '' : ` To forward the remaining events, use --since ${plain(note.since)}`;
      // The terminal has printed ^C on the current line.
      return `\n${note.events} ${note.events === 1 ? 'event' : 'events'}, ${note.forwarded} forwarded.${rest}\n`;
    }
  }
}

function forwardText(note: Extract<Note, { object: 'forward' }>, paint: Paint): string {
  const { eventId, attempt, durationMs, failure, nextTryMs } = note;
  const start = `  ${paint('dim', plain(eventId))} `;
  if (failure === null) return `${start}${paint('green', `-> 200 in ${durationMs} ms`)}\n`;
  const next = nextTryMs === null ? 'given up' : `next try in ${nextTryMs / 1000} s`;
  const advice = attempt === 1 ? `  ${paint('yellow', adviceOn(note))}\n` : '';
  return `${start}${paint('red', `-> ${plain(failure)}, ${next}`)}\n${advice}`;
}

const ADVICE: Readonly<Record<number, string>> = {
  400: 'Your handler rejects the event: check that it uses the secret shown above. "tillway webhook verify" explains failures.',
  404: 'Your server has no route at this path: correct --forward-to.',
  405: 'Your server does not accept POST at this path: correct --forward-to, or the route.',
};

/** Suggestion for a failed attempt. */
export function adviceOn({ status, failure }: Pick<Forwarded, 'status' | 'failure'>): string {
  if (failure === 'connection refused') return 'No server listens there: start your server, or correct --forward-to.';
  if (failure?.startsWith('no complete answer')) {
    return 'Answer within 15 s: send 200 first, then process the event.';
  }
  if (status === null) return 'Check --forward-to, and the proxy or firewall in front of your server.';
  if (status < 300) return 'Answer with status 200: no other status counts as received.';
  if (status < 400) return 'Set --forward-to to the target of the redirect: redirects are not followed.';
  return ADVICE[status === 401 || status === 403 ? 400 : status] ?? 'Check the log of your server.';
}

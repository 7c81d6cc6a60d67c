import type { Command } from 'commander';
import type { Tillway, WebhookEvent, WebhookEventType } from '../../../sdk/src/index.ts';
import { EVERY_TYPE, STATUS_TYPES } from '../../domain/webhook-endpoint.ts';
import { SECRET_FORM, isSecret } from '../../webhooks/secret-box.ts';
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
import { environmentOption, eventTypesOf, option } from '../options.ts';
import type { Forwarded } from './forwarder.ts';

interface ListenOptions {
  forwardTo?: string;
  events?: readonly WebhookEventType[];
  secret?: string;
  since?: string;
  environment?: 'sandbox' | 'production';
}

/** One line of the output: with --json the document, else its text. */
type Note =
  /** `secret` is null if nothing is forwarded or the secret is from the environment, which is not shown. */
  | { object: 'listen_started'; url: string; forwardTo: string | null; secret: string | null }
  | { object: 'event'; event: WebhookEvent }
  | ({ object: 'forward'; eventId: string } & Omit<Forwarded, 'event'>)
  /** `reason` is null once the service is reachable again. */
  | { object: 'service_reach'; url: string; reason: string | null }
  /** `since` is the oldest event that the target has not received; null if there is none. */
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

/** `listen`: prints events as they happen, and forwards them signed, until it is interrupted. */
export function listenCommand(context: CommandContext): Command {
  const command = describedCommand('listen', {
    summary: 'Print each event as it happens, and forward it to your own machine',
    details:
      'Forwards as the service delivers: the same bytes, headers and order, signed with a secret that is printed at the ' +
      'start. No endpoint is registered, and nothing has to reach this machine from outside. Only 200 counts as received; ' +
      'otherwise it is tried again after 1, 5, 15 and 30 s. Redirects are not followed, and an answer may take 15 s.\n\n' +
      'Events from before the start, and events that were given up, are not forwarded: --since starts with one of them ' +
      'and goes on with new ones. Your server can then get an event twice, as it can from the service.',
    examples: [
      'tillway listen',
      'tillway listen --forward-to http://127.0.0.1:4000/webhooks',
      'tillway listen --events payment.paid,payment.failed --json',
    ],
    options: [
      option('--forward-to <url>', 'where each event is posted'),
      option(
        '--events <types>',
        `separated by commas: ${EVERY_TYPE.join(', ')}; default: the first three, as for an endpoint`,
        eventTypesOf,
      ),
      option('--since <event>', 'start with this past event'),
      option('--secret <secret>', 'signing secret: whsec_ and base64; default WEBHOOK_SECRET, else a new one'),
      environmentOption('only events of sandbox or of production; default: both'),
    ],
    data: 'print a JSON document a line, for programs',
    lines: true,
  });
  return command.action(async ({ events: types = STATUS_TYPES, since, environment, ...given }: ListenOptions) => {
    const { terminal } = context;
    const forwardTo = given.forwardTo === undefined ? null : targetOf(given.forwardTo);
    const secret = given.secret ?? terminal.webhookSecret ?? newSecret(terminal);
    if (!isSecret(secret)) throw wrongSecret(given.secret === undefined ? 'WEBHOOK_SECRET' : '--secret');
    // Loaded here, because no other command delivers webhooks.
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

/** The end of the feed, which can be beyond the newest event of the list; empty without events. */
async function lastEvent(client: Tillway, environment: ListenOptions['environment'], signal: AbortSignal) {
  const requests = { ...REQUESTS, signal };
  const newest = await client.events.list({ limit: 1, environment }, requests);
  const feed = client.events.feed({ limit: PAGE, environment, after: newest.data[0]?.id ?? '' }, requests);
  for await (const event of feed) void event;
  return feed.cursor;
}

/** The URL of --forward-to, which may lack its scheme. An error never repeats user and password. */
function targetOf(text: string): string {
  const url = URL.parse(/^[a-z]+:\/\//i.test(text) ? text : `http://${text}`);
  if (text.includes('@')) {
    throw new CommandError(2, `--forward-to takes a URL without user and password, which would not be sent: ${TARGET}`);
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
      if (forwardTo === null) return `Listening to ${paint('bold', url)}. Ctrl-C ends.\n\n`;
      const signed = secret === null ? 'the secret in WEBHOOK_SECRET of this shell' : secret;
      return `Forwarding the events of ${paint('bold', url)} to ${paint('bold', forwardTo)}. Ctrl-C ends.\nThey are signed with ${paint('bold', signed)}\nHave your server verify with that secret.\n\n`;
    }
    case 'event': {
      const { created, type, data } = note.event;
      const time = paint('dim', plain(created.slice(0, 19).replace('T', ' ')));
      const name = paint(STYLES[type] ?? 'bold', plain(type).padEnd(TYPE_WIDTH));
      return `${time}  ${name}  ${dollars(data.amount)}  ${plain(data.session_id)}\n`;
    }
    case 'forward':
      return forwardText(note, paint);
    case 'service_reach': {
      if (note.reason === null) return `${paint('green', `${note.url} is back.`)}\n`;
      return `${paint('yellow', `${note.url} is unreachable: ${plain(note.reason)}`)} Waiting for it.\n`;
    }
    case 'listen_ended': {
      const rest = note.since === null ? '' : ` Forward the rest again with --since ${plain(note.since)}`;
      // The line starts behind the ^C of the terminal.
      return `\n${note.events} events, ${note.forwarded} forwarded.${rest}\n`;
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
  400: 'Your handler refuses it: does it verify with the secret shown above? tillway webhook verify explains a failure.',
  404: 'Your server has nothing at that path: correct --forward-to.',
  405: 'Your server accepts no POST at that path: correct --forward-to, or its route.',
};

/** The advice about a failed attempt, in one sentence. */
export function adviceOn({ status, failure }: Pick<Forwarded, 'status' | 'failure'>): string {
  if (failure === 'connection refused') return 'Nothing listens there: start your server, or correct --forward-to.';
  if (failure?.startsWith('no complete answer')) {
    return 'Answer within 15 s: 200 first, the work afterwards.';
  }
  if (status === null) return 'Correct --forward-to, or the proxy or firewall before your server.';
  if (status < 300) return 'Answer exactly 200: the service counts nothing else as received.';
  if (status < 400) return 'Name the address that it leads to: redirects are not followed.';
  return ADVICE[status === 401 || status === 403 ? 400 : status] ?? 'Look into the log of your server.';
}

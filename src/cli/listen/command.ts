import type { Command } from 'commander';
import { TillwayError } from '../../../sdk/src/index.ts';
import { type CommandContext, CommandError, describedCommand } from '../context.ts';
import { EVENT_TYPES } from '../events.ts';
import { type EventFeed, createEventFeed } from './feed.ts';
import type { Forwarder } from './forward.ts';
import type { Counts, ListenWords } from './words.ts';
import { environmentOption } from '../values.ts';

interface Options {
  forwardTo?: string;
  events?: string;
  secret?: string;
  environment?: 'sandbox' | 'production';
}

const POLL_MS = 500;
const PAGE = 100;
const READ_TIMEOUT_MS = 10_000;
const SECRET = /^whsec_[A-Za-z0-9+/]+={0,2}$/;
const SECRET_BYTES = 32;
const MIN_SECRET_BYTES = 24;
const MAX_SECRET_BYTES = 64;

/** `listen`: prints events as they happen, and forwards them signed, until it is interrupted. */
export function listenCommand(context: CommandContext): Command {
  const command = describedCommand('listen', {
    summary: 'Print each event as it happens, and forward it to your own machine',
    details:
      'Forwards as the service delivers: the same bytes, headers and order, signed with a secret that is printed at the ' +
      'start. No endpoint is registered, and nothing has to reach this machine from outside. Only 200 counts as received; ' +
      'otherwise it is tried again after 1, 5, 15 and 30 s. Redirects are not followed, and an answer may take 15 s.',
    examples: [
      'tillway listen',
      'tillway listen --forward-to http://127.0.0.1:4000/webhooks',
      'tillway listen --events payment.paid,payment.failed --json',
    ],
  })
    .option('--forward-to <url>', 'where each event is posted')
    .option('--events <types>', `only these, separated by commas: ${EVENT_TYPES.join(', ')}`)
    .option('--secret <secret>', 'what to sign with: whsec_ and base64; made anew where it is left out')
    .addOption(environmentOption('only events of sandbox or of production; left out, both'));

  return command.action(async (options: Options) => {
    const { terminal } = context;
    // Loaded here: no other command needs what delivers webhooks.
    const [{ createDeliverer }, { createResolve }, { createForwarder }, { jsonLines, words }] = await Promise.all([
      import('../../webhooks/deliver.ts'),
      import('../../webhooks/address.ts'),
      import('./forward.ts'),
      import('./words.ts'),
    ]);
    const types = typesOf(options.events);
    const secret = secretOf(options, (size) => terminal.randomBytes(size));
    const said = context.isJson(command) ? jsonLines() : words(context.paint(command));
    const url = context.urlOf(command);
    const signal = terminal.interruption();
    const { forwardTo } = options;

    const counts: Counts = { events: 0, forwarded: 0, failed: 0, waiting: 0 };
    const client = context.client(command);
    const query = { limit: PAGE, ...(options.environment && { environment: options.environment }) };
    const requests = { signal, maxRetries: 0, timeoutMs: READ_TIMEOUT_MS };
    const feed = createEventFeed({ pages: () => client.events.list(query, requests).pages(), now: terminal.now });
    const deliverer = createDeliverer({ targets: 'any', resolve: createResolve(), now: terminal.now });
    const forwarder =
      forwardTo === undefined
        ? undefined
        : createForwarder({
            url: forwardTo,
            secret,
            deliverer,
            now: terminal.now,
            sleep: (ms) => terminal.sleep(ms, signal),
            signal,
            report(forwarded) {
              if (forwarded.failure === null) counts.forwarded += 1;
              else if (forwarded.nextTryMs === null) counts.failed += 1;
              terminal.write(said.forwarded(forwarded));
            },
          });
    try {
      await feed.start();
      terminal.write(said.started({ url, forwardTo, secret: forwarder && secret }));
      await follow({ context, url, feed, forwarder, types, said, signal, counts });
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await deliverer.close();
    }
    terminal.write(said.ended({ ...counts, waiting: forwarder?.waiting() ?? 0 }));
  });
}

interface Following {
  context: CommandContext;
  url: string;
  feed: EventFeed;
  forwarder: Forwarder | undefined;
  types: ReadonlySet<string>;
  said: ListenWords;
  signal: AbortSignal;
  counts: Counts;
}

/** Until the signal: asks, prints, forwards. Where the service does not answer, it says so once, and goes on asking. */
async function follow({ context, url, feed, forwarder, types, said, signal, counts }: Following): Promise<void> {
  const { terminal } = context;
  let isAway = false;
  while (!signal.aborted) {
    await terminal.sleep(POLL_MS, signal);
    if (signal.aborted) return;
    const polled = await feed.poll().catch((error: unknown) => {
      if (error instanceof TillwayError) return error;
      throw error;
    });
    if (polled instanceof TillwayError) {
      if (!isAway) terminal.write(said.away(url, polled.message));
      isAway = true;
      continue;
    }
    if (isAway) terminal.write(said.back(url));
    isAway = false;
    if (polled.isOtherHistory) terminal.write(said.otherHistory(url));
    for (const event of polled.events.filter(({ type }) => types.has(type))) {
      counts.events += 1;
      terminal.write(said.event(event));
      forwarder?.forward(event);
    }
  }
}

function typesOf(text: string | undefined): ReadonlySet<string> {
  if (text === undefined) return new Set<string>(EVENT_TYPES);
  const types = text.split(',').map((type) => type.trim());
  const unknown = types.find((type) => !EVENT_TYPES.some((known) => known === type));
  if (unknown === undefined) return new Set(types);
  throw new CommandError(2, `--events knows no ${JSON.stringify(unknown)}; there are ${EVENT_TYPES.join(', ')}`);
}

function secretOf({ forwardTo, secret }: Options, randomBytes: (size: number) => Uint8Array): string {
  if (forwardTo !== undefined && !/^https?:$/.test(URL.parse(forwardTo)?.protocol ?? '')) {
    throw new CommandError(2, `--forward-to takes a URL such as http://127.0.0.1:4000/webhooks, not ${forwardTo}`);
  }
  if (secret === undefined) return `whsec_${Buffer.from(randomBytes(SECRET_BYTES)).toString('base64')}`;
  if (forwardTo === undefined) throw new CommandError(2, '--secret signs what is forwarded: name --forward-to too');
  const bytes = Buffer.from(secret.slice('whsec_'.length), 'base64').length;
  if (SECRET.test(secret) && bytes >= MIN_SECRET_BYTES && bytes <= MAX_SECRET_BYTES) return secret;
  throw new CommandError(
    2,
    '--secret takes whsec_ and base64 of 24 to 64 bytes, such as whsec_$(openssl rand -base64 32); left out, one is made',
  );
}

import type { Command } from 'commander';
import type { CheckoutSession, Page, TestClock, Tillway } from '../../sdk/src/index.ts';
import { type CommandContext, CommandError, type Paint, describedCommand } from './context.ts';
import { durationOf, durationText } from './duration.ts';
import { commandGroup } from './group.ts';
import { facts, table } from './table.ts';
import { type Cell, secondsOf } from './words.ts';

/** That of the service, whose schemas are not loaded for a command. */
export const MAX_ADVANCE_SECONDS = 2_592_000;
const MAX_ADVANCE = durationText(MAX_ADVANCE_SECONDS).replace(' ', '');
const POLL_MS = 200;
const PAGE = 100;
/** More lines than this are no help: the rest is counted. */
const MAX_SHOWN = 50;
/** Their attempts are read one delivery at a time. */
const MAX_DELIVERIES = 20;

/** Something that happened while the clock was moved. */
interface Happening {
  /** In the time of the service. */
  time: string;
  what: string;
  /** The record that it happened to. */
  id: string;
  /** How it ended, where that is not said yet. */
  note: string | null;
  good: boolean;
}

/** `clock`: where the test clock of a service stands, and moving it forward. */
export function clockCommand(context: CommandContext): Command {
  return commandGroup(
    'clock',
    'See the test clock of a sandbox service, or move it forward',
    [showCommand(context), advanceCommand(context)],
    { otherwise: 'show' },
  );
}

function showCommand(context: CommandContext): Command {
  const command = describedCommand('show', {
    summary: 'Show where the test clock stands',
    details: 'The service must have been started with TEST_CLOCK=true.',
    examples: ['tillway clock'],
  });
  return command.action(async () =>
    context.tell(command, await context.client(command).testClock.get(), (clock, paint) =>
      facts(factsOf(clock), paint),
    ),
  );
}

function advanceCommand(context: CommandContext): Command {
  const command = describedCommand('advance <time>', {
    summary: 'Move the test clock forward, and show what happens meanwhile',
    details:
      'Everything that is due on the way happens in its order: sessions expire, payments time out, callbacks come, and ' +
      `webhooks are tried again. A time is written 90s, 15m, 24h, 2d or 1h30m, and is at most ${MAX_ADVANCE}. The clock ` +
      'never goes back.',
    examples: ['tillway clock advance 24h', 'tillway clock advance 1h30m'],
    data: 'print JSON, for programs',
  });
  refuseBack(command);
  return command.action(async (time: string) => {
    const seconds = durationOf(time);
    if (seconds === 0) throw new CommandError(2, 'the clock is moved by 1s at least');
    if (seconds > MAX_ADVANCE_SECONDS) {
      throw new CommandError(2, `the clock is moved by at most ${MAX_ADVANCE} at a time, not by ${time}`);
    }
    const client = context.client(command);
    const { now: from } = await client.testClock.get();
    const before = new Set((await expiredSessions(client)).data.map(({ id }) => id));
    let clock = await client.testClock.advance({ seconds });
    while (clock.status !== 'ready') {
      await context.terminal.sleep(POLL_MS);
      clock = await client.testClock.get();
    }
    const { found, isWhole } = await happeningsSince(client, from, clock.now);
    const happened = found.filter(({ id }) => !before.has(id)).toSorted((one, other) => compare(one, other));
    context.tell(command, { object: 'test_clock_advance', from, clock, happened, isWhole }, (answer, paint) =>
      tellAdvance(answer, seconds, paint),
    );
  });
}

/** `-1h` is read as an option: it is told apart from one that was mistyped. */
function refuseBack(command: Command): void {
  const refuse: Command['error'] = command.error.bind(command);
  command.error = (message, about) => {
    const isTime = about?.code === 'commander.unknownOption' && /'-\d/.test(message);
    throw isTime
      ? new CommandError(2, 'the clock never goes back: it is moved forward, as by 1h')
      : refuse(message, about);
  };
}

function compare(one: Happening, other: Happening): number {
  return Date.parse(one.time) - Date.parse(other.time);
}

async function expiredSessions(client: Tillway): Promise<Page<CheckoutSession>> {
  return client.sessions.list({ status: 'expired', limit: PAGE });
}

/** The newest of each kind between two times, in no order of time, and whether that is all there were. */
async function happeningsSince(
  client: Tillway,
  from: string,
  until: string,
): Promise<{ found: Happening[]; isWhole: boolean }> {
  const isMeanwhile = (time: string) => Date.parse(time) >= Date.parse(from) && Date.parse(time) <= Date.parse(until);
  const [sessions, events, deliveries] = await Promise.all([
    expiredSessions(client),
    client.events.list({ limit: PAGE }),
    client.deliveries.list({ limit: MAX_DELIVERIES }),
  ]);
  const expired = sessions.data.map(({ id, expiresAt }): Happening => ({
    time: expiresAt,
    what: 'session expired',
    id,
    note: null,
    good: false,
  }));
  const made = events.data.map(({ id, type, created }): Happening => ({
    time: created,
    what: type,
    id,
    note: null,
    good: type === 'payment.paid',
  }));
  const attempts: Happening[] = [];
  for (const { id, attempts: count } of deliveries.data) {
    if (count === 0) continue;
    const { eventId, log } = await client.deliveries.get(id);
    for (const { number, started, statusCode, failure } of log) {
      const note = failure ?? `answered ${statusCode}`;
      attempts.push({ time: started, what: `webhook, attempt ${number}`, id: eventId, note, good: failure === null });
    }
  }
  const isCut = (hasMore: boolean, oldest: string | undefined) =>
    hasMore && oldest !== undefined && isMeanwhile(oldest);
  return {
    found: [...expired, ...made.toReversed(), ...attempts].filter(({ time }) => isMeanwhile(time)),
    isWhole:
      !isCut(sessions.hasMore, sessions.data.at(-1)?.expiresAt) &&
      !isCut(events.hasMore, events.data.at(-1)?.created) &&
      // One of long ago can have been tried again.
      !deliveries.hasMore,
  };
}

function factsOf({ status, now, target, advancedSeconds }: TestClock): [string, Cell | null][] {
  return [
    ['Clock', status === 'ready' ? { text: 'ready', style: 'green' } : { text: status, style: 'yellow' }],
    ['Now', secondsOf(now)],
    ['Until', target === null ? null : secondsOf(target)],
    ['Ahead', advancedSeconds === 0 ? 'not at all' : `${durationText(advancedSeconds)} of the real time`],
  ];
}

interface Advanced {
  from: string;
  clock: TestClock;
  happened: Happening[];
  /** Whether nothing else happened. */
  isWhole: boolean;
}

function tellAdvance({ clock, from, happened, isWhole }: Advanced, seconds: number, paint: Paint): string {
  const head = facts(
    [
      ['Moved', { text: durationText(seconds), style: 'bold' }],
      ['From', secondsOf(from)],
      ['To', secondsOf(clock.now)],
      ['Ahead', `${durationText(clock.advancedSeconds)} of the real time`],
    ],
    paint,
  );
  if (happened.length === 0) return `${head}\nNothing happened meanwhile.\n`;
  const rows = happened.slice(0, MAX_SHOWN).map(({ time, what, id, note, good }): Cell[] => {
    const style = good ? 'green' : 'yellow';
    return [secondsOf(time), { text: what, style }, id, note ?? ''];
  });
  const more = happened.length > MAX_SHOWN ? `and ${happened.length - MAX_SHOWN} more: --json has them\n` : '';
  const rest = isWhole ? '' : 'There may be more: see tillway events list and tillway deliveries list\n';
  return `${head}\n${table(['TIME', 'WHAT', 'OF', 'HOW'], rows, paint)}${more}${rest}`;
}

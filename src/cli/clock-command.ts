import type { Command } from 'commander';
import type { TestClock, Tillway } from '../../sdk/src/index.ts';
import { type CommandContext, CommandError, type Paint, describedCommand, serviceCommand } from './command-context.ts';
import { durationOf, durationText } from './duration.ts';
import { commandGroup } from './command-group.ts';
import { facts, table } from './table.ts';
import { type Cell, secondsOf } from './cells.ts';

/** The limit of the service, whose schemas a command does not load. */
export const MAX_ADVANCE_SECONDS = 2_592_000;
const MAX_ADVANCE = durationText(MAX_ADVANCE_SECONDS).replace(' ', '');
const POLL_MS = 200;
const PAGE = 100;
/** The log of each delivery takes a separate request, so their number is limited. */
const MAX_DELIVERIES = 20;

/** Something that happened during an advance. */
interface Happening {
  /** Time of the event by the clock of the service. */
  time: string;
  what: string;
  /** Id of the session or event. */
  id: string;
  note: string | null;
  good: boolean;
}

interface Advanced {
  from: string;
  clock: TestClock;
  happened: Happening[];
  /** True if `happened` is complete. */
  isWhole: boolean;
}

/** `clock`: the test clock of a service, and its advances. */
export function clockCommand(context: CommandContext): Command {
  const show = serviceCommand(context, 'show', {
    summary: 'Show the time of the test clock',
    details: 'The service must have been started with TEST_CLOCK=true.',
    examples: ['tillway clock'],
    ask: ({ testClock }) => testClock.get(),
    show: showClock,
  });
  return commandGroup(
    'clock',
    'See the test clock of a sandbox service, or move it forward',
    [show, advanceCommand(context)],
    { otherwise: 'show' },
  );
}

function advanceCommand(context: CommandContext): Command {
  const command = describedCommand('advance <time>', {
    summary: 'Move the test clock forward, and show what happens meanwhile',
    details:
      'Everything that is due on the way happens in its order: sessions expire, payments time out, callbacks arrive, and ' +
      `webhooks are tried again. A time is written 90s, 15m, 24h, 2d or 1h30m, and is at most ${MAX_ADVANCE}. The clock ` +
      'never goes back.',
    examples: ['tillway clock advance 24h', 'tillway clock advance 1h30m'],
    data: 'print JSON, for programs',
  });
  return command.action(async (time: string) => {
    const seconds = durationOf(time);
    if (seconds === 0) throw new CommandError(2, 'the clock is moved by 1s at least');
    if (seconds > MAX_ADVANCE_SECONDS) {
      throw new CommandError(2, `the clock is moved by at most ${MAX_ADVANCE} at a time, not by ${time}`);
    }
    const client = context.client(command);
    const { now: from } = await client.testClock.get();
    let clock = await client.testClock.advance({ seconds });
    while (clock.status !== 'ready') {
      await context.terminal.sleep(POLL_MS);
      clock = await client.testClock.get();
    }
    const { happenings, isWhole } = await readHappenings(client);
    const happened = happenings
      .filter(({ time }) => time > from && time <= clock.now)
      .toSorted((one, other) => Date.parse(one.time) - Date.parse(other.time));
    context.tell(command, { object: 'test_clock_advance', from, clock, happened, isWhole }, (answer, paint) =>
      renderAdvance(answer, seconds, paint),
    );
  });
}

/** The newest happenings of each kind, and whether there are no others. */
async function readHappenings(client: Tillway): Promise<{ happenings: Happening[]; isWhole: boolean }> {
  const [sessions, events, deliveries] = await Promise.all([
    client.sessions.list({ status: 'expired', limit: PAGE }),
    client.events.list({ limit: PAGE }),
    client.deliveries.list({ limit: MAX_DELIVERIES }),
  ]);
  const attempted = deliveries.data.filter(({ attempts }) => attempts > 0);
  const logs = await Promise.all(attempted.map(({ id }) => client.deliveries.get(id)));
  const happenings: Happening[] = [
    ...sessions.data.map(({ id, expiresAt: time }) => ({ time, what: 'session expired', id, note: null, good: false })),
    // The list has the newest first, and sorting by time keeps the order of equal times.
    ...events.data
      .toReversed()
      .map(({ id, type, created: time }) => ({ time, what: type, id, note: null, good: type === 'payment.paid' })),
    ...logs.flatMap(({ eventId: id, log }) =>
      log.map(({ number, started: time, statusCode, failure }) => {
        const note = failure ?? `answered ${statusCode}`;
        return { time, what: `webhook, attempt ${number}`, id, note, good: failure === null };
      }),
    ),
  ];
  return { happenings, isWhole: !sessions.hasMore && !events.hasMore && !deliveries.hasMore };
}

function showClock({ status, now, target, advancedSeconds }: TestClock, paint: Paint): string {
  const pairs: [string, Cell | null][] = [
    ['Clock', { text: status, style: status === 'ready' ? 'green' : 'yellow' }],
    ['Now', secondsOf(now)],
    ['Until', target === null ? null : secondsOf(target)],
    ['Ahead', advancedSeconds === 0 ? 'not at all' : `${durationText(advancedSeconds)} of the real time`],
  ];
  return facts(pairs, paint);
}

function renderAdvance({ clock, from, happened, isWhole }: Advanced, seconds: number, paint: Paint): string {
  const head = facts(
    [
      ['Moved', { text: durationText(seconds), style: 'bold' }],
      ['From', secondsOf(from)],
      ['To', secondsOf(clock.now)],
      ['Ahead', `${durationText(clock.advancedSeconds)} of the real time`],
    ],
    paint,
  );
  const rest = isWhole ? '' : 'There may be more: see tillway events list and tillway deliveries list\n';
  if (happened.length === 0) return `${head}\nNothing happened meanwhile.\n${rest}`;
  const rows = happened.map(({ time, what, id, note, good }): Cell[] => {
    return [secondsOf(time), { text: what, style: good ? 'green' : 'yellow' }, id, note ?? ''];
  });
  return `${head}\n${table(['TIME', 'WHAT', 'OF', 'HOW'], rows, paint)}${rest}`;
}

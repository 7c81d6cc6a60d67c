import type { Command } from 'commander';
import type { TestClock } from '../../sdk/src/index.ts';
import { type CommandContext, CommandError, type Paint, describedCommand, serviceCommand } from './command-context.ts';
import { durationOf, durationText } from './duration.ts';
import { commandGroup } from './command-group.ts';
import { facts } from './table.ts';
import { type Cell, secondsOf } from './cells.ts';

/** The limit of the service, whose schemas a command does not load. */
export const MAX_ADVANCE_SECONDS = 2_592_000;
const MAX_ADVANCE = durationText(MAX_ADVANCE_SECONDS).replace(' ', '');
const POLL_MS = 200;

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
    summary: 'Move the test clock forward',
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
    let clock = await client.testClock.advance({ seconds });
    while (clock.status !== 'ready') {
      await context.terminal.sleep(POLL_MS);
      clock = await client.testClock.get();
    }
    context.tell(command, clock, showClock);
  });
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
